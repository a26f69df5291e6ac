//! The one datagram of a check that goes to the subnet manager: a join.

use verbcast_fabric::smp::LEN;

/// A management datagram.
pub type Mad = [u8; LEN];

const MC_MEMBER_RECORD: u16 = 0x38;
/// Where a subnet administration attribute is.
const SA_DATA: usize = 56;

fn put(mad: &mut Mad, at: usize, bytes: &[u8]) {
    mad[at..at + bytes.len()].copy_from_slice(bytes);
}

fn word(mad: &Mad, at: usize) -> u16 {
    u16::from_be_bytes([mad[at], mad[at + 1]])
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

/// What the answer to a join says went wrong; 0 is nothing.
pub fn status(answer: &Mad) -> u16 {
    word(answer, 4)
}

/// The number by which an answer is known; ibsim uses the upper bits.
pub fn number(mad: &Mad) -> u32 {
    u32::from_be_bytes([mad[12], mad[13], mad[14], mad[15]])
}

/// Sets the number by which the answer will be known.
pub fn set_number(mad: &mut Mad, number: u32) {
    put(mad, 12, &number.to_be_bytes());
}
