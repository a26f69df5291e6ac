//! The network interfaces of this process's network namespace, as the kernel lists them.

use super::error::{Error, Result};
use std::ffi::CStr;
use std::mem::offset_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::ptr;

/// Length of an IPoIB hardware address: flags and QP number, then the port's GID (RFC 4391, section 9.1.1).
pub const HARDWARE_LEN: usize = 20;

/// An IP address of a network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// The interface's index.
    pub interface: u32,
    /// The address.
    pub address: IpAddr,
    /// How many leading bits of it are the network's.
    pub prefix_len: u8,
}

/// All IP addresses of the interfaces of this process's network namespace.
///
/// # Errors
/// If the kernel does not tell them.
pub fn interface_addresses() -> Result<Vec<InterfaceAddress>> {
    let address = |Entry { index, content, .. }| match content {
        Content::Address { address, prefix_len } => {
            Some(InterfaceAddress { interface: index, address: address.ip(), prefix_len })
        }
        Content::Link { .. } => None,
    };
    Ok(entries()?.into_iter().filter_map(address).collect())
}

/// What the kernel says of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub index: u32,
    pub is_up: bool,
    pub is_running: bool,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// An IPoIB interface's hardware and broadcast addresses.
    Link { own: [u8; HARDWARE_LEN], broadcast: [u8; HARDWARE_LEN] },
    /// An IP address, and how many leading bits of it are the network's.
    Address { address: SocketAddr, prefix_len: u8 },
}

/// All that `getifaddrs` tells and that is of use.
pub fn entries() -> Result<Vec<Entry>> {
    let mut first = ptr::null_mut();
    // SAFETY: `first` is writable.
    if unsafe { libc::getifaddrs(&mut first) } != 0 {
        return Err(Error::last("getifaddrs", "this network namespace"));
    }
    let mut entries = Vec::new();
    let mut next = first;
    // SAFETY: the list is live until it is freed below; its entries end with a null pointer.
    while let Some(raw) = unsafe { next.as_ref() } {
        // SAFETY: what an entry points to lives as long as the list; addresses are null or whole socket addresses of
        // their family, and every interface has a name that ends with a zero.
        unsafe {
            entries.extend(content(raw).map(|content| Entry {
                name: CStr::from_ptr(raw.ifa_name).to_string_lossy().into_owned(),
                index: libc::if_nametoindex(raw.ifa_name),
                is_up: raw.ifa_flags & libc::IFF_UP as u32 != 0,
                is_running: raw.ifa_flags & libc::IFF_RUNNING as u32 != 0,
                content,
            }));
        }
        next = raw.ifa_next;
    }
    // SAFETY: the list came from `getifaddrs` and nothing points into it any more.
    unsafe { libc::freeifaddrs(first) };
    Ok(entries)
}

/// What an entry says, if it is of use.
///
/// # Safety
/// Its addresses are null or whole socket addresses of their family, as `getifaddrs` makes them.
unsafe fn content(raw: &libc::ifaddrs) -> Option<Content> {
    // SAFETY: promised by the caller.
    unsafe {
        match family(raw.ifa_addr)? {
            libc::AF_PACKET => {
                let (own, broadcast) = (link(raw.ifa_addr)?, link(raw.ifa_ifu)?);
                Some(Content::Link { own, broadcast })
            }
            _ => {
                let (address, mask) = (ip(raw.ifa_addr)?, ip(raw.ifa_netmask)?);
                Some(Content::Address { address, prefix_len: prefix_len(mask.ip()) })
            }
        }
    }
}

/// A socket address's family, unless it is null.
///
/// # Safety
/// The pointer is null, or leads to a socket address.
unsafe fn family(address: *const libc::sockaddr) -> Option<i32> {
    // SAFETY: promised by the caller.
    unsafe { address.as_ref() }.map(|address| address.sa_family.into())
}

/// The IP address of a socket address, if it has one, with its scope.
///
/// # Safety
/// The pointer is null, or leads to a socket address of its family's length.
unsafe fn ip(address: *const libc::sockaddr) -> Option<SocketAddr> {
    // SAFETY: promised by the caller.
    unsafe {
        match family(address)? {
            libc::AF_INET => {
                let v4 = address.cast::<libc::sockaddr_in>().read_unaligned();
                let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
                Some(SocketAddr::new(ip.into(), 0))
            }
            libc::AF_INET6 => {
                let v6 = address.cast::<libc::sockaddr_in6>().read_unaligned();
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                Some(SocketAddrV6::new(ip, 0, 0, v6.sin6_scope_id).into())
            }
            _ => None,
        }
    }
}

/// The bytes of an IPoIB interface's link-layer address.
///
/// # Safety
/// The pointer is null, or leads to a socket address of its family's length.
unsafe fn link(address: *const libc::sockaddr) -> Option<[u8; HARDWARE_LEN]> {
    // SAFETY: promised by the caller.
    if unsafe { family(address) }? != libc::AF_PACKET {
        return None;
    }
    // SAFETY: the family says that it is one of these.
    let link = unsafe { address.cast::<libc::sockaddr_ll>().read_unaligned() };
    let is_ipoib = link.sll_hatype == libc::ARPHRD_INFINIBAND;
    if !is_ipoib || usize::from(link.sll_halen) != HARDWARE_LEN {
        return None;
    }
    let at = offset_of!(libc::sockaddr_ll, sll_addr);
    // SAFETY: the C library keeps as many bytes as the length says, also where they are more than the
    // declared array has (`struct sockaddr_ll_max` of glibc, `struct sockaddr_ll_hack` of musl).
    Some(unsafe { address.byte_add(at).cast::<[u8; HARDWARE_LEN]>().read_unaligned() })
}

fn prefix_len(mask: IpAddr) -> u8 {
    let ones = match mask {
        IpAddr::V4(mask) => mask.to_bits().leading_ones(),
        IpAddr::V6(mask) => mask.to_bits().leading_ones(),
    };
    ones as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_found() {
        let all = interface_addresses().unwrap();
        let own = all.iter().find(|one| one.address == IpAddr::V4(Ipv4Addr::LOCALHOST));
        assert_eq!(own.map(|one| one.prefix_len), Some(8), "{all:?}");
        let entries = entries().unwrap();
        assert!(entries.iter().any(|entry| entry.name == "lo" && entry.is_up && entry.index > 0));
    }
}
