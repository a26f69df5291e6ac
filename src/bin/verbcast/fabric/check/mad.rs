//! The few management datagrams that a check sends: SMPs along a directed route, and joins.

use verbcast::fabric::PortSet;

/// Bytes of a management datagram.
pub const LEN: usize = 256;
/// A management datagram.
pub type Mad = [u8; LEN];

/// LIDs in a block of a linear forwarding table.
pub const LFT_BLOCK: usize = 64;
/// Ports that one block of a multicast forwarding table has bits for.
pub const MFT_PORTS: u8 = 16;

const PORT_INFO: u16 = 0x15;
const LINEAR_TABLE: u16 = 0x19;
const MULTICAST_TABLE: u16 = 0x1b;
const MC_MEMBER_RECORD: u16 = 0x38;
/// Where the 64 bytes of an SMP's attribute are.
const SMP_DATA: usize = 64;
/// Where a subnet administration attribute is.
const SA_DATA: usize = 56;

fn put(mad: &mut Mad, at: usize, bytes: &[u8]) {
    mad[at..at + bytes.len()].copy_from_slice(bytes);
}

fn word(mad: &Mad, at: usize) -> u16 {
    u16::from_be_bytes([mad[at], mad[at + 1]])
}

/// A Get of an attribute by a directed route: the ports out, that of the sender first.
fn smp(route: &[u8], attribute: u16, modifier: u32) -> Mad {
    let mut mad = [0; LEN];
    // Version, class, class version, method.
    put(&mut mad, 0, &[1, 0x81, 1, 1]);
    mad[7] = route.len() as u8;
    put(&mut mad, 16, &attribute.to_be_bytes());
    put(&mut mad, 20, &modifier.to_be_bytes());
    // No part of the route is by LID.
    put(&mut mad, 32, &[0xff; 4]);
    put(&mut mad, 129, route);
    mad
}

/// Asks for the LID of the node at the end of a route.
pub fn get_port_info(route: &[u8]) -> Mad {
    smp(route, PORT_INFO, 0)
}

/// The LID and LMC that the answer has.
pub fn lid(answer: &Mad) -> (u16, u8) {
    (word(answer, SMP_DATA + 16), answer[SMP_DATA + 34] & 7)
}

/// Asks for a block of a linear forwarding table.
pub fn get_linear(route: &[u8], block: u16) -> Mad {
    smp(route, LINEAR_TABLE, u32::from(block))
}

/// The ports of the block's LIDs; 255 is none.
pub fn linear(answer: &Mad) -> &[u8] {
    &answer[SMP_DATA..SMP_DATA + LFT_BLOCK]
}

/// Asks for a block of a multicast forwarding table, for the 16 ports from 16 · `position`.
pub fn get_multicast(route: &[u8], block: u16, position: u8) -> Mad {
    smp(route, MULTICAST_TABLE, u32::from(position) << 28 | u32::from(block))
}

/// Adds the ports of the block's `entry` to a set.
pub fn multicast(answer: &Mad, entry: usize, position: u8, ports: &mut PortSet) {
    let bits = word(answer, SMP_DATA + 2 * entry);
    let set = (0..MFT_PORTS).filter(|bit| bits >> bit & 1 == 1);
    set.for_each(|bit| ports.insert(position * MFT_PORTS + bit));
}

/// A join of the port `guid` to the group `mgid` as a full member, asked for by another port.
pub fn join(mgid: [u8; 16], guid: u64) -> Mad {
    let mut mad = [0; LEN];
    put(&mut mad, 0, &[1, 3, 2, 2]);
    put(&mut mad, 16, &MC_MEMBER_RECORD.to_be_bytes());
    // The key by which OpenSM trusts the one who asks.
    put(&mut mad, 36, &1_u64.to_be_bytes());
    // MGID, port GID, Q_Key, traffic class, P_Key, service level, flow label, join state, proxy.
    let mask: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13 | 1 << 16 | 1 << 17;
    put(&mut mad, 48, &mask.to_be_bytes());
    put(&mut mad, SA_DATA, &mgid);
    put(&mut mad, SA_DATA + 16, &[0xfe, 0x80, 0, 0, 0, 0, 0, 0]);
    put(&mut mad, SA_DATA + 24, &guid.to_be_bytes());
    put(&mut mad, SA_DATA + 32, &1_u32.to_be_bytes());
    put(&mut mad, SA_DATA + 40, &0xffff_u16.to_be_bytes());
    // Full member, by proxy.
    put(&mut mad, SA_DATA + 48, &[1, 0x80]);
    mad
}

/// The MLID that the answer to a join has.
pub fn mlid(answer: &Mad) -> u16 {
    word(answer, SA_DATA + 36)
}

/// What the answer says went wrong; 0 is nothing.
pub fn status(answer: &Mad) -> u16 {
    // In an SMP along a directed route the first bit is its direction.
    let directed = if answer[1] == 0x81 { 0x7fff } else { 0xffff };
    word(answer, 4) & directed
}

/// The number by which an answer is known; ibsim uses the upper bits.
pub fn number(mad: &Mad) -> u32 {
    u32::from_be_bytes([mad[12], mad[13], mad[14], mad[15]])
}

/// Sets the number by which the answer will be known.
pub fn set_number(mad: &mut Mad, number: u32) {
    put(mad, 12, &number.to_be_bytes());
}
