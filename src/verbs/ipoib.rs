//! The IPoIB interfaces of a port, as the kernel lists the host's network interfaces.

use super::error::Result;
use super::interfaces::{Content, Entry, entries};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Where the P_Key is in the broadcast address: the group's MGID begins at 4 (RFC 4391, section 4).
const PKEY_AT: usize = 8;
/// The bit of a full member. Interfaces tell their partition with it, whatever the port's membership.
const FULL_MEMBER: u16 = 0x8000;

/// An IPoIB interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpoibInterface {
    /// Its name.
    pub name: String,
    /// Its index.
    pub index: u32,
    /// Whether it is up.
    pub is_up: bool,
    /// Whether it is up and has a carrier: it is in the broadcast group of its partition.
    pub is_running: bool,
    /// The P_Key of its partition, as a full member has it.
    pub pkey: u16,
    /// Its IP addresses that an identifier of librdmacm can be bound to: IPv4, and IPv6 with their scopes.
    pub addresses: Vec<SocketAddr>,
}

/// The IPoIB interfaces of the port with this GID, by their index.
///
/// # Errors
/// If the kernel does not list the network interfaces.
pub fn ipoib_interfaces(gid: [u8; 16]) -> Result<Vec<IpoibInterface>> {
    Ok(of_port(&entries()?, gid))
}

/// The interfaces whose hardware address ends with the GID, with their addresses.
fn of_port(entries: &[Entry], gid: [u8; 16]) -> Vec<IpoibInterface> {
    let mut found = BTreeMap::new();
    for Entry { name, index, is_up, is_running, content } in entries {
        if let Content::Link { own, broadcast } = content
            && own.ends_with(&gid)
        {
            let pkey = u16::from_be_bytes([broadcast[PKEY_AT], broadcast[PKEY_AT + 1]]);
            let one = IpoibInterface {
                name: name.clone(),
                index: *index,
                is_up: *is_up,
                is_running: *is_running,
                pkey: pkey | FULL_MEMBER,
                addresses: Vec::new(),
            };
            found.insert(*index, one);
        }
    }
    for interface in found.values_mut() {
        let own = entries.iter().filter(|entry| entry.name == interface.name);
        interface.addresses = own.filter_map(|entry| usable(&entry.content)).collect();
    }
    found.into_values().collect()
}

/// The address that an entry has, if identifiers can be bound to it.
fn usable(content: &Content) -> Option<SocketAddr> {
    let Content::Address { address, .. } = content else { return None };
    let is_usable = match address {
        SocketAddr::V4(v4) => !v4.ip().is_unspecified(),
        // A link-local address of no scope names no interface.
        SocketAddr::V6(v6) => !v6.ip().is_unicast_link_local() || v6.scope_id() != 0,
    };
    is_usable.then_some(*address)
}

#[cfg(test)]
mod tests {
    use super::super::interfaces::HARDWARE_LEN;
    use super::*;

    const GID: [u8; 16] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 3, 0, 0x10, 0x20, 0x31];

    fn link(name: &str, index: u32, is_up: bool, (last, pkey): (u8, u16)) -> Entry {
        let (mut own, mut broadcast) = ([0; HARDWARE_LEN], [0xff; HARDWARE_LEN]);
        own[3] = 0x48;
        own[4..].copy_from_slice(&GID);
        own[19] = last;
        broadcast[PKEY_AT..PKEY_AT + 2].copy_from_slice(&pkey.to_be_bytes());
        let content = Content::Link { own, broadcast };
        Entry { name: name.to_owned(), index, is_up, is_running: is_up, content }
    }

    fn address(name: &str, text: &str) -> Entry {
        let content = Content::Address { address: text.parse().unwrap(), prefix_len: 0 };
        Entry { name: name.to_owned(), index: 0, is_up: true, is_running: true, content }
    }

    #[test]
    fn the_interfaces_of_the_port_are_found_with_their_partitions() {
        let own = GID[15];
        let entries = [
            link("ib1", 7, true, (own + 1, 0xffff)),
            link("ib0.8001", 9, true, (own, 0x8001)),
            link("ib0", 6, false, (own, 0x7fff)),
            address("ib0", "10.1.0.1:0"),
            address("ib0", "0.0.0.0:0"),
            address("ib0.8001", "[fe80::2:c903:10:2031%9]:0"),
            address("ib0.8001", "[fe80::1]:0"),
            address("ib1", "10.1.0.2:0"),
        ];
        let found = of_port(&entries, GID);
        let text = |one: &IpoibInterface| {
            let addresses: Vec<_> = one.addresses.iter().map(SocketAddr::to_string).collect();
            (one.name.clone(), one.is_up, one.pkey, addresses.join(" "))
        };
        let expected = [
            ("ib0".to_owned(), false, 0xffff, "10.1.0.1:0".to_owned()),
            ("ib0.8001".to_owned(), true, 0x8001, "[fe80::2:c903:10:2031%9]:0".to_owned()),
        ];
        assert_eq!(found.iter().map(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_gid_of_no_port_has_no_interface() {
        assert_eq!(ipoib_interfaces([0xa5; 16]), Ok(Vec::new()));
    }
}
