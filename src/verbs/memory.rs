//! Memory that a device may reach.

use super::error::{Error, Result, check};
use super::pd::{self, ProtectionDomain};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;
use verbcast_sys as sys;

const PAGE: usize = 4096;

/// Whole pages of registered memory, zero at first. Who wraps it decides who may touch what when.
#[derive(Debug)]
pub(super) struct Registered {
    memory: NonNull<u8>,
    layout: Layout,
    mr: NonNull<sys::ibv_mr>,
    pd: Arc<pd::Inner>,
}

// SAFETY: the fields never change, and the memory is reached only through raw pointers, by wrappers
// that rule out conflicting accesses.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: queues that post requests with this memory hold it, so the device is done with it.
        let answer = unsafe { sys::ibv_dereg_mr(self.mr.as_ptr()) };
        super::log_failure(check("ibv_dereg_mr", &self.pd.context.name, answer));
        // SAFETY: allocated in `new` with the same layout.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

impl Registered {
    /// Allocates and registers at least `len` bytes. The own device may always write; `access` says
    /// what others may.
    ///
    /// # Errors
    /// If the device refuses the memory, typically for the limit on locked memory.
    pub fn new(
        domain: &ProtectionDomain,
        len: usize,
        access: sys::ibv_access_flags,
    ) -> Result<Self> {
        let pd = Arc::clone(&domain.inner);
        let len = len.next_multiple_of(PAGE).max(PAGE);
        let out_of_memory = || Error::new("allocation", format!("{len} bytes"), libc::ENOMEM);
        let layout = Layout::from_size_align(len, PAGE).map_err(|_| out_of_memory())?;
        // SAFETY: the layout has a size above zero.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(out_of_memory)?;
        // SAFETY: the memory is ours, and is freed only after it is deregistered.
        let mr = unsafe {
            let access = (sys::IBV_ACCESS_LOCAL_WRITE | access) as i32;
            sys::ibv_reg_mr(pd.ptr.as_ptr(), memory.as_ptr().cast(), len, access)
        };
        let Some(mr) = NonNull::new(mr) else {
            let error = Error::last("ibv_reg_mr", format!("{} ({len} bytes)", pd.context.name));
            // SAFETY: allocated above with this layout.
            unsafe { dealloc(memory.as_ptr(), layout) };
            return Err(explain(error));
        };
        Ok(Registered { memory, layout, mr, pd })
    }

    /// Bytes in all.
    pub fn len(&self) -> usize {
        self.layout.size()
    }

    /// The byte at `offset`, of which at least `len` follow.
    ///
    /// # Panics
    /// If that is beyond the end.
    pub fn at(&self, offset: usize, len: usize) -> *mut u8 {
        let inside = offset.checked_add(len).is_some_and(|end| end <= self.len());
        assert!(inside, "{len} bytes at {offset} of {}", self.len());
        // SAFETY: it lies inside the allocation.
        unsafe { self.memory.as_ptr().add(offset) }
    }

    /// The scatter-gather entry for `len` bytes at `offset`.
    ///
    /// # Panics
    /// If that is beyond the end.
    pub fn sge(&self, offset: usize, len: usize) -> sys::ibv_sge {
        // SAFETY: the MR is live.
        let lkey = unsafe { (*self.mr.as_ptr()).lkey };
        sys::ibv_sge { addr: self.at(offset, len) as u64, length: len as u32, lkey }
    }

    /// The key for other ranks' requests.
    pub fn rkey(&self) -> u32 {
        // SAFETY: the MR is live.
        unsafe { (*self.mr.as_ptr()).rkey }
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
