//! Posting work requests: calls through the context's operations table.

use core::ffi::c_int;

use crate::{ibv_qp, ibv_recv_wr, ibv_send_wr, ibv_srq};

/// Posts a list of work requests to a queue pair's send queue.
///
/// Returns 0, or an `errno` value with `*bad_wr` at the first request that was
/// not posted; those before it were.
///
/// # Safety
///
/// - `qp` is a live queue pair.
/// - `wr` heads a list of valid work requests that ends with a null `next`;
///   their scatter/gather lists and, for a datagram, address handles are valid.
/// - The memory they name stays registered and unchanged until the request
///   completes; with `IBV_SEND_INLINE`, until this call returns.
/// - `bad_wr` may be written to.
#[inline]
pub unsafe fn ibv_post_send(
    qp: *mut ibv_qp,
    wr: *mut ibv_send_wr,
    bad_wr: *mut *mut ibv_send_wr,
) -> c_int {
    // SAFETY: a live queue pair points at its live context.
    match unsafe { (*(*qp).context).ops.post_send } {
        // SAFETY: the caller vouches for the arguments; the entry is the provider's own.
        Some(post) => unsafe { post(qp, wr, bad_wr) },
        None => {
            // SAFETY: the caller lets us write `bad_wr`.
            unsafe { *bad_wr = wr };
            libc::EOPNOTSUPP
        }
    }
}

/// Posts a list of work requests to a queue pair's receive queue.
///
/// Returns 0, or an `errno` value with `*bad_wr` at the first request that was
/// not posted; those before it were.
///
/// # Safety
///
/// - `qp` is a live queue pair without a shared receive queue.
/// - `wr` heads a list of valid work requests that ends with a null `next`.
/// - The memory they name stays registered, and is not otherwise accessed,
///   until the request completes or the queue pair is destroyed.
/// - `bad_wr` may be written to.
#[inline]
pub unsafe fn ibv_post_recv(
    qp: *mut ibv_qp,
    wr: *mut ibv_recv_wr,
    bad_wr: *mut *mut ibv_recv_wr,
) -> c_int {
    // SAFETY: a live queue pair points at its live context.
    match unsafe { (*(*qp).context).ops.post_recv } {
        // SAFETY: the caller vouches for the arguments; the entry is the provider's own.
        Some(post) => unsafe { post(qp, wr, bad_wr) },
        None => {
            // SAFETY: the caller lets us write `bad_wr`.
            unsafe { *bad_wr = wr };
            libc::EOPNOTSUPP
        }
    }
}

/// Posts a list of work requests to a shared receive queue.
///
/// Returns 0, or an `errno` value with `*bad_wr` at the first request that was
/// not posted; those before it were.
///
/// # Safety
///
/// - `srq` is a live shared receive queue.
/// - `wr` heads a list of valid work requests that ends with a null `next`.
/// - The memory they name stays registered, and is not otherwise accessed,
///   until the request completes or the shared receive queue is destroyed.
/// - `bad_wr` may be written to.
#[inline]
pub unsafe fn ibv_post_srq_recv(
    srq: *mut ibv_srq,
    wr: *mut ibv_recv_wr,
    bad_wr: *mut *mut ibv_recv_wr,
) -> c_int {
    // SAFETY: a live shared receive queue points at its live context.
    match unsafe { (*(*srq).context).ops.post_srq_recv } {
        // SAFETY: the caller vouches for the arguments; the entry is the provider's own.
        Some(post) => unsafe { post(srq, wr, bad_wr) },
        None => {
            // SAFETY: the caller lets us write `bad_wr`.
            unsafe { *bad_wr = wr };
            libc::EOPNOTSUPP
        }
    }
}
