//! The imagined IPoIB interfaces among the host's network interfaces.

use crate::adapter::{Adapter, infiniband};
use crate::node::Device;
use crate::profile::Ipoib;
use crate::real;
use libc::{c_char, c_int, c_uint, c_void, ifaddrs, sockaddr, sockaddr_in, sockaddr_in6};
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// `ARPHRD_INFINIBAND`, and the length of its addresses (RFC 4391, section 9.1.1).
const ARPHRD_INFINIBAND: u16 = 32;
const ADDRESS_LEN: usize = 20;

/// A `sockaddr_ll` with room for IPoIB's addresses, as glibc makes it.
#[repr(C)]
struct LinkAddress {
    family: u16,
    protocol: u16,
    index: c_int,
    hatype: u16,
    pkttype: u8,
    halen: u8,
    address: [u8; ADDRESS_LEN + 4],
}

/// An entry of the list, with what it points at.
struct Entry {
    head: ifaddrs,
    _name: CString,
    link: [LinkAddress; 2],
    ipv4: [sockaddr_in; 2],
    ipv6: [sockaddr_in6; 2],
}

/// What was appended to each list that the program has not freed, and the entry that it was appended to.
struct Appended {
    last: usize,
    #[expect(clippy::vec_box, reason = "the entries point at themselves")]
    _entries: Vec<Box<Entry>>,
}

// SAFETY: what the entries point at is in themselves.
unsafe impl Send for Appended {}

static LISTS: Mutex<Option<HashMap<usize, Appended>>> = Mutex::new(None);

fn lists() -> MutexGuard<'static, Option<HashMap<usize, Appended>>> {
    LISTS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getifaddrs(list: *mut *mut ifaddrs) -> c_int {
    // SAFETY: the caller's promise.
    let answer = unsafe { real::getifaddrs(list) };
    let Some(adapter) = infiniband().filter(|_| answer == 0) else { return answer };
    // SAFETY: the list was made above; an entry's successor is another one or null.
    unsafe {
        let first = *list;
        if adapter.profile.ipoib == Ipoib::None || first.is_null() {
            return answer;
        }
        let mut last = first;
        while !(*last).ifa_next.is_null() {
            last = (*last).ifa_next;
        }
        let mut entries: Vec<Box<Entry>> = adapter
            .node
            .devices
            .iter()
            .flat_map(|device| {
                [libc::AF_PACKET, libc::AF_INET, libc::AF_INET6]
                    .map(|family| entry(adapter, device, family))
            })
            .collect();
        let appended_to = last.addr();
        for entry in &mut entries {
            (*last).ifa_next = &raw mut entry.head;
            last = &raw mut entry.head;
        }
        lists()
            .get_or_insert_default()
            .insert(first.addr(), Appended { last: appended_to, _entries: entries });
    }
    answer
}

#[unsafe(no_mangle)]
unsafe extern "C" fn freeifaddrs(list: *mut ifaddrs) {
    if let Some(appended) = lists().get_or_insert_default().remove(&list.addr()) {
        let mut last = list;
        // SAFETY: the list is whole, and reaches the entry that was its last.
        unsafe {
            while last.addr() != appended.last {
                last = (*last).ifa_next;
            }
            (*last).ifa_next = null_mut();
        }
    }
    // SAFETY: the caller's promise; nothing is appended any more.
    unsafe { real::freeifaddrs(list) }
}

/// The kernel would look for a module for each name that it does not know.
#[unsafe(no_mangle)]
unsafe extern "C" fn if_nametoindex(name: *const c_char) -> c_uint {
    // SAFETY: the caller's promise.
    let wanted = unsafe { CStr::from_ptr(name) };
    let has_interfaces = |adapter: &&Adapter| adapter.profile.ipoib != Ipoib::None;
    let devices = infiniband().filter(has_interfaces).map(|adapter| adapter.node.devices.iter());
    let is_it = |device: &&Device| device.interface_name().as_bytes() == wanted.to_bytes();
    match devices.into_iter().flatten().find(is_it) {
        Some(device) => device.interface(),
        // SAFETY: the caller's promise.
        None => unsafe { real::if_nametoindex(name) },
    }
}

fn entry(adapter: &Adapter, device: &Device, family: c_int) -> Box<Entry> {
    let name = CString::new(device.interface_name()).unwrap_or_default();
    let flags = match adapter.profile.ipoib {
        Ipoib::Up => libc::IFF_UP | libc::IFF_RUNNING,
        _ => 0,
    };
    let [own, broadcast] = hardware_addresses(adapter, device);
    let v6 = device.interface_ipv6();
    let mut entry = Box::new(Entry {
        // SAFETY: an entry is numbers and pointers, for which zero is valid.
        head: unsafe { std::mem::zeroed() },
        link: [link_address(device, own), link_address(device, broadcast)],
        ipv4: [device.interface_ipv4(), Ipv4Addr::new(255, 255, 255, 0)].map(socket_v4),
        ipv6: [(v6, device.interface()), (Ipv6Addr::from(u128::MAX << 64), 0)].map(socket_v6),
        _name: name,
    });
    entry.head.ifa_name = entry._name.as_ptr().cast_mut();
    entry.head.ifa_flags = (flags | libc::IFF_BROADCAST | libc::IFF_MULTICAST) as c_uint;
    let [address, second] = match family {
        libc::AF_PACKET => entry.link.each_mut().map(|one| std::ptr::from_mut(one).cast()),
        libc::AF_INET => entry.ipv4.each_mut().map(|one| std::ptr::from_mut(one).cast()),
        _ => entry.ipv6.each_mut().map(|one| std::ptr::from_mut(one).cast::<sockaddr>()),
    };
    entry.head.ifa_addr = address;
    // The broadcast address of a link, and the mask of an IP address.
    match family {
        libc::AF_PACKET => entry.head.ifa_ifu = second,
        _ => entry.head.ifa_netmask = second,
    }
    entry.head.ifa_data = null_mut::<c_void>();
    entry
}

/// The interface's own, which ends with the port's GID, and that of its broadcast group, which has the P_Key.
fn hardware_addresses(adapter: &Adapter, device: &Device) -> [[u8; ADDRESS_LEN]; 2] {
    let mut own = [0; ADDRESS_LEN];
    own[4..].copy_from_slice(&device.gid);
    let [high, low] = adapter.profile.ipoib_pkey.to_be_bytes();
    let mut broadcast = [0; ADDRESS_LEN];
    broadcast[1..10].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0x12, 0x40, 0x1b, high, low]);
    broadcast[16..].fill(0xff);
    [own, broadcast]
}

fn link_address(device: &Device, address: [u8; ADDRESS_LEN]) -> LinkAddress {
    let mut room = [0; ADDRESS_LEN + 4];
    room[..ADDRESS_LEN].copy_from_slice(&address);
    LinkAddress {
        family: libc::AF_PACKET as u16,
        protocol: 0,
        index: device.interface() as c_int,
        hatype: ARPHRD_INFINIBAND,
        pkttype: 0,
        halen: ADDRESS_LEN as u8,
        address: room,
    }
}

pub fn socket_v4(address: Ipv4Addr) -> sockaddr_in {
    sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 0,
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.octets()) },
        sin_zero: [0; 8],
    }
}

fn socket_v6((address, scope): (Ipv6Addr, u32)) -> sockaddr_in6 {
    sockaddr_in6 {
        sin6_family: libc::AF_INET6 as libc::sa_family_t,
        sin6_port: 0,
        sin6_flowinfo: 0,
        sin6_addr: libc::in6_addr { s6_addr: address.octets() },
        sin6_scope_id: scope,
    }
}
