//! Memory of a message, which verbcast uses for one operation and then gives back.
//!
//! # Who may touch it when
//! From [`Lease::register`] or [`Anchor::lease`] to [`Lease::end`] the owner leaves the memory alone,
//! and the CPU reaches it through the lease only, by raw pointers: no reference to it outlives a
//! step. A range that the device may write is not read or written by the CPU until the request has
//! completed. The end is a fence: memory that was registered for the lease is deregistered, after
//! which no request reaches it, whatever is still posted; memory whose registration goes on is
//! deregistered too if a request is under way. What other ranks may write has a registration of its own, which always ends
//! with the lease.

use super::block::Anchor;
use super::error::{Error, Result};
use super::fork::{ForkSafety, fork_safety};
use super::mr::Mr;
use super::pd::ProtectionDomain;
use super::shared::Remote;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use verbcast_sys as sys;

/// Memory of somebody else that a device may reach until the lease ends.
#[derive(Debug)]
pub struct Lease {
    start: NonNull<u8>,
    len: usize,
    mr: Arc<Mr>,
    /// The registration outlives the lease.
    is_kept: bool,
    is_open: AtomicBool,
    /// The registration with which others write into the memory, apart from the own device's: it never outlives the lease.
    exposed: OnceLock<Mr>,
    /// Requests with this memory that have begun and not completed.
    requests: AtomicU32,
}

// SAFETY: the memory is reached only through raw pointers, under the promises of the unsafe methods.
unsafe impl Send for Lease {}
// SAFETY: as above.
unsafe impl Sync for Lease {}

impl Lease {
    /// Registers memory for as long as the lease lasts.
    ///
    /// # Errors
    /// If the device refuses the memory, typically for the limit on locked memory; or if the device would lose it
    /// when the process [forks](fork_safety), which a program may do at any time.
    ///
    /// # Safety
    /// Until [`end`](Self::end) has returned, the memory stays allocated, and nobody touches it but
    /// through the lease.
    pub unsafe fn register(domain: &ProtectionDomain, memory: NonNull<[u8]>) -> Result<Self> {
        if fork_safety() == ForkSafety::None {
            let object = format!("memory of the program ({} bytes)", memory.len());
            return Err(Error::new("a registration that lasts", object, libc::EOPNOTSUPP)
                .with_hint("a fork would take it from the device; ibv_fork_init prevents that"));
        }
        // SAFETY: it stays allocated as long, as the caller promises.
        let mr = unsafe { Mr::new(domain, memory.cast(), memory.len(), 0) }?;
        Ok(Self::new(memory, Arc::new(mr), false))
    }

    /// Memory inside a block, which stays registered.
    ///
    /// # Safety
    /// As [`register`](Self::register).
    pub(super) unsafe fn of_anchor(anchor: &Anchor, memory: NonNull<[u8]>) -> Self {
        Self::new(memory, Arc::clone(anchor.mr()), true)
    }

    fn new(memory: NonNull<[u8]>, mr: Arc<Mr>, is_kept: bool) -> Self {
        let (start, len) = (memory.cast(), memory.len());
        let (is_open, requests) = (AtomicBool::new(true), AtomicU32::new(0));
        Lease { start, len, mr, is_kept, is_open, exposed: OnceLock::new(), requests }
    }

    /// Whether the memory was not given back yet.
    pub fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// Requests with this memory that have begun and not completed.
    pub fn requests(&self) -> u32 {
        self.requests.load(Ordering::Acquire)
    }

    /// A request with this memory has completed.
    ///
    /// # Safety
    /// Its completion was polled, and this is the first time that it is told.
    pub unsafe fn completed(&self) {
        let before = self.requests.fetch_sub(1, Ordering::AcqRel);
        debug_assert!(before > 0, "more completions than requests");
    }

    /// Lets other ranks write into the memory until the lease ends, and says where it is. Whoever does so after that loses
    /// the connection.
    ///
    /// # Errors
    /// If the device refuses, or the lease has ended.
    pub fn expose(&self, domain: &ProtectionDomain) -> Result<Remote> {
        let address = self.at(0..0) as u64;
        if let Some(mr) = self.exposed.get() {
            return Ok(Remote { address, key: mr.rkey });
        }
        let access = sys::IBV_ACCESS_REMOTE_WRITE;
        // SAFETY: the memory stays allocated until the lease ends, and that revokes the registration. The CPU does not touch
        // what others write, as it leaves alone what the own device does.
        let mr = unsafe { Mr::new(domain, self.start, self.len, access) }?;
        Ok(Remote { address, key: self.exposed.get_or_init(|| mr).rkey })
    }

    /// Whether others may write into the memory.
    pub fn is_exposed(&self) -> bool {
        self.is_open() && self.exposed.get().is_some()
    }

    /// Gives the memory back. From now on nothing reaches it.
    pub fn end(&self) {
        if !self.is_open.swap(false, Ordering::AcqRel) {
            return;
        }
        let exposed = self.exposed.get().map_or(Ok(()), Mr::revoke);
        let own = match self.is_kept && self.requests() == 0 {
            true => Ok(()),
            false => self.mr.revoke(),
        };
        if let Err(error) = exposed.and(own) {
            // The owner would share its memory with a device that nobody rules any more.
            // The process ends here, whether anybody listens to what is traced or not.
            eprintln!("verbcast: memory of the program cannot be taken from the device: {error}");
            std::process::abort();
        }
    }

    /// A part of the memory, to be read by the CPU.
    ///
    /// # Panics
    /// If the lease has ended, or that is beyond the end.
    ///
    /// # Safety
    /// While the bytes are borrowed the lease does not end, no request that may write them is
    /// under way, and nobody calls [`write`](Self::write) for them.
    pub unsafe fn bytes(&self, range: Range<usize>) -> &[u8] {
        let len = range.len();
        // SAFETY: inside the memory, which the lease holds; the rest is the caller's promise.
        unsafe { std::slice::from_raw_parts(self.at(range), len) }
    }

    /// Writes a part of the memory.
    ///
    /// # Panics
    /// If the lease has ended, or that is beyond the end.
    ///
    /// # Safety
    /// The lease does not end meanwhile, no request with these bytes is under way, and none of them are
    /// borrowed.
    pub unsafe fn write(&self, start: usize, bytes: &[u8]) {
        let to = self.at(start..start + bytes.len());
        // SAFETY: as above; `bytes` is not inside the memory, since nobody has a reference to that.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    }

    /// Has a part of the memory written by `fill`, which is given it.
    ///
    /// # Panics
    /// If the lease has ended, or that is beyond the end.
    ///
    /// # Safety
    /// As [`write`](Self::write), until `fill` returns; and that calls nothing of this lease.
    pub unsafe fn fill<R>(&self, range: Range<usize>, fill: impl FnOnce(&mut [u8]) -> R) -> R {
        let len = range.len();
        // SAFETY: inside the memory, which the lease holds; the rest is the caller's promise.
        fill(unsafe { std::slice::from_raw_parts_mut(self.at(range), len) })
    }

    fn at(&self, range: Range<usize>) -> *mut u8 {
        assert!(self.is_open.load(Ordering::Acquire), "the memory was given back");
        let inside = range.start <= range.end && range.end <= self.len;
        assert!(inside, "bytes {range:?} of {}", self.len);
        // SAFETY: it lies inside the memory.
        unsafe { self.start.as_ptr().add(range.start) }
    }

    /// The scatter-gather entry for a part of the memory in a request that begins now.
    ///
    /// # Errors
    /// If the lease has ended.
    ///
    /// # Panics
    /// If that is beyond the end.
    pub(super) fn begin(&self, range: Range<usize>) -> Result<sys::ibv_sge> {
        if !self.is_open.load(Ordering::Acquire) || !self.mr.is_live() {
            let object = format!("memory of {} bytes that was given back", self.len);
            return Err(Error::new("a request", object, libc::EINVAL));
        }
        let length = range.len() as u32;
        let addr = self.at(range) as u64;
        self.requests.fetch_add(1, Ordering::AcqRel);
        Ok(sys::ibv_sge { addr, length, lkey: self.mr.lkey })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.end();
    }
}
