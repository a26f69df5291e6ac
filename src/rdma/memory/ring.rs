//! The ring of retained packets, from which this rank sends without a copy and others read.
//!
//! A slot may be in any number of sends at once, which are counted: the CPU replaces its packet only
//! when there are none. Another rank may read a slot just when it is replaced, so the former header is taken away
//! before, and the new one is put there last: a payload is that of a header which is there before and after it is read.

use std::sync::atomic::{Ordering, fence};
use verbcast_core::wire::{Compact, HEADER_LEN};
use verbcast_verbs::{Access, MAX_INLINE, ProtectionDomain, Remote, Result, Shared, Span};

/// The ring of this rank.
#[derive(Debug)]
pub struct Ring {
    memory: Shared,
    stride: usize,
    slots: Vec<Retained>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Retained {
    /// Length of the packet; 0 for none.
    len: usize,
    /// What stands for its header in a datagram, if its payload fills one.
    compact: Option<Compact>,
    /// Sends of it that are posted or wait for a handshake.
    under_way: u32,
}

impl Ring {
    pub fn new(domain: &ProtectionDomain, depth: u32, slot_len: usize) -> Result<Self> {
        let stride = stride(slot_len);
        let memory = Shared::new(domain, depth as usize * stride, Access::Read)?;
        Ok(Ring { memory, stride, slots: vec![Retained::default(); depth as usize] })
    }

    /// Bytes from one slot to the next.
    pub fn slot_len(&self) -> usize {
        self.stride
    }

    /// Its slots, of which a communicator uses as many as all its ranks have.
    pub fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Its memory, for other ranks.
    pub fn remote(&self) -> Remote {
        self.memory.remote()
    }

    /// A part of its memory, which keeps it registered.
    pub fn keep(&self) -> Span {
        self.memory.span(0, 0)
    }

    pub fn is_idle(&self, slot: u32) -> bool {
        self.slots[slot as usize].under_way == 0
    }

    /// Replaces a slot's packet. A payload that fills a datagram has a compact header besides.
    ///
    /// # Panics
    /// If a send of it is under way, or the packet is too long.
    pub fn retain(
        &mut self,
        slot: u32,
        header: &[u8; HEADER_LEN],
        payload: &[u8],
        compact: Option<Compact>,
    ) {
        let len = HEADER_LEN + payload.len();
        assert!(self.is_idle(slot), "slot {slot} is being sent");
        assert!(len <= self.stride, "a packet of {len} bytes is longer than {}", self.stride);
        let start = slot as usize * self.stride;
        self.memory.write(start, &[0; size_of::<u64>()]);
        // The adapter sees what is written in this order.
        fence(Ordering::Release);
        self.memory.write(start + HEADER_LEN, payload);
        fence(Ordering::Release);
        self.memory.write(start, header);
        let retained = &mut self.slots[slot as usize];
        (retained.len, retained.compact) = (len, compact);
    }

    /// What stands for the header of a slot's packet in a datagram, if its payload fills one.
    pub fn compact(&self, slot: u32) -> Option<Compact> {
        self.slots[slot as usize].compact
    }

    /// The packet of a slot in two parts, if it fits into the buffer: it is sent inline from there.
    ///
    /// # Panics
    /// If nothing was retained there.
    pub fn copy_short<'a>(
        &self,
        slot: u32,
        buffer: &'a mut [u8; MAX_INLINE],
    ) -> Option<(&'a [u8; HEADER_LEN], &'a [u8])> {
        let len = self.slots[slot as usize].len;
        assert!(len > 0, "nothing was retained in slot {slot}");
        let packet = buffer.get_mut(..len)?;
        self.memory.copy(slot as usize * self.stride, packet);
        packet.split_first_chunk()
    }

    /// Copies the packet of a slot, to where nothing else is kept.
    ///
    /// # Panics
    /// If nothing was retained there.
    pub fn copy(&self, slot: u32, packet: &mut Vec<u8>) {
        let len = self.slots[slot as usize].len;
        assert!(len > 0, "nothing was retained in slot {slot}");
        packet.resize(len, 0);
        self.memory.copy(slot as usize * self.stride, packet);
    }

    /// The packet of a slot, for one send that begins now.
    ///
    /// # Panics
    /// If nothing was retained there.
    pub fn begin(&mut self, slot: u32) -> Span {
        let retained = &mut self.slots[slot as usize];
        assert!(retained.len > 0, "nothing was retained in slot {slot}");
        retained.under_way += 1;
        self.memory.span(slot as usize * self.stride, retained.len)
    }

    /// A send of a slot's packet has ended.
    pub fn end(&mut self, slot: u32) {
        self.slots[slot as usize].under_way -= 1;
    }
}

/// From one slot to the next in a ring whose slots take so many bytes: on cache lines, so that the CPU writing one slot leaves
/// the lines of the next alone.
pub fn stride(slot_len: usize) -> usize {
    slot_len.next_multiple_of(64)
}
