//! The ring of retained packets, from which this rank sends without a copy and others read.
//!
//! A slot may be in any number of sends at once, which are counted: the CPU replaces its packet only
//! when there are none. Copies of all headers stand together in front of the slots, so that one read looks at many. Another
//! rank may read a slot just when it is replaced, so the copy of the former header is taken away before, and that of the new one
//! is put there last: a payload is that of a header which is there before and after it is read.
//!
//! The copies are in the reverse order of the slots: where they are follows from where the slots begin, whatever their number.

use crate::rdma::settings::{headers_len, stride};
use std::ops::Range;
use std::sync::atomic::{Ordering, fence};
use verbcast_core::wire::{Compact, HEADER_LEN};
use verbcast_verbs::{Access, MAX_INLINE, ProtectionDomain, Remote, Result, Shared, Span};

/// The ring of this rank.
#[derive(Debug)]
pub struct Ring {
    memory: Shared,
    /// Where the first slot begins.
    front: usize,
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
        let (front, stride) = (headers_len(depth), stride(slot_len));
        let memory = Shared::new(domain, front + depth as usize * stride, Access::Read)?;
        Ok(Ring { memory, front, stride, slots: vec![Retained::default(); depth as usize] })
    }

    /// Bytes from one slot to the next.
    pub fn slot_len(&self) -> usize {
        self.stride
    }

    /// Its slots, of which a communicator uses as many as all its ranks have.
    pub fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Its slots, for other ranks.
    pub fn remote(&self) -> Remote {
        self.memory.remote().at(self.front)
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
        let (start, copy) = (self.start(slot), self.front - in_front(slot));
        self.memory.write(copy, &[0; size_of::<u64>()]);
        // The adapter sees what is written in this order.
        fence(Ordering::Release);
        self.memory.write(start, header);
        self.memory.write(start + HEADER_LEN, payload);
        fence(Ordering::Release);
        self.memory.write(copy, header);
        let retained = &mut self.slots[slot as usize];
        (retained.len, retained.compact) = (len, compact);
    }

    /// Where the packet of a slot begins.
    fn start(&self, slot: u32) -> usize {
        self.front + slot as usize * self.stride
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
        self.memory.copy(self.start(slot), packet);
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
        self.memory.copy(self.start(slot), packet);
    }

    /// The packet of a slot, for one send that begins now.
    ///
    /// # Panics
    /// If nothing was retained there.
    pub fn begin(&mut self, slot: u32) -> Span {
        let retained = &mut self.slots[slot as usize];
        assert!(retained.len > 0, "nothing was retained in slot {slot}");
        retained.under_way += 1;
        let len = retained.len;
        self.memory.span(self.start(slot), len)
    }

    /// A send of a slot's packet has ended.
    pub fn end(&mut self, slot: u32) {
        self.slots[slot as usize].under_way -= 1;
    }
}

/// So many bytes before the first slot, the copy of a slot's header begins.
fn in_front(slot: u32) -> usize {
    (slot as usize + 1) * HEADER_LEN
}

/// The copies of the headers of some slots, in a ring whose slots are there.
pub fn headers(ring: Remote, slots: &Range<u32>) -> Remote {
    let address = ring.address.wrapping_sub((slots.end as usize * HEADER_LEN) as u64);
    Remote { address, ..ring }
}
