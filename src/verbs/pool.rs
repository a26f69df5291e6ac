//! Registered memory in slots of equal size.

use super::error::Result;
use super::memory::Registered;
use super::pd::ProtectionDomain;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use verbcast_sys as sys;

/// Slots start on a cache line, so that a device writing one never touches another's line.
const SLOT_ALIGN: usize = 64;

/// One slot of a pool. Whoever has it may touch its memory; posting hands it to the device.
#[derive(Debug)]
pub struct Slot {
    /// Its pool's number.
    pool: u64,
    index: u32,
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
    /// A number that no other pool of this process has or had.
    number: u64,
    memory: Registered,
    slot_len: usize,
    slots: u32,
}

impl Inner {
    /// The scatter-gather entry for the first `len` bytes of a slot.
    pub fn sge(&self, slot: &Slot, len: usize) -> sys::ibv_sge {
        self.sge_at(slot, 0, len)
    }

    /// The entry for `len` bytes of a slot from `offset` on.
    ///
    /// # Panics
    /// If the slot is another pool's, or not so long.
    #[inline]
    pub fn sge_at(&self, slot: &Slot, offset: usize, len: usize) -> sys::ibv_sge {
        let is_inside = offset <= self.slot_len && len <= self.slot_len - offset;
        assert!(is_inside, "{len} bytes from {offset} on of a slot of {}", self.slot_len);
        let addr = self.start(slot) as u64 + offset as u64;
        sys::ibv_sge { addr, length: len as u32, lkey: self.memory.lkey() }
    }

    /// Where a slot begins.
    ///
    /// # Panics
    /// If it is another pool's.
    #[inline]
    fn start(&self, slot: &Slot) -> *mut u8 {
        assert!(slot.pool == self.number, "slot {} is of another pool", slot.index);
        // SAFETY: slots have numbers below those that there are, and the memory was allocated for all of these.
        unsafe { self.memory.start().add(slot.index as usize * self.slot_len) }
    }

    pub fn slot_len(&self) -> usize {
        self.slot_len
    }
}

/// Registered memory in slots of equal size. A clone is the same memory: who has a slot reaches its
/// bytes through any of them. What borrows the bytes of a slot borrows the slot too, so not even two clones reach them at once:
///
/// ```compile_fail,E0502
/// # use verbcast_verbs::{Pool, Slot};
/// fn both<'a>(one: &'a Pool, other: &'a mut Pool, slot: &'a mut Slot) -> (&'a [u8], &'a mut [u8]) {
///     (one.bytes(slot), other.bytes_mut(slot))
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Pool {
    pub(super) inner: Arc<Inner>,
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
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let inner = Arc::new(Inner { number, memory, slot_len, slots });
        let slots = (0..slots).map(|index| Slot { pool: number, index });
        Ok((Pool { inner }, slots.collect()))
    }

    /// The bytes of a slot.
    ///
    /// # Panics
    /// If it is another pool's.
    #[inline]
    pub fn bytes<'a>(&'a self, slot: &'a Slot) -> &'a [u8] {
        // SAFETY: the slot exists once and is lent here, so neither the device nor anybody else
        // writes to it.
        unsafe { std::slice::from_raw_parts(self.inner.start(slot), self.inner.slot_len) }
    }

    /// The bytes of a slot, to be written.
    ///
    /// # Panics
    /// If it is another pool's.
    pub fn bytes_mut<'a>(&'a mut self, slot: &'a mut Slot) -> &'a mut [u8] {
        // SAFETY: the slot exists once and is lent here, so neither the device nor anybody else
        // touches it.
        unsafe { std::slice::from_raw_parts_mut(self.inner.start(slot), self.inner.slot_len) }
    }

    /// The slot that a completed work request gives back.
    ///
    /// # Safety
    /// A slot of this index was posted, and a completion was polled since of its request, or of a send that was
    /// posted later on the same queue.
    ///
    /// # Panics
    /// If the pool has no such slot.
    #[inline]
    pub unsafe fn reclaim(&self, index: u32) -> Slot {
        let Inner { number: pool, slots, .. } = *self.inner;
        assert!(index < slots, "slot {index} of {slots}");
        Slot { pool, index }
    }
}
