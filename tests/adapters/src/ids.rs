//! Identifiers of the connection manager: what they are bound to, and the groups that are joined by them.

use crate::adapter::{Adapter, adapter, errno, infiniband};
use crate::channel::{self, report};
use crate::interfaces::socket_v4;
use crate::node::Device;
use crate::profile::Ipoib;
use crate::real;
use crate::route::{group_gid, group_ipv4, mlid};
use crate::shared::{Membership, group_name};
use libc::{c_int, c_void, sockaddr, sockaddr_in, sockaddr_in6};
use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU32, Ordering};
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
    /// The place of its device among the devices.
    device: usize,
    groups: Vec<Group>,
}

/// A group that was asked for.
struct Group {
    mgid: [u8; 16],
    /// What the program gave along.
    context: usize,
    /// None if the subnet administrator has refused.
    membership: Option<Membership>,
}

/// Joins that were asked for so far.
static JOINS: AtomicU32 = AtomicU32::new(0);
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
        ids()
            .get_or_insert_default()
            .insert(id.expose_provenance(), Id { bound, device: device.index, groups: Vec::new() });
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
    let known = ids().get_or_insert_default().get(&id.addr()).map(|id| (id.bound, id.device));
    let Some((bound, device)) = known else { return failed(libc::EINVAL) };
    // Linux looks for the broadcast group of the interface that the id is bound to (`cma_join_ib_multicast`).
    let has_broadcast = match bound {
        Bound::Interface => adapter.profile.ipoib == Ipoib::Up,
        Bound::Gid => adapter.profile.join_by_gid,
    };
    if !has_broadcast {
        return failed(libc::EADDRNOTAVAIL);
    }
    let profile = &adapter.profile;
    let is_refused = JOINS.fetch_add(1, Ordering::Relaxed) < profile.join_refusals;
    let membership = match (is_reserved(&mgid), is_refused) {
        (true, _) => Err(libc::EINVAL),
        (false, true) => Err(profile.join_error),
        (false, false) => {
            let mtu = profile.mtu(device).unwrap_or_default();
            let entered = Membership::enter(&group_name(&mgid), mtu, 0);
            entered.map(|(membership, _)| membership).ok_or(libc::EINVAL)
        }
    };
    let group = |membership| Group { mgid, context: context.expose_provenance(), membership };
    if let Err(error) = membership {
        // The group stays the identifier's until it is left.
        if let Some(known) = ids().get_or_insert_default().get_mut(&id.addr()) {
            known.groups.push(group(None));
        }
        let event = (RDMA_CM_EVENT_MULTICAST_ERROR, -error);
        // SAFETY: the id is live.
        unsafe { report(id, event, context, profile.join_delay) };
        return 0;
    }
    // Another thread may take the event before the call returns.
    if let Some(known) = ids().get_or_insert_default().get_mut(&id.addr()) {
        known.groups.push(group(membership.ok()));
    }
    let mut real = socket_v4(group_ipv4(&mgid));
    // SAFETY: the id is live, and the address valid.
    let answer = unsafe { real::rdma_join_multicast(id, (&raw mut real).cast(), context) };
    if answer != 0
        && let Some(known) = ids().get_or_insert_default().get_mut(&id.addr())
        && let Some(at) = known.groups.iter().rposition(|group| group.mgid == mgid)
    {
        known.groups.remove(at);
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
            let at = known.groups.iter().position(|group| Some(group.mgid) == mgid)?;
            Some(known.groups.swap_remove(at))
        })
    };
    let Some(group) = joined else { return failed(libc::EADDRNOTAVAIL) };
    channel::forget(id);
    if group.membership.is_none() {
        return 0;
    }
    let mut real = socket_v4(group_ipv4(&group.mgid));
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
    let Some(adapter) = adapter() else { return Duration::ZERO };
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
    let is_it = |group: &&Group| unsafe { group_gid(&group.mgid).raw } == real;
    if let Some(Group { mgid, .. }) = groups.unwrap_or_default().iter().find(is_it) {
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
    adapter.profile.join_delay
}

/// The port's memberships end, and the program is told so.
pub fn end_memberships() {
    for (id, known) in ids().get_or_insert_default().iter() {
        for group in &known.groups {
            let id = std::ptr::with_exposed_provenance_mut(*id);
            let context = std::ptr::with_exposed_provenance_mut(group.context);
            let event = (RDMA_CM_EVENT_MULTICAST_ERROR, -libc::ENETRESET);
            // SAFETY: identifiers are forgotten before they are destroyed.
            unsafe { report(id, event, context, Duration::ZERO) };
        }
    }
}
