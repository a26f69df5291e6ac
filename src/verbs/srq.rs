//! Receive queues that several queue pairs share.

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
        Ok(SharedReceiveQueue { inner: Arc::new(Inner { ptr, pool, pd }) })
    }

    /// Gives a slot to receive into.
    ///
    /// # Errors
    /// If the queue is full.
    pub fn post(&mut self, slot: Slot, id: u64) -> Result<()> {
        let mut sge = self.inner.pool.sge(&slot, self.inner.pool.slot_len());
        let mut request = sys::ibv_recv_wr {
            wr_id: id,
            next: std::ptr::null_mut(),
            sg_list: &mut sge,
            num_sge: 1,
        };
        let mut bad = std::ptr::null_mut();
        // SAFETY: the slot was handed over, and its pool outlives the queue.
        let answer = unsafe {
            sys::inline::ibv_post_srq_recv(self.inner.ptr.as_ptr(), &mut request, &mut bad)
        };
        check("ibv_post_srq_recv", &self.inner.pd.context.name, answer)
    }
}
