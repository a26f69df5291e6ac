//! The IP addresses of this process's network namespace.

use super::error::{Error, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr;

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
    let mut first = ptr::null_mut();
    // SAFETY: `first` is writable.
    if unsafe { libc::getifaddrs(&mut first) } != 0 {
        return Err(Error::last("getifaddrs", "this network namespace"));
    }
    let mut addresses = Vec::new();
    let mut next = first;
    // SAFETY: the list is live until it is freed below; its entries end with a null pointer.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: what an entry points to lives as long as the list.
        unsafe {
            if let (Some(address), Some(mask)) = (ip(entry.ifa_addr), ip(entry.ifa_netmask)) {
                let interface = libc::if_nametoindex(entry.ifa_name);
                let prefix_len = prefix_len(mask);
                addresses.push(InterfaceAddress { interface, address, prefix_len });
            }
        }
        next = entry.ifa_next;
    }
    // SAFETY: it came from `getifaddrs`, and nothing of it is used any more.
    unsafe { libc::freeifaddrs(first) };
    Ok(addresses)
}

/// The IP address of a socket address, if it has one.
///
/// # Safety
/// The pointer is null, or leads to a socket address of its family's length.
unsafe fn ip(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: promised by the caller.
    unsafe {
        match i32::from(address.as_ref()?.sa_family) {
            libc::AF_INET => {
                let v4 = address.cast::<libc::sockaddr_in>().read_unaligned();
                Some(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)).into())
            }
            libc::AF_INET6 => {
                let v6 = address.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(Ipv6Addr::from(v6.sin6_addr.s6_addr).into())
            }
            _ => None,
        }
    }
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
    }
}
