//! Memory that a device may reach.

use super::error::{Error, Result};
use super::fork::{ForkSafety, fork_safety, keep_from_children};
use super::mr::Mr;
use super::pd::ProtectionDomain;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;
use verbcast_sys as sys;

/// Bytes of a page of this system: 4096, or up to 65536 on aarch64.
pub fn page_size() -> usize {
    rustix::param::page_size()
}

/// Whole pages of registered memory, zero at first. Who wraps it decides who may touch what when.
#[derive(Debug)]
pub(super) struct Registered {
    memory: NonNull<u8>,
    layout: Layout,
    pub mr: Arc<Mr>,
    is_kept_from_children: bool,
}

// SAFETY: the fields never change, and the memory is reached only through raw pointers, by wrappers
// that rule out conflicting accesses.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

impl Drop for Registered {
    fn drop(&mut self) {
        // Memory that the device may still reach is better lost than given to somebody else.
        match self.mr.revoke() {
            // SAFETY: allocated in `new` with the same layout, in whole pages, and the device is done with it.
            Ok(()) => unsafe {
                if self.is_kept_from_children {
                    keep_from_children(self.memory, self.layout.size(), false);
                }
                dealloc(self.memory.as_ptr(), self.layout);
            },
            Err(error) => super::log_failure(Err(error)),
        }
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
        let page = page_size();
        let len = len.checked_next_multiple_of(page).unwrap_or(usize::MAX).max(page);
        let out_of_memory = || Error::new("allocation", format!("{len} bytes"), libc::ENOMEM);
        let layout = Layout::from_size_align(len, page).map_err(|_| out_of_memory())?;
        // SAFETY: the layout has a size above zero.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(out_of_memory)?;
        let is_kept_from_children = fork_safety() == ForkSafety::None;
        // SAFETY: the memory is ours, in whole pages, and is freed only after the registration is revoked.
        unsafe {
            match Mr::new(domain, memory, len, access) {
                Ok(mr) => {
                    if is_kept_from_children {
                        keep_from_children(memory, len, true);
                    }
                    Ok(Registered { memory, layout, mr: Arc::new(mr), is_kept_from_children })
                }
                Err(error) => {
                    dealloc(memory.as_ptr(), layout);
                    Err(error)
                }
            }
        }
    }

    /// Bytes in all.
    #[inline]
    pub fn len(&self) -> usize {
        self.layout.size()
    }

    /// Its first byte.
    #[inline]
    pub fn start(&self) -> *mut u8 {
        self.memory.as_ptr()
    }

    /// The byte at `offset`, of which at least `len` follow.
    ///
    /// # Panics
    /// If that is beyond the end.
    #[inline]
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
    #[inline]
    pub fn sge(&self, offset: usize, len: usize) -> sys::ibv_sge {
        sys::ibv_sge { addr: self.at(offset, len) as u64, length: len as u32, lkey: self.lkey() }
    }

    /// The key for requests of its own process.
    #[inline]
    pub fn lkey(&self) -> u32 {
        self.mr.lkey
    }

    /// The key for other ranks' requests.
    pub fn rkey(&self) -> u32 {
        self.mr.rkey
    }
}
