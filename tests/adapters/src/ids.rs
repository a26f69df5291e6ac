//! Identifiers of the connection manager: what they are bound to, and the groups that are joined by them.

use crate::adapter::{Adapter, adapter, errno, infiniband};
use crate::channel::{self, report};
use crate::interfaces::socket_v4;
use crate::node::Device;
use crate::profile::Ipoib;
use crate::real;
use crate::route::{group_gid, group_ipv4, mlid};
use libc::{c_int, c_void, sockaddr, sockaddr_in, sockaddr_in6};
use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use verbcast_sys::{
    AF_IB, RDMA_CM_EVENT_MULTICAST_ERROR, RDMA_CM_EVENT_MULTICAST_JOIN, ib_addr, ibv_gid,
    rdma_cm_event, rdma_cm_id, rdma_cm_join_mc_attr_ex, sockaddr_ib,
};

/// What an identifier is bound to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// The address of an IPoIB interface.
    Interface,
    /// A GID.
    Gid,
}

struct Id {
    bound: Bound,
    /// MGIDs that were asked for.
    groups: Vec<[u8; 16]>,
}

static IDS: Mutex<Option<HashMap<usize, Id>>> = Mutex::new(None);

fn ids() -> MutexGuard<'static, Option<HashMap<usize, Id>>> {
    IDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets `errno`, and fails.
fn failed(number: c_int) -> c_int {
    errno(number);
    -1
}

/// A socket address, read.
enum Address {
    V4(Ipv4Addr),
    V6(Ipv6Addr, u32),
    Gid([u8; 16]),
    Other,
}

impl Address {
    /// # Safety
    /// A valid address, as long as its family has it.
    unsafe fn read(address: *const sockaddr) -> Address {
        // SAFETY: the caller's promise.
        unsafe {
            match c_int::from((*address).sa_family) {
                libc::AF_INET => {
                    let address = address.cast::<sockaddr_in>().read_unaligned();
                    Address::V4(Ipv4Addr::from(address.sin_addr.s_addr.to_ne_bytes()))
                }
                libc::AF_INET6 => {
                    let address = address.cast::<sockaddr_in6>().read_unaligned();
                    Address::V6(address.sin6_addr.s6_addr.into(), address.sin6_scope_id)
                }
                family if family == AF_IB as c_int => {
                    let address = address.cast::<sockaddr_ib>().read_unaligned();
                    Address::Gid(std::mem::transmute::<ib_addr, [u8; 16]>(address.sib_addr))
                }
                _ => Address::Other,
            }
        }
    }

    /// The port that has this address.
    fn port(&self, adapter: &'static Adapter) -> Option<(&'static Device, Bound)> {
        let find = |bound, has: &dyn Fn(&Device) -> bool| {
            Some((adapter.node.devices.iter().find(|device| has(device))?, bound))
        };
        let has_interface = adapter.profile.ipoib != Ipoib::None;
        match self {
            Address::V4(v4) if has_interface => {
                find(Bound::Interface, &|device| device.interface_ipv4() == *v4)
            }
            Address::V6(v6, scope) if has_interface => find(Bound::Interface, &|device| {
                device.interface_ipv6() == *v6 && device.interface() == *scope
            }),
            Address::Gid(gid) => find(Bound::Gid, &|device| device.gid == *gid),
            _ => None,
        }
    }

    /// The MGID of a group; Linux maps IP groups so (`cma_set_mgid`).
    fn mgid(&self, pkey: u16) -> Option<[u8; 16]> {
        let [high, low] = pkey.to_be_bytes();
        match self {
            Address::Gid(mgid) => Some(*mgid),
            Address::V4(v4) => {
                let [_, b, c, d] = v4.octets();
                let mut mgid = [0; 16];
                mgid[..6].copy_from_slice(&[0xff, 0x12, 0x40, 0x01, high, low]);
                mgid[12..].copy_from_slice(&[v4.octets()[0] & 0x0f, b, c, d]);
                Some(mgid)
            }
            _ => None,
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_bind_addr(id: *mut rdma_cm_id, address: *mut sockaddr) -> c_int {
    let Some(adapter) = infiniband() else {
        // SAFETY: the caller's promise.
        return unsafe { real::rdma_bind_addr(id, address) };
    };
    // SAFETY: the caller's promise.
    let wanted = unsafe { Address::read(address) };
    if matches!(wanted, Address::V4(Ipv4Addr::UNSPECIFIED)) {
        // SAFETY: the caller's promise.
        return unsafe { real::rdma_bind_addr(id, address) };
    }
    let Some((device, bound)) = wanted.port(adapter) else { return failed(libc::ENODEV) };
    let mut real = socket_v4(device.ipv4);
    // SAFETY: the id is live, and the address valid.
    let answer = unsafe { real::rdma_bind_addr(id, (&raw mut real).cast()) };
    if answer == 0 {
        ids().get_or_insert_default().insert(id.addr(), Id { bound, groups: Vec::new() });
    }
    answer
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_join_multicast(
    id: *mut rdma_cm_id,
    address: *mut sockaddr,
    context: *mut c_void,
) -> c_int {
    match infiniband() {
        // SAFETY: the caller's promise.
        Some(adapter) => unsafe { join(adapter, id, address, context) },
        // SAFETY: as above.
        None => unsafe { real::rdma_join_multicast(id, address, context) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_join_multicast_ex(
    id: *mut rdma_cm_id,
    attr: *mut rdma_cm_join_mc_attr_ex,
    context: *mut c_void,
) -> c_int {
    match infiniband() {
        // SAFETY: the caller's promise.
        Some(adapter) => unsafe { join(adapter, id, (*attr).addr, context) },
        // SAFETY: as above.
        None => unsafe { real::rdma_join_multicast_ex(id, attr, context) },
    }
}

unsafe fn join(
    adapter: &Adapter,
    id: *mut rdma_cm_id,
    address: *mut sockaddr,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    let mgid = unsafe { Address::read(address).mgid(adapter.profile.ipoib_pkey) };
    let Some(mgid) = mgid.filter(|mgid| mgid[0] == 0xff) else { return failed(libc::EINVAL) };
    let Some(bound) = ids().get_or_insert_default().get(&id.addr()).map(|id| id.bound) else {
        return failed(libc::EINVAL);
    };
    // Linux looks for the broadcast group of the interface that the id is bound to (`cma_join_ib_multicast`).
    let has_broadcast = match bound {
        Bound::Interface => adapter.profile.ipoib == Ipoib::Up,
        Bound::Gid => adapter.profile.join_by_gid,
    };
    if !has_broadcast {
        return failed(libc::EADDRNOTAVAIL);
    }
    if is_reserved(&mgid) {
        let event = (RDMA_CM_EVENT_MULTICAST_ERROR, -libc::EINVAL);
        // SAFETY: the id is live.
        unsafe { report(id, event, context, Duration::ZERO) };
        return 0;
    }
    let mut real = socket_v4(group_ipv4(&mgid));
    // SAFETY: the id is live, and the address valid.
    let answer = unsafe { real::rdma_join_multicast(id, (&raw mut real).cast(), context) };
    if let (0, Some(known)) = (answer, ids().get_or_insert_default().get_mut(&id.addr())) {
        known.groups.push(mgid);
    }
    answer
}

/// Whether OpenSM refuses to make such a group: IPoIB's signatures, and that of MGIDs which it gives itself.
fn is_reserved(mgid: &[u8; 16]) -> bool {
    matches!(mgid[2..4], [0x40 | 0x60 | 0xa0, 0x1b])
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_leave_multicast(id: *mut rdma_cm_id, address: *mut sockaddr) -> c_int {
    let Some(adapter) = infiniband() else {
        // SAFETY: the caller's promise.
        return unsafe { real::rdma_leave_multicast(id, address) };
    };
    // SAFETY: the caller's promise.
    let mgid = unsafe { Address::read(address).mgid(adapter.profile.ipoib_pkey) };
    let joined = {
        let mut ids = ids();
        let known = ids.get_or_insert_default().get_mut(&id.addr());
        known.and_then(|known| {
            let at = known.groups.iter().position(|group| Some(*group) == mgid)?;
            Some(known.groups.swap_remove(at))
        })
    };
    let Some(mgid) = joined else { return failed(libc::EADDRNOTAVAIL) };
    channel::forget(id);
    let mut real = socket_v4(group_ipv4(&mgid));
    // SAFETY: the id is live, and the address valid.
    unsafe { real::rdma_leave_multicast(id, (&raw mut real).cast()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_destroy_id(id: *mut rdma_cm_id) -> c_int {
    if adapter().is_some() {
        channel::forget(id);
        ids().get_or_insert_default().remove(&id.addr());
    }
    // SAFETY: the caller's promise.
    unsafe { real::rdma_destroy_id(id) }
}

/// Makes the library's event that of the imitated adapter; how long it is held back.
///
/// # Safety
/// `event` is the library's, and not yet acknowledged.
pub unsafe fn imitate(event: *mut rdma_cm_event) -> Duration {
    let Some(adapter) = infiniband() else { return Duration::ZERO };
    // SAFETY: the event is valid, and those of groups have the parameters of datagrams.
    let (kind, id, param) = unsafe { ((*event).event, (*event).id, &mut (*event).param.ud) };
    if kind != RDMA_CM_EVENT_MULTICAST_JOIN {
        return Duration::ZERO;
    }
    // SAFETY: every bit pattern of the union is a valid array of bytes.
    let real = unsafe { param.ah_attr.grh.dgid.raw };
    let ids = ids();
    let groups = ids.as_ref().and_then(|ids| ids.get(&id.addr())).map(|id| id.groups.as_slice());
    // SAFETY: as above.
    let is_it = |mgid: &&[u8; 16]| unsafe { group_gid(mgid).raw } == real;
    if let Some(mgid) = groups.unwrap_or_default().iter().find(is_it) {
        let attr = &mut param.ah_attr;
        attr.grh.dgid = ibv_gid { raw: *mgid };
        attr.grh.sgid_index = 0;
        attr.grh.hop_limit = 0;
        attr.grh.traffic_class = 0;
        attr.grh.flow_label = 0;
        attr.dlid = mlid(mgid);
        attr.sl = adapter.profile.sl;
        attr.is_global = 1;
    }
    Duration::ZERO
}
