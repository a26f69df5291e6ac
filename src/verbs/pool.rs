//! Registered memory in slots of equal size.

use super::error::Result;
use super::memory::Registered;
use super::pd::ProtectionDomain;
use std::sync::Arc;
use verbcast_sys as sys;

/// Slots start on a cache line, so that a device writing one never touches another's line.
const SLOT_ALIGN: usize = 64;

/// One slot of a pool. Whoever has it may touch its memory; posting hands it to the device.
#[derive(Debug)]
pub struct Slot {
    pub(super) index: u32,
}

impl Slot {
    /// Its number in the pool, from 0.
    pub fn index(&self) -> u32 {
        self.index
    }
}

/// Its memory is reached only through slots, each of which exists once.
#[derive(Debug)]
pub(super) struct Inner {
    memory: Registered,
    slot_len: usize,
}

impl Inner {
    /// The scatter-gather entry for the first `len` bytes of a slot.
    pub fn sge(&self, slot: &Slot, len: usize) -> sys::ibv_sge {
        self.sge_at(slot, 0, len)
    }

    pub fn sge_at(&self, slot: &Slot, offset: usize, len: usize) -> sys::ibv_sge {
        debug_assert!(offset + len <= self.slot_len);
        self.memory.sge(slot.index as usize * self.slot_len + offset, len)
    }

    pub fn slot_len(&self) -> usize {
        self.slot_len
    }
}

/// Registered memory in slots of equal size. A clone is the same memory: who has a slot reaches its
/// bytes through any of them.
#[derive(Clone, Debug)]
pub struct Pool {
    pub(super) inner: Arc<Inner>,
    slots: u32,
}

impl Pool {
    /// Allocates and registers `slots` slots of at least `slot_len` bytes, and hands them all out.
    ///
    /// # Errors
    /// If the device refuses the memory, typically for the limit on locked memory.
    pub fn new(
        domain: &ProtectionDomain,
        slots: u32,
        slot_len: usize,
    ) -> Result<(Self, Vec<Slot>)> {
        let slot_len = slot_len.next_multiple_of(SLOT_ALIGN);
        let memory = Registered::new(domain, slots as usize * slot_len, 0)?;
        let inner = Arc::new(Inner { memory, slot_len });
        Ok((Pool { inner, slots }, (0..slots).map(|index| Slot { index }).collect()))
    }

    /// The bytes of a slot.
    pub fn bytes(&self, slot: &Slot) -> &[u8] {
        // SAFETY: the slot exists once and is lent here, so neither the device nor anybody else
        // writes to it.
        unsafe { std::slice::from_raw_parts(self.start(slot), self.inner.slot_len) }
    }

    /// The bytes of a slot, to be written.
    pub fn bytes_mut(&mut self, slot: &mut Slot) -> &mut [u8] {
        // SAFETY: the slot exists once and is lent here, so neither the device nor anybody else
        // touches it.
        unsafe { std::slice::from_raw_parts_mut(self.start(slot), self.inner.slot_len) }
    }

    /// The slot that a completed work request gives back.
    ///
    /// # Safety
    /// A slot of this index was posted, and a completion was polled since of its request, or of a send that was
    /// posted later on the same queue.
    ///
    /// # Panics
    /// If the pool has no such slot.
    pub unsafe fn reclaim(&self, index: u32) -> Slot {
        assert!(index < self.slots, "slot {index} of {}", self.slots);
        Slot { index }
    }

    fn start(&self, slot: &Slot) -> *mut u8 {
        assert!(slot.index < self.slots, "slot {} of {}", slot.index, self.slots);
        self.inner.memory.at(slot.index as usize * self.inner.slot_len, self.inner.slot_len)
    }
}
