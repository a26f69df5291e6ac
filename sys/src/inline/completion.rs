//! Polling and arming completion queues: calls through the context's
//! operations table.

use core::ffi::c_int;

use crate::{ibv_cq, ibv_wc};

/// Takes up to `num_entries` completions off a queue.
///
/// Returns how many were written to `wc`, or a negative number on failure.
/// Fewer than `num_entries` means the queue was emptied.
///
/// # Safety
///
/// - `cq` is a live completion queue.
/// - `wc` has room for `num_entries` completions.
#[inline]
pub unsafe fn ibv_poll_cq(cq: *mut ibv_cq, num_entries: c_int, wc: *mut ibv_wc) -> c_int {
    // SAFETY: a live completion queue points at its live context.
    match unsafe { (*(*cq).context).ops.poll_cq } {
        // SAFETY: the caller vouches for the arguments; the entry is the provider's own.
        Some(poll) => unsafe { poll(cq, num_entries, wc) },
        None => -libc::EOPNOTSUPP,
    }
}

/// Asks for one event on the queue's completion channel when the next
/// completion arrives; with `solicited_only` not 0, when the next solicited or
/// failed one does.
///
/// Returns 0 or an `errno` value.
///
/// # Safety
///
/// `cq` is a live completion queue that was created with a channel.
#[inline]
pub unsafe fn ibv_req_notify_cq(cq: *mut ibv_cq, solicited_only: c_int) -> c_int {
    // SAFETY: a live completion queue points at its live context.
    match unsafe { (*(*cq).context).ops.req_notify_cq } {
        // SAFETY: the caller vouches for the arguments; the entry is the provider's own.
        Some(arm) => unsafe { arm(cq, solicited_only) },
        None => libc::EOPNOTSUPP,
    }
}
