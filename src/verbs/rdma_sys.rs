//! For programs that open their devices through the crate `rdma-sys`.

use super::Context;
use std::ptr::NonNull;

impl Context {
    /// Uses a context that the program has opened through `rdma-sys`, and will close.
    ///
    /// # Safety
    /// `ptr` is a live context and stays open while this value, or anything made from it, lives.
    pub unsafe fn from_rdma_sys(ptr: NonNull<rdma_sys::ibv_context>) -> Self {
        // SAFETY: both crates bind the same C type of the same library; the caller promises the
        // rest.
        unsafe { Context::from_raw(ptr.cast()) }
    }
}
