//! Protection domains.

use super::context::{self, Context};
use super::error::{Error, Result, check};
use std::ptr::NonNull;
use std::sync::Arc;
use verbcast_sys as sys;

#[derive(Debug)]
pub(super) struct Inner {
    pub ptr: NonNull<sys::ibv_pd>,
    pub context: Arc<context::Inner>,
}

// SAFETY: verbs on a protection domain are thread-safe.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: everything made in the domain holds this `Inner`, so it is empty now.
        let answer = unsafe { sys::ibv_dealloc_pd(self.ptr.as_ptr()) };
        super::log_failure(check("ibv_dealloc_pd", &self.context.name, answer));
    }
}

/// What memory, queues and address handles must share to be used together. A clone is the same domain.
#[derive(Clone, Debug)]
pub struct ProtectionDomain {
    pub(super) inner: Arc<Inner>,
}

impl ProtectionDomain {
    /// Allocates a domain.
    ///
    /// # Errors
    /// If the device has no more.
    pub fn new(context: &Context) -> Result<Self> {
        let context = Arc::clone(&context.inner);
        // SAFETY: the context is live.
        let ptr = unsafe { sys::ibv_alloc_pd(context.ptr.as_ptr()) };
        let ptr = NonNull::new(ptr).ok_or_else(|| Error::last("ibv_alloc_pd", &*context.name))?;
        Ok(ProtectionDomain { inner: Arc::new(Inner { ptr, context }) })
    }
}
