//! Registered memory that devices read and write while the CPU may touch it too: other ranks'
//! adapters by RDMA, the own one in any number of sends at once.
//!
//! No reference to it is ever made: the CPU copies into it and reads single words. What a device
//! finds there while the CPU writes, or the CPU while a device writes, may be a mixture of old and
//! new bytes; whoever reads has to notice that by what the bytes say.

use super::error::Result;
use super::memory::Registered;
use super::pd::ProtectionDomain;
use std::sync::Arc;
use verbcast_sys as sys;

/// What other ranks may do with shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing.
    None,
    /// RDMA reads.
    Read,
    /// RDMA writes.
    Write,
}

/// A place in the memory of another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Its address there.
    pub address: u64,
    /// The key that lets requests reach it.
    pub key: u32,
}

impl Remote {
    /// The place `offset` bytes further.
    pub fn at(self, offset: usize) -> Remote {
        Remote { address: self.address.wrapping_add(offset as u64), ..self }
    }
}

/// A part of shared memory that is to be sent or written elsewhere; it keeps the memory alive.
#[derive(Clone, Debug)]
pub struct Span {
    pub(super) memory: Arc<Registered>,
    offset: usize,
    len: usize,
}

impl Span {
    /// Whether it has no bytes.
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn sge(&self) -> sys::ibv_sge {
        self.memory.sge(self.offset, self.len)
    }
}

/// Registered memory, zero at first, that devices may reach at any time.
#[derive(Debug)]
pub struct Shared {
    pub(super) memory: Arc<Registered>,
}

impl Shared {
    /// Allocates and registers at least `len` bytes.
    ///
    /// # Errors
    /// If the device refuses the memory, typically for the limit on locked memory.
    pub fn new(domain: &ProtectionDomain, len: usize, access: Access) -> Result<Self> {
        let flags = match access {
            Access::None => 0,
            Access::Read => sys::IBV_ACCESS_REMOTE_READ,
            Access::Write => sys::IBV_ACCESS_REMOTE_WRITE,
        };
        Ok(Shared { memory: Arc::new(Registered::new(domain, len, flags)?) })
    }

    /// What another rank needs to reach it.
    pub fn remote(&self) -> Remote {
        Remote { address: self.memory.at(0, 0) as u64, key: self.memory.rkey() }
    }

    /// A part of it, to be sent.
    ///
    /// # Panics
    /// If that is beyond the end.
    pub fn span(&self, offset: usize, len: usize) -> Span {
        self.memory.at(offset, len);
        Span { memory: Arc::clone(&self.memory), offset, len }
    }

    /// Copies bytes into it. A send of these bytes that is under way carries either.
    ///
    /// # Panics
    /// If that is beyond the end.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        let to = self.memory.at(offset, bytes.len());
        // SAFETY: the range was checked, no reference to this memory exists, and with `&mut self`
        // no other thread reads or writes it; devices are not part of the program.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    }

    /// Copies bytes out of it, as they are now.
    ///
    /// # Panics
    /// If that is beyond the end.
    pub fn copy(&self, offset: usize, to: &mut [u8]) {
        let from = self.memory.at(offset, to.len());
        // SAFETY: the range was checked, and while `&self` is borrowed nobody but a device writes it; what a
        // device writes meanwhile comes as a mixture, in bytes of which any are valid.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
    }

    /// The eight bytes at `offset`, as they are now.
    ///
    /// # Panics
    /// If that is beyond the end, or no multiple of eight.
    #[inline]
    pub fn read(&self, offset: usize) -> [u8; 8] {
        assert!(offset.is_multiple_of(8), "{offset} is not a multiple of eight");
        let word: *const u64 = self.memory.at(offset, 8).cast();
        // SAFETY: it is inside the allocation and aligned, since the allocation is to a page; no
        // other thread writes it meanwhile. A device may, hence volatile.
        unsafe { word.read_volatile() }.to_ne_bytes()
    }
}
