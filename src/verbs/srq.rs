//! Receive queues that several queue pairs share.

use super::batch::{Batch, Request};
use super::error::{Error, Result, check};
use super::pd::{self, ProtectionDomain};
use super::pool::{self, Pool, Slot};
use std::ptr::NonNull;
use std::sync::Arc;
use verbcast_sys as sys;

#[derive(Debug)]
pub(super) struct Inner {
    pub ptr: NonNull<sys::ibv_srq>,
    pool: Arc<pool::Inner>,
    pd: Arc<pd::Inner>,
}

// SAFETY: verbs on a shared receive queue are thread-safe.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: queue pairs that receive here hold this `Inner`.
        let answer = unsafe { sys::ibv_destroy_srq(self.ptr.as_ptr()) };
        super::log_failure(check("ibv_destroy_srq", &self.pd.context.name, answer));
    }
}

/// A receive queue that several queue pairs share, so that memory does not grow with them.
#[derive(Debug)]
pub struct SharedReceiveQueue {
    pub(super) inner: Arc<Inner>,
    waiting: Box<Batch<sys::ibv_recv_wr>>,
}

impl SharedReceiveQueue {
    /// Makes a queue for `depth` receives into slots of `pool`.
    ///
    /// # Errors
    /// If the device cannot.
    pub fn new(domain: &ProtectionDomain, pool: &Pool, depth: u32) -> Result<Self> {
        let pd = Arc::clone(&domain.inner);
        let mut init = sys::ibv_srq_init_attr {
            srq_context: std::ptr::null_mut(),
            attr: sys::ibv_srq_attr { max_wr: depth, max_sge: 1, srq_limit: 0 },
        };
        // SAFETY: the domain is live and `init` valid.
        let ptr = unsafe { sys::ibv_create_srq(pd.ptr.as_ptr(), &mut init) };
        let ptr = NonNull::new(ptr).ok_or_else(|| {
            Error::last("ibv_create_srq", format!("{} ({depth} entries)", pd.context.name))
        })?;
        let pool = Arc::clone(&pool.inner);
        let inner = Arc::new(Inner { ptr, pool, pd });
        Ok(SharedReceiveQueue { inner, waiting: Batch::new() })
    }

    /// Gives a slot to receive into, which the device gets by [`submit`](Self::submit), at the latest
    /// with [`MAX_TOGETHER`](super::MAX_TOGETHER).
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    pub fn post(&mut self, slot: Slot, id: u64) -> Result<()> {
        let part = self.inner.pool.sge(&slot, self.inner.pool.slot_len());
        self.waiting.push(Request::new(id), &[part], ());
        if self.waiting.is_full() { self.submit() } else { Ok(()) }
    }

    /// Hands the receives that wait to the device.
    ///
    /// # Errors
    /// If the queue is full; it is unusable.
    #[inline]
    pub fn submit(&mut self) -> Result<()> {
        if self.waiting.is_empty() { Ok(()) } else { self.hand_over() }
    }

    fn hand_over(&mut self) -> Result<()> {
        let mut bad = std::ptr::null_mut();
        // SAFETY: the slots were handed over, and their pool outlives the queue.
        let answer = unsafe {
            let first = self.waiting.link();
            sys::inline::ibv_post_srq_recv(self.inner.ptr.as_ptr(), first, &mut bad)
        };
        self.waiting.clear();
        check("ibv_post_srq_recv", &self.inner.pd.context.name, answer)
    }
}
