//! Queue pairs in groups: how many an adapter attaches, and by which address.

use crate::adapter::adapter;
use crate::context::device_of;
use crate::real;
use crate::route::{group_gid, group_ipv4, is_multicast, mlid, refused};
use crate::shared::Place;
use libc::c_int;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use verbcast_sys::{ibv_gid, ibv_qp};

/// A QP, and the group that it is attached to.
type Attachment = (usize, [u8; 16]);

/// The place that each attachment has among those of its group.
static ATTACHED: Mutex<Option<HashMap<Attachment, Option<Place>>>> = Mutex::new(None);

fn attached() -> MutexGuard<'static, Option<HashMap<Attachment, Option<Place>>>> {
    ATTACHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The P_Key of each QP.
static PARTITIONS: Mutex<Option<HashMap<usize, u16>>> = Mutex::new(None);

fn partitions() -> MutexGuard<'static, Option<HashMap<usize, u16>>> {
    PARTITIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The QP is in the partition of this P_Key from now on.
pub fn set_partition(qp: *mut ibv_qp, pkey: u16) {
    partitions().get_or_insert_default().insert(qp.addr(), pkey);
}

/// Whether two P_Keys are the same partition's; their high bits tell full members from limited ones.
fn is_same(one: u16, other: u16) -> bool {
    (one ^ other) & 0x7fff == 0
}

/// The QP is gone, and its places with it.
pub fn forget(qp: *mut ibv_qp) {
    attached().get_or_insert_default().retain(|(other, _), _| *other != qp.addr());
    partitions().get_or_insert_default().remove(&qp.addr());
}

/// The QP was reset, and the adapter has forgotten its groups.
pub fn detach_all(qp: *mut ibv_qp) {
    let Some(adapter) = adapter() else { return };
    for ((other, raw), _) in attached().get_or_insert_default().iter() {
        let address = real_address(adapter.profile.is_infiniband, ibv_gid { raw: *raw }, mlid(raw));
        if let (true, Ok((gid, lid))) = (*other == qp.addr(), address) {
            // SAFETY: the QP is live.
            unsafe { real::ibv_detach_mcast(qp, &raw const gid, lid) };
        }
    }
}

/// The group that the QP is attached to and whose datagrams this IPv4 group carries.
pub fn group_of(qp: *mut ibv_qp, ipv4: &[u8]) -> Option<[u8; 16]> {
    let mut attached = attached();
    let mut all = attached.get_or_insert_default().keys();
    let found = all.find(|(other, raw)| *other == qp.addr() && group_ipv4(raw).octets() == *ipv4);
    found.map(|(_, raw)| *raw)
}

/// SoftRoCE's address of a group, and the LID to go with it.
fn real_address(is_infiniband: bool, gid: ibv_gid, lid: u16) -> Result<(ibv_gid, u16), String> {
    // SAFETY: every bit pattern of the union is a valid array of bytes.
    let raw = unsafe { gid.raw };
    if !is_infiniband {
        return Ok((gid, lid));
    }
    if raw[0] != 0xff || !is_multicast(lid) {
        return Err(format!("{raw:02x?} with LID {lid:#x} is not a group's MGID and MLID"));
    }
    if lid != mlid(&raw) {
        return Err(format!("MLID {lid:#x} is not the group's {:#x}", mlid(&raw)));
    }
    Ok((group_gid(&raw), 0))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_attach_mcast(qp: *mut ibv_qp, gid: *const ibv_gid, lid: u16) -> c_int {
    let Some(adapter) = adapter() else {
        // SAFETY: the caller's promise.
        return unsafe { real::ibv_attach_mcast(qp, gid, lid) };
    };
    // SAFETY: the caller's promise.
    let (gid, device) = unsafe { (*gid, device_of(adapter, (*qp).context)) };
    // SAFETY: every bit pattern of the union is a valid array of bytes.
    let raw = unsafe { gid.raw };
    let (real_gid, real_lid) = match real_address(adapter.profile.is_infiniband, gid, lid) {
        Ok(address) => address,
        Err(why) => return refused("ibv_attach_mcast", &why),
    };
    let pkey = partitions().get_or_insert_default().get(&qp.addr()).copied();
    let group = adapter.profile.ipoib_pkey;
    if adapter.profile.is_infiniband && pkey.is_some_and(|pkey| !is_same(pkey, group)) {
        // An adapter would attach it, and drop every datagram.
        let why = format!("the QP's P_Key is {:#x}, the group's {group:#x}", pkey.unwrap_or(0));
        return refused("ibv_attach_mcast", &why);
    }
    let mut place = None;
    if let Some(limit) = adapter.profile.max_mcast_qp_attach {
        let device = device.map(|device| device.name.as_str()).unwrap_or_default();
        place = Place::take(&format!("{device}-{:032x}", u128::from_be_bytes(raw)), limit);
        if place.is_none() {
            return libc::ENOMEM;
        }
    }
    // SAFETY: the QP is live.
    let answer = unsafe { real::ibv_attach_mcast(qp, &raw const real_gid, real_lid) };
    if answer == 0 {
        attached().get_or_insert_default().insert((qp.addr(), raw), place);
    }
    answer
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_detach_mcast(qp: *mut ibv_qp, gid: *const ibv_gid, lid: u16) -> c_int {
    let Some(adapter) = adapter() else {
        // SAFETY: the caller's promise.
        return unsafe { real::ibv_detach_mcast(qp, gid, lid) };
    };
    // SAFETY: the caller's promise.
    let gid = unsafe { *gid };
    // SAFETY: every bit pattern of the union is a valid array of bytes.
    let raw = unsafe { gid.raw };
    if attached().get_or_insert_default().remove(&(qp.addr(), raw)).is_none() {
        return libc::EINVAL;
    }
    match real_address(adapter.profile.is_infiniband, gid, lid) {
        // SAFETY: the QP is live.
        Ok((gid, lid)) => unsafe { real::ibv_detach_mcast(qp, &raw const gid, lid) },
        Err(why) => refused("ibv_detach_mcast", &why),
    }
}
