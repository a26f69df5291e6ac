//! What a port says of itself: link layer, LIDs, GIDs, P_Keys.

use crate::adapter::{Adapter, adapter, infiniband};
use crate::context::{device_of, is_port_up, opened};
use crate::node::Device;
use crate::real;
use libc::{c_int, c_void};
use std::mem::{offset_of, size_of};
use verbcast_sys::{
    IBV_GID_TYPE_IB, IBV_LINK_LAYER_INFINIBAND, IBV_PORT_DOWN, ibv_context, ibv_gid, ibv_gid_entry,
    ibv_port_attr,
};

/// As [`ibv_query_port`], of which this is the newer form.
///
/// # Safety
/// As of the provider's.
pub unsafe extern "C" fn query_port(
    context: *mut ibv_context,
    number: u8,
    attr: *mut ibv_port_attr,
    len: usize,
) -> c_int {
    let Some(query) = opened(context).and_then(|opened| opened.operations.query_port) else {
        return libc::EOPNOTSUPP;
    };
    // SAFETY: the caller's promise; the provider's own operation.
    let answer = unsafe { query(context, number, attr, len) };
    // SAFETY: the context is live, and the attributes were written.
    unsafe { imitate(context, answer, attr) }
}

/// The older form, whose attributes end before `port_cap_flags2`.
#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_query_port(
    context: *mut ibv_context,
    number: u8,
    attr: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let answer = real::ibv_query_port(context, number, attr);
        imitate(context, answer, attr.cast())
    }
}

/// Writes what both forms have.
unsafe fn imitate(context: *mut ibv_context, answer: c_int, attr: *mut ibv_port_attr) -> c_int {
    let Some(adapter) = adapter().filter(|_| answer == 0) else { return answer };
    let profile = &adapter.profile;
    // SAFETY: the caller's promise.
    unsafe {
        let Some(device) = device_of(adapter, context) else { return answer };
        if !is_port_up() {
            (*attr).state = IBV_PORT_DOWN;
        }
        if let Some(mtu) = profile.mtu(device.index) {
            // IBV_MTU_256 is 1, and each step doubles.
            (*attr).active_mtu = (mtu / 128).ilog2();
        }
        if let (Some(width), Some(speed)) = (profile.width, profile.speed) {
            ((*attr).active_width, (*attr).active_speed) = (width as u8, speed as u8);
        }
        if !profile.is_infiniband {
            return answer;
        }
        (*attr).lid = device.lid;
        (*attr).sm_lid = profile.sm_lid;
        (*attr).sm_sl = profile.sl;
        (*attr).gid_tbl_len = 1;
        (*attr).pkey_tbl_len = profile.pkeys().len() as u16;
        (*attr).link_layer = IBV_LINK_LAYER_INFINIBAND as u8;
    }
    answer
}

/// The entry of that index of an InfiniBand port's table.
fn gid_entry(device: &Device, port: u32, index: u32) -> Option<ibv_gid_entry> {
    (index == 0).then_some(ibv_gid_entry {
        gid: ibv_gid { raw: device.gid },
        gid_index: 0,
        port_num: port,
        gid_type: IBV_GID_TYPE_IB,
        ndev_ifindex: 0,
    })
}

/// The InfiniBand port of an opened device.
unsafe fn port_of(context: *mut ibv_context) -> Option<(&'static Adapter, &'static Device)> {
    let adapter = infiniband()?;
    // SAFETY: the caller's promise.
    Some((adapter, unsafe { device_of(adapter, context) }?))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_query_gid(
    context: *mut ibv_context,
    port: u8,
    index: c_int,
    gid: *mut ibv_gid,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let Some((_, device)) = port_of(context) else {
            return real::ibv_query_gid(context, port, index, gid);
        };
        match gid_entry(device, port.into(), index as u32) {
            Some(entry) => *gid = entry.gid,
            None => return -1,
        }
    }
    0
}

/// Writes an entry to a caller who knows its first `size` bytes.
unsafe fn write_entry(entry: &ibv_gid_entry, to: *mut ibv_gid_entry, size: usize) {
    let len = size.min(size_of::<ibv_gid_entry>());
    // SAFETY: the caller says that so much may be written.
    unsafe { std::ptr::copy_nonoverlapping(std::ptr::from_ref(entry).cast::<u8>(), to.cast(), len) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _ibv_query_gid_ex(
    context: *mut ibv_context,
    port: u32,
    index: u32,
    entry: *mut ibv_gid_entry,
    flags: u32,
    size: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let Some((_, device)) = port_of(context) else {
            return real::_ibv_query_gid_ex(context, port, index, entry, flags, size);
        };
        match gid_entry(device, port, index) {
            Some(found) => write_entry(&found, entry, size),
            None => return libc::EINVAL,
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _ibv_query_gid_table(
    context: *mut ibv_context,
    entries: *mut ibv_gid_entry,
    max: usize,
    flags: u32,
    size: usize,
) -> isize {
    // SAFETY: the caller's promise.
    unsafe {
        let Some((_, device)) = port_of(context) else {
            return real::_ibv_query_gid_table(context, entries, max, flags, size);
        };
        if max == 0 {
            return -(libc::EINVAL as isize);
        }
        if let Some(entry) = gid_entry(device, 1, 0) {
            write_entry(&entry, entries, size);
        }
    }
    1
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_query_pkey(
    context: *mut ibv_context,
    port: u8,
    index: c_int,
    pkey: *mut u16,
) -> c_int {
    let Some(adapter) = adapter() else {
        // SAFETY: the caller's promise.
        return unsafe { real::ibv_query_pkey(context, port, index, pkey) };
    };
    let found = usize::try_from(index).ok().and_then(|index| adapter.profile.pkeys().get(index));
    match found {
        // SAFETY: the caller's promise.
        Some(found) => unsafe { *pkey = found.to_be() },
        None => return -1,
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_get_pkey_index(context: *mut ibv_context, port: u8, pkey: u16) -> c_int {
    let Some(adapter) = adapter() else {
        // SAFETY: the caller's promise.
        return unsafe { real::ibv_get_pkey_index(context, port, pkey) };
    };
    let wanted = u16::from_be(pkey);
    let found = adapter.profile.pkeys().iter().position(|known| *known == wanted);
    found.map_or(-1, |index| index as c_int)
}

const _: () =
    assert!(offset_of!(ibv_port_attr, link_layer) < offset_of!(ibv_port_attr, port_cap_flags2));
