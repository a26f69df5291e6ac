//! The IPoIB interfaces of a port, as the kernel lists the host's network interfaces.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;
use std::mem::offset_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// Length of an IPoIB hardware address: flags and QP number, then the port's GID (RFC 4391, section 9.1.1).
const HARDWARE_LEN: usize = 20;
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
    /// The P_Key of its partition, as a full member has it.
    pub pkey: u16,
    /// Its IP addresses that an identifier of librdmacm can be bound to: IPv4, and IPv6 with their scopes.
    pub addresses: Vec<SocketAddr>,
}

/// The IPoIB interfaces of the port with this GID, by their index.
///
/// # Errors
/// If the kernel does not list the network interfaces.
pub fn ipoib_interfaces(gid: [u8; 16]) -> io::Result<Vec<IpoibInterface>> {
    Ok(of_port(&entries()?, gid))
}

/// What the kernel says of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    name: String,
    is_up: bool,
    content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    /// Its index, and its hardware and broadcast addresses.
    Link { index: u32, own: [u8; HARDWARE_LEN], broadcast: [u8; HARDWARE_LEN] },
    /// An IP address.
    Address(SocketAddr),
}

/// The interfaces whose hardware address ends with the GID, with their addresses.
fn of_port(entries: &[Entry], gid: [u8; 16]) -> Vec<IpoibInterface> {
    let mut found = BTreeMap::new();
    for Entry { name, is_up, content } in entries {
        if let Content::Link { index, own, broadcast } = content
            && own.ends_with(&gid)
        {
            let pkey = u16::from_be_bytes([broadcast[PKEY_AT], broadcast[PKEY_AT + 1]]);
            let (name, pkey) = (name.clone(), pkey | FULL_MEMBER);
            let (index, is_up, addresses) = (*index, *is_up, Vec::new());
            found.insert(index, IpoibInterface { name, index, is_up, pkey, addresses });
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
    let Content::Address(address) = content else { return None };
    let is_usable = match address {
        SocketAddr::V4(v4) => !v4.ip().is_unspecified(),
        // A link-local address of no scope names no interface.
        SocketAddr::V6(v6) => !v6.ip().is_unicast_link_local() || v6.scope_id() != 0,
    };
    is_usable.then_some(*address)
}

/// All that `getifaddrs` tells and that is of use here.
fn entries() -> io::Result<Vec<Entry>> {
    let mut first = std::ptr::null_mut();
    // SAFETY: `first` is writable.
    if unsafe { libc::getifaddrs(&mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut entries = Vec::new();
    let mut next = first;
    while !next.is_null() {
        // SAFETY: the list is live until it is freed below, and its members point to the next.
        let raw = unsafe { *next };
        // SAFETY: every interface has a name that ends with a zero.
        let name = unsafe { CStr::from_ptr(raw.ifa_name) }.to_string_lossy().into_owned();
        let is_up = raw.ifa_flags & libc::IFF_UP as u32 != 0;
        // SAFETY: both addresses are null or whole socket addresses of their family.
        let content = unsafe { content(raw.ifa_addr, raw.ifa_ifu) };
        entries.extend(content.map(|content| Entry { name, is_up, content }));
        next = raw.ifa_next;
    }
    // SAFETY: the list came from `getifaddrs` and nothing points into it any more.
    unsafe { libc::freeifaddrs(first) };
    Ok(entries)
}

/// What an entry says, if it is of use here.
///
/// # Safety
/// Both addresses are null or whole socket addresses of their family, as `getifaddrs` makes them.
unsafe fn content(
    address: *const libc::sockaddr,
    broadcast: *const libc::sockaddr,
) -> Option<Content> {
    if address.is_null() {
        return None;
    }
    // SAFETY: promised by the caller.
    match i32::from(unsafe { (*address).sa_family }) {
        libc::AF_PACKET => {
            // SAFETY: promised by the caller.
            let (link, own) = unsafe { link(address) }?;
            if link.sll_hatype != libc::ARPHRD_INFINIBAND || broadcast.is_null() {
                return None;
            }
            // SAFETY: promised by the caller.
            let (_, broadcast) = unsafe { self::link(broadcast) }?;
            Some(Content::Link { index: link.sll_ifindex as u32, own, broadcast })
        }
        libc::AF_INET => {
            // SAFETY: the family says that it is one of these.
            let v4 = unsafe { address.cast::<libc::sockaddr_in>().read_unaligned() };
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Some(Content::Address(SocketAddr::new(IpAddr::V4(ip), 0)))
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that it is one of these.
            let v6 = unsafe { address.cast::<libc::sockaddr_in6>().read_unaligned() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            Some(Content::Address(SocketAddrV6::new(ip, 0, 0, v6.sin6_scope_id).into()))
        }
        _ => None,
    }
}

/// A link-layer address, and its bytes if it has an IPoIB address's length.
///
/// # Safety
/// It is a whole socket address, as `getifaddrs` makes it.
unsafe fn link(address: *const libc::sockaddr) -> Option<(libc::sockaddr_ll, [u8; HARDWARE_LEN])> {
    // SAFETY: promised by the caller.
    if i32::from(unsafe { (*address).sa_family }) != libc::AF_PACKET {
        return None;
    }
    // SAFETY: the family says that it is one of these.
    let link = unsafe { address.cast::<libc::sockaddr_ll>().read_unaligned() };
    if usize::from(link.sll_halen) != HARDWARE_LEN {
        return None;
    }
    let at = offset_of!(libc::sockaddr_ll, sll_addr);
    // SAFETY: the C library keeps as many bytes as the length says, also where they are more than the
    // declared array has (`struct sockaddr_ll_max` of glibc, `struct sockaddr_ll_hack` of musl).
    let bytes = unsafe { address.byte_add(at).cast::<[u8; HARDWARE_LEN]>().read_unaligned() };
    Some((link, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GID: [u8; 16] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 3, 0, 0x10, 0x20, 0x31];

    fn link(name: &str, index: u32, is_up: bool, (last, pkey): (u8, u16)) -> Entry {
        let (mut own, mut broadcast) = ([0; HARDWARE_LEN], [0xff; HARDWARE_LEN]);
        own[3] = 0x48;
        own[4..].copy_from_slice(&GID);
        own[19] = last;
        broadcast[PKEY_AT..PKEY_AT + 2].copy_from_slice(&pkey.to_be_bytes());
        let content = Content::Link { index, own, broadcast };
        Entry { name: name.to_owned(), is_up, content }
    }

    fn address(name: &str, text: &str) -> Entry {
        let content = Content::Address(text.parse().unwrap());
        Entry { name: name.to_owned(), is_up: true, content }
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
    fn the_hosts_own_interfaces_are_read() {
        let entries = entries().unwrap();
        let loopback: SocketAddr = "127.0.0.1:0".parse().unwrap();
        assert!(entries.iter().any(|entry| entry.content == Content::Address(loopback)));
        assert_eq!(of_port(&entries, [0xa5; 16]), []);
    }
}
