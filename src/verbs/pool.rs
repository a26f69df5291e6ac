//! Registered memory in slots of equal size.

use super::error::{Error, Result, check};
use super::pd::{self, ProtectionDomain};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;
use verbcast_sys as sys;

const PAGE: usize = 4096;
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

#[derive(Debug)]
pub(super) struct Inner {
    memory: NonNull<u8>,
    layout: Layout,
    slot_len: usize,
    mr: NonNull<sys::ibv_mr>,
    pd: Arc<pd::Inner>,
}

// SAFETY: the memory is reached only through slots, each of which exists once.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: queues that post from the pool hold this `Inner`, so the device is done with it.
        let answer = unsafe { sys::ibv_dereg_mr(self.mr.as_ptr()) };
        super::log_failure(check("ibv_dereg_mr", &self.pd.context.name, answer));
        // SAFETY: allocated in `Pool::new` with the same layout.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

impl Inner {
    /// The scatter-gather entry for the first `len` bytes of a slot.
    pub fn sge(&self, slot: &Slot, len: usize) -> sys::ibv_sge {
        debug_assert!(len <= self.slot_len);
        // SAFETY: slots lie inside the allocation; the MR is live.
        let (addr, lkey) = unsafe {
            let addr = self.memory.as_ptr().add(slot.index as usize * self.slot_len);
            (addr as u64, (*self.mr.as_ptr()).lkey)
        };
        sys::ibv_sge { addr, length: len as u32, lkey }
    }

    pub fn slot_len(&self) -> usize {
        self.slot_len
    }
}

/// Registered memory in slots of equal size.
#[derive(Debug)]
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
        let pd = Arc::clone(&domain.inner);
        let slot_len = slot_len.next_multiple_of(SLOT_ALIGN);
        let len = (slots as usize * slot_len).next_multiple_of(PAGE).max(PAGE);
        let out_of_memory = || Error::new("allocation", format!("{len} bytes"), libc::ENOMEM);
        let layout = Layout::from_size_align(len, PAGE).map_err(|_| out_of_memory())?;
        // SAFETY: the layout has a size above zero.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(out_of_memory)?;
        // SAFETY: the memory is ours, and is freed only after it is deregistered.
        let mr = unsafe {
            let access = sys::IBV_ACCESS_LOCAL_WRITE as i32;
            sys::ibv_reg_mr(pd.ptr.as_ptr(), memory.as_ptr().cast(), len, access)
        };
        let Some(mr) = NonNull::new(mr) else {
            let error = Error::last("ibv_reg_mr", format!("{} ({len} bytes)", pd.context.name));
            // SAFETY: allocated above with this layout.
            unsafe { dealloc(memory.as_ptr(), layout) };
            return Err(explain(error));
        };
        let inner = Arc::new(Inner { memory, layout, slot_len, mr, pd });
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
    /// A slot of this index was posted, and a completion of its request was polled since.
    ///
    /// # Panics
    /// If the pool has no such slot.
    pub unsafe fn reclaim(&self, index: u32) -> Slot {
        assert!(index < self.slots, "slot {index} of {}", self.slots);
        Slot { index }
    }

    fn start(&self, slot: &Slot) -> *mut u8 {
        assert!(slot.index < self.slots, "slot {} of {}", slot.index, self.slots);
        // SAFETY: the slot lies inside the allocation.
        unsafe { self.inner.memory.as_ptr().add(slot.index as usize * self.inner.slot_len) }
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
