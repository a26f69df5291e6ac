//! The calls that `infiniband/verbs.h` defines as inline functions: they go through the operations
//! table of the device's context, into the provider, without a function of libibverbs between.

use crate::{
    ibv_context, ibv_cq, ibv_gid_entry, ibv_port_attr, ibv_qp, ibv_recv_wr, ibv_send_wr, ibv_srq,
    ibv_wc, verbs_context,
};
use core::ffi::c_int;
use core::mem::{offset_of, size_of};

/// What a provider that lacks an operation would answer.
const EOPNOTSUPP: c_int = 95;

/// Posts a list of work requests to the send queue of a QP; 0 or an errno.
///
/// # Safety
/// As `ibv_post_send(3)`: `qp` is a live QP, `wr` a list of valid requests whose memory stays
/// registered and untouched until they complete, `bad_wr` is writable.
#[inline]
pub unsafe fn ibv_post_send(
    qp: *mut ibv_qp,
    wr: *mut ibv_send_wr,
    bad_wr: *mut *mut ibv_send_wr,
) -> c_int {
    // SAFETY: the caller's QP is live, and with it its context and operations table.
    unsafe {
        match (*(*qp).context).ops.post_send {
            Some(post_send) => post_send(qp, wr, bad_wr),
            None => EOPNOTSUPP,
        }
    }
}

/// Posts a list of work requests to the receive queue of a QP; 0 or an errno.
///
/// # Safety
/// As `ibv_post_recv(3)`: `qp` is a live QP, `wr` a list of valid requests whose memory stays
/// registered and untouched until they complete, `bad_wr` is writable.
#[inline]
pub unsafe fn ibv_post_recv(
    qp: *mut ibv_qp,
    wr: *mut ibv_recv_wr,
    bad_wr: *mut *mut ibv_recv_wr,
) -> c_int {
    // SAFETY: the caller's QP is live, and with it its context and operations table.
    unsafe {
        match (*(*qp).context).ops.post_recv {
            Some(post_recv) => post_recv(qp, wr, bad_wr),
            None => EOPNOTSUPP,
        }
    }
}

/// Posts a list of work requests to a shared receive queue; 0 or an errno.
///
/// # Safety
/// As `ibv_post_srq_recv(3)`: `srq` is live, `wr` a list of valid requests whose memory stays
/// registered and untouched until they complete, `bad_wr` is writable.
#[inline]
pub unsafe fn ibv_post_srq_recv(
    srq: *mut ibv_srq,
    wr: *mut ibv_recv_wr,
    bad_wr: *mut *mut ibv_recv_wr,
) -> c_int {
    // SAFETY: the caller's SRQ is live, and with it its context and operations table.
    unsafe {
        match (*(*srq).context).ops.post_srq_recv {
            Some(post_srq_recv) => post_srq_recv(srq, wr, bad_wr),
            None => EOPNOTSUPP,
        }
    }
}

/// Takes up to `entries` completions; their number, or a negative value on error.
///
/// # Safety
/// As `ibv_poll_cq(3)`: `cq` is live, `wc` has room for `entries` completions.
#[inline]
pub unsafe fn ibv_poll_cq(cq: *mut ibv_cq, entries: c_int, wc: *mut ibv_wc) -> c_int {
    // SAFETY: the caller's CQ is live, and with it its context and operations table.
    unsafe {
        match (*(*cq).context).ops.poll_cq {
            Some(poll_cq) => poll_cq(cq, entries, wc),
            None => -EOPNOTSUPP,
        }
    }
}

/// Asks for an event on the CQ's channel at the next completion; 0 or an errno.
///
/// # Safety
/// As `ibv_req_notify_cq(3)`: `cq` is live.
#[inline]
pub unsafe fn ibv_req_notify_cq(cq: *mut ibv_cq, solicited_only: c_int) -> c_int {
    // SAFETY: the caller's CQ is live, and with it its context and operations table.
    unsafe {
        match (*(*cq).context).ops.req_notify_cq {
            Some(req_notify_cq) => req_notify_cq(cq, solicited_only),
            None => EOPNOTSUPP,
        }
    }
}

/// Reads a port's attributes; 0 or an errno.
///
/// # Safety
/// As `ibv_query_port(3)`: `context` is live, `attr` is writable.
pub unsafe fn ibv_query_port(
    context: *mut ibv_context,
    port: u8,
    attr: *mut ibv_port_attr,
) -> c_int {
    // SAFETY: an extended context (`abi_compat` all ones, as verbs.h defines it) is the `context`
    // field of a `verbs_context`, whose `sz` tells how far its table reaches. The library's own
    // function, for the others, writes the leading part of the attributes only.
    unsafe {
        attr.write_bytes(0, 1);
        if (*context).abi_compat as usize == usize::MAX {
            let extended =
                context.byte_sub(offset_of!(verbs_context, context)).cast::<verbs_context>();
            let reaches = (*extended).sz
                >= size_of::<verbs_context>() - offset_of!(verbs_context, query_port);
            if let (true, Some(query_port)) = (reaches, (*extended).query_port) {
                return query_port(context, port, attr, size_of::<ibv_port_attr>());
            }
        }
        crate::bindings::ibv_query_port(context, port, attr.cast())
    }
}

/// Reads an entry of a port's GID table; 0 or an errno.
///
/// # Safety
/// As `ibv_query_gid_ex(3)`: `context` is live, `entry` is writable.
pub unsafe fn ibv_query_gid_ex(
    context: *mut ibv_context,
    port: u32,
    index: u32,
    entry: *mut ibv_gid_entry,
) -> c_int {
    // SAFETY: the caller's promises are those of the function called.
    unsafe { crate::_ibv_query_gid_ex(context, port, index, entry, 0, size_of::<ibv_gid_entry>()) }
}
