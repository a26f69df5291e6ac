//! What a device has room for.

use crate::adapter::{adapter, errno};
use crate::context::with_own_descriptor;
use crate::real;
use libc::{c_int, c_void};
use std::ptr::null_mut;
use verbcast_sys::{
    ibv_comp_channel, ibv_context, ibv_cq, ibv_device_attr, ibv_pd, ibv_srq, ibv_srq_init_attr,
};

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_query_device(
    context: *mut ibv_context,
    attr: *mut ibv_device_attr,
) -> c_int {
    // SAFETY: the caller's promise.
    let answer = unsafe { real::ibv_query_device(context, attr) };
    let Some(adapter) = adapter().filter(|_| answer == 0) else { return answer };
    // SAFETY: the attributes were written.
    let attr = unsafe { &mut *attr };
    let profile = &adapter.profile;
    let limits = [
        (&mut attr.max_mcast_grp, profile.max_mcast_grp),
        (&mut attr.max_mcast_qp_attach, profile.max_mcast_qp_attach),
        (&mut attr.max_qp_wr, profile.max_qp_wr),
        (&mut attr.max_cqe, profile.max_cqe),
        (&mut attr.max_srq, profile.max_srq),
        (&mut attr.max_srq_wr, profile.max_srq_wr),
        (&mut attr.max_qp_rd_atom, profile.max_qp_rd_atom),
        (&mut attr.max_qp_init_rd_atom, profile.max_qp_rd_atom),
    ];
    for (limit, imitated) in limits {
        // Nothing can be imitated that is not there.
        *limit = imitated.map_or(*limit, |imitated| (imitated as c_int).min(*limit));
    }
    answer
}

/// Whether so many are more than the limit.
pub fn exceeds(count: u32, limit: Option<u32>) -> bool {
    limit.is_some_and(|limit| count > limit)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_create_cq(
    context: *mut ibv_context,
    cqe: c_int,
    data: *mut c_void,
    channel: *mut ibv_comp_channel,
    vector: c_int,
) -> *mut ibv_cq {
    if adapter().is_some_and(|adapter| exceeds(cqe as u32, adapter.profile.max_cqe)) {
        errno(libc::EINVAL);
        return null_mut();
    }
    // SAFETY: the caller's promise.
    unsafe {
        with_own_descriptor(context, || real::ibv_create_cq(context, cqe, data, channel, vector))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_create_srq(pd: *mut ibv_pd, init: *mut ibv_srq_init_attr) -> *mut ibv_srq {
    if adapter().is_some_and(|adapter| adapter.profile.max_srq == Some(0)) {
        errno(libc::EOPNOTSUPP);
        return null_mut();
    }
    // SAFETY: the caller's promise.
    let wanted = unsafe { (*init).attr.max_wr };
    if adapter().is_some_and(|adapter| exceeds(wanted, adapter.profile.max_srq_wr)) {
        errno(libc::EINVAL);
        return null_mut();
    }
    // SAFETY: the caller's promise.
    unsafe { with_own_descriptor((*pd).context, || real::ibv_create_srq(pd, init)) }
}
