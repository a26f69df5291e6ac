//! Registration of memory with a device.

use super::error::{Error, Result, check};
use super::pd::{self, ProtectionDomain};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};
use verbcast_sys as sys;

/// Leave for a device to reach memory, until it is revoked or dropped.
#[derive(Debug)]
pub(super) struct Mr {
    /// Null once it was revoked.
    ptr: AtomicPtr<sys::ibv_mr>,
    pub lkey: u32,
    pub rkey: u32,
    pd: Arc<pd::Inner>,
}

impl Mr {
    /// Registers `len` bytes. The own device may always write; `access` says what others may.
    ///
    /// # Errors
    /// If the device refuses the memory, typically for the limit on locked memory.
    ///
    /// # Safety
    /// The memory stays allocated until the registration is revoked or dropped.
    pub unsafe fn new(
        domain: &ProtectionDomain,
        memory: NonNull<u8>,
        len: usize,
        access: sys::ibv_access_flags,
    ) -> Result<Self> {
        let pd = Arc::clone(&domain.inner);
        let access = (sys::IBV_ACCESS_LOCAL_WRITE | access) as i32;
        // SAFETY: the domain is live; for the memory, the caller promises it.
        let mr = unsafe { sys::ibv_reg_mr(pd.ptr.as_ptr(), memory.as_ptr().cast(), len, access) };
        let Some(mr) = NonNull::new(mr) else {
            let error = Error::last("ibv_reg_mr", format!("{} ({len} bytes)", pd.context.name));
            return Err(explain(error));
        };
        // SAFETY: the MR is live.
        let (lkey, rkey) = unsafe { ((*mr.as_ptr()).lkey, (*mr.as_ptr()).rkey) };
        Ok(Mr { ptr: AtomicPtr::new(mr.as_ptr()), lkey, rkey, pd })
    }

    /// Whether it belongs to a domain.
    pub fn is_of(&self, domain: &Arc<pd::Inner>) -> bool {
        Arc::ptr_eq(&self.pd, domain)
    }

    /// Whether requests may still name it.
    pub fn is_live(&self) -> bool {
        !self.ptr.load(Ordering::Acquire).is_null()
    }

    /// Ends the device's leave: when it returns, no request touches the memory any more, not even one
    /// that was posted before; such a request fails. Does nothing when repeated.
    ///
    /// # Errors
    /// If the device refuses; then it may go on to touch the memory.
    pub fn revoke(&self) -> Result<()> {
        match NonNull::new(self.ptr.swap(ptr::null_mut(), Ordering::AcqRel)) {
            // SAFETY: the MR was live, and nobody else gets the pointer any more.
            Some(mr) => check("ibv_dereg_mr", &self.pd.context.name, unsafe {
                sys::ibv_dereg_mr(mr.as_ptr())
            }),
            None => Ok(()),
        }
    }
}

impl Drop for Mr {
    fn drop(&mut self) {
        super::log_failure(self.revoke());
    }
}

fn explain(error: Error) -> Error {
    if error.errno() != libc::ENOMEM && error.errno() != libc::EPERM {
        return error;
    }
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    let limit = limit.map_or("unlimited".to_owned(), |bytes| format!("{bytes} bytes"));
    error.with_hint(format!(
        "the limit on locked memory (RLIMIT_MEMLOCK, `ulimit -l`) is {limit}; raise it, or lower \
         VERBCAST_RECEIVE_DEPTH"
    ))
}
