//! Registered memory for messages, which its users read and write as any other.

use super::error::Result;
use super::lease::Lease;
use super::memory::Registered;
use super::mr::Mr;
use super::pd::ProtectionDomain;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

/// Keeps memory registered, while it is a [`Block`] of somebody and afterwards.
#[derive(Debug)]
pub struct Anchor {
    memory: Arc<Registered>,
}

/// Registered memory that belongs to its holder.
#[derive(Debug)]
pub struct Block {
    /// At most one block of it exists.
    memory: Arc<Registered>,
    len: usize,
}

impl Anchor {
    /// Allocates and registers at least `len` bytes.
    ///
    /// # Errors
    /// If the device refuses the memory, typically for the limit on locked memory.
    pub fn new(domain: &ProtectionDomain, len: usize) -> Result<Self> {
        Ok(Anchor { memory: Arc::new(Registered::new(domain, len, 0)?) })
    }

    /// Bytes in all.
    pub fn capacity(&self) -> usize {
        self.memory.len()
    }

    /// Its first byte's address.
    pub fn address(&self) -> usize {
        self.memory.at(0, 0) as usize
    }

    /// Whether nobody has its block.
    pub fn is_free(&self) -> bool {
        Arc::strong_count(&self.memory) == 1
    }

    /// Whether the device may still reach it.
    pub fn is_live(&self) -> bool {
        self.memory.mr.is_live()
    }

    /// The first `len` bytes, unless somebody has them or there are not as many.
    pub fn block(&mut self, len: usize) -> Option<Block> {
        Arc::get_mut(&mut self.memory).filter(|memory| len <= memory.len())?;
        Some(Block { memory: Arc::clone(&self.memory), len })
    }

    /// A lease of memory inside the block; `None` where it is not, or the device may not reach it.
    ///
    /// # Safety
    /// As [`Lease::register`].
    pub unsafe fn lease(&self, memory: NonNull<[u8]>) -> Option<Lease> {
        let offset = (memory.cast::<u8>().as_ptr() as usize).checked_sub(self.address())?;
        let end = offset.checked_add(memory.len())?;
        // SAFETY: promised by the caller.
        let lease = || unsafe { Lease::of_anchor(self, memory) };
        (end <= self.capacity() && self.is_live()).then(lease)
    }

    pub(super) fn mr(&self) -> &Arc<Mr> {
        &self.memory.mr
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the memory lives as long as the block, which is the only one of it. Leases of it
        // are made from references that this one excludes, and end before those do.
        unsafe { std::slice::from_raw_parts(self.memory.at(0, self.len), self.len) }
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and nobody else has it.
        unsafe { std::slice::from_raw_parts_mut(self.memory.at(0, self.len), self.len) }
    }
}
