//! The operations that headers call without a symbol, replaced in each opened context.

use crate::{ledger, real};
use libc::c_int;
use std::mem::offset_of;
use std::sync::OnceLock;
use verbcast_sys::*;

type QueryPort = unsafe extern "C" fn(*mut ibv_context, u8, *mut ibv_port_attr, usize) -> c_int;
type PostSend = unsafe extern "C" fn(*mut ibv_qp, *mut ibv_send_wr, *mut *mut ibv_send_wr) -> c_int;
type PostRecv = unsafe extern "C" fn(*mut ibv_qp, *mut ibv_recv_wr, *mut *mut ibv_recv_wr) -> c_int;
type PostSrqRecv =
    unsafe extern "C" fn(*mut ibv_srq, *mut ibv_recv_wr, *mut *mut ibv_recv_wr) -> c_int;
type PollCq = unsafe extern "C" fn(*mut ibv_cq, c_int, *mut ibv_wc) -> c_int;
type ReqNotifyCq = unsafe extern "C" fn(*mut ibv_cq, c_int) -> c_int;

// The provider's own: all devices of the tests have the same one.
static QUERY_PORT: OnceLock<QueryPort> = OnceLock::new();
static POST_SEND: OnceLock<PostSend> = OnceLock::new();
static POST_RECV: OnceLock<PostRecv> = OnceLock::new();
static POST_SRQ_RECV: OnceLock<PostSrqRecv> = OnceLock::new();
static POLL_CQ: OnceLock<PollCq> = OnceLock::new();
static REQ_NOTIFY_CQ: OnceLock<ReqNotifyCq> = OnceLock::new();

/// Puts those of this file in place of a context's.
///
/// # Safety
/// The context is open, and nobody else uses it yet.
pub unsafe fn replace(context: *mut ibv_context) {
    // SAFETY: promised by the caller.
    unsafe {
        let ops = &mut (*context).ops;
        ops.post_send.replace(post_send).map(|own| POST_SEND.get_or_init(|| own));
        ops.post_recv.replace(post_recv).map(|own| POST_RECV.get_or_init(|| own));
        ops.post_srq_recv.replace(post_srq_recv).map(|own| POST_SRQ_RECV.get_or_init(|| own));
        ops.poll_cq.replace(poll_cq).map(|own| POLL_CQ.get_or_init(|| own));
        ops.req_notify_cq.replace(req_notify_cq).map(|own| REQ_NOTIFY_CQ.get_or_init(|| own));
        let extended = verbs_get_ctx(context);
        let reach = size_of::<verbs_context>() - offset_of!(verbs_context, query_port);
        if !extended.is_null() && (*extended).sz >= reach {
            let own = (*extended).query_port.replace(query_port);
            own.map(|own| QUERY_PORT.get_or_init(|| own));
        }
    }
}

/// An operation that gives 0 or an error's number; `$refusal` is done where it is refused.
macro_rules! operation {
    ($name:ident, $call:literal, $real:ident, ($($argument:ident: $kind:ty),*), $refusal:expr) => {
        /// # Safety
        /// As for the provider's operation.
        unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            // SAFETY: the caller's promise, and the provider's own function.
            unsafe {
                if !real::is_inside() && ledger::refuses($call) {
                    return $refusal;
                }
                ($real.get().unwrap())($($argument),*)
            }
        }
    };
}

operation!(
    query_port,
    "ibv_query_port",
    QUERY_PORT,
    (context: *mut ibv_context, port: u8, attr: *mut ibv_port_attr, size: usize),
    libc::EIO
);
operation!(
    post_send,
    "ibv_post_send",
    POST_SEND,
    (qp: *mut ibv_qp, wr: *mut ibv_send_wr, bad: *mut *mut ibv_send_wr),
    {
        *bad = wr;
        libc::EIO
    }
);
operation!(
    post_recv,
    "ibv_post_recv",
    POST_RECV,
    (qp: *mut ibv_qp, wr: *mut ibv_recv_wr, bad: *mut *mut ibv_recv_wr),
    {
        *bad = wr;
        libc::EIO
    }
);
operation!(
    post_srq_recv,
    "ibv_post_srq_recv",
    POST_SRQ_RECV,
    (srq: *mut ibv_srq, wr: *mut ibv_recv_wr, bad: *mut *mut ibv_recv_wr),
    {
        *bad = wr;
        libc::EIO
    }
);
operation!(
    poll_cq,
    "ibv_poll_cq",
    POLL_CQ,
    (cq: *mut ibv_cq, number: c_int, wc: *mut ibv_wc),
    -1
);
operation!(
    req_notify_cq,
    "ibv_req_notify_cq",
    REQ_NOTIFY_CQ,
    (cq: *mut ibv_cq, solicited_only: c_int),
    libc::EIO
);
