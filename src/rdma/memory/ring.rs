//! The ring of retained packets, from which this rank sends without a copy and others read.
//!
//! A slot may be in any number of sends at once, which are counted: the CPU replaces its packet only
//! when there are none. All headers stand together in front of the payloads, so that one read looks at many. Another
//! rank may read a slot just when it is replaced, so the former header is taken away before, and the new one is put there last:
//! a payload is that of a header which is there before and after it is read.
//!
//! The headers are in the reverse order of the slots: where they are follows from where the payloads begin, whatever the number of
//! slots.

use crate::rdma::settings::{headers_len, payload_stride};
use std::ops::Range;
use std::sync::atomic::{Ordering, fence};
use verbcast_core::wire::{Compact, HEADER_LEN};
use verbcast_verbs::{Access, ProtectionDomain, Remote, Result, Shared, Span};

/// The ring of this rank.
#[derive(Debug)]
pub struct Ring {
    memory: Shared,
    /// Bytes of a packet at most.
    slot_len: usize,
    /// Where the first payload begins, and from there to the next.
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

/// What is multicast of a slot.
#[derive(Debug)]
pub enum Kept {
    /// Its header and its payload.
    Whole([Span; 2]),
    /// Its payload, which fills a datagram, with this in place of its header.
    Payload(Span, Compact),
}

impl Ring {
    pub fn new(domain: &ProtectionDomain, depth: u32, slot_len: usize) -> Result<Self> {
        let (front, stride) = (headers_len(depth), payload_stride(slot_len));
        let memory = Shared::new(domain, front + depth as usize * stride, Access::Read)?;
        let slots = vec![Retained::default(); depth as usize];
        Ok(Ring { memory, slot_len, front, stride, slots })
    }

    /// Bytes of a packet at most.
    pub fn slot_len(&self) -> usize {
        self.slot_len
    }

    /// Its slots, of which a communicator uses as many as all its ranks have.
    pub fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Its payloads, for other ranks.
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
        assert!(len <= self.slot_len, "a packet of {len} bytes is longer than {}", self.slot_len);
        let (at, payload_at) = (self.header_at(slot), self.payload_at(slot));
        self.memory.write(at, &[0; size_of::<u64>()]);
        // The adapter sees what is written in this order.
        fence(Ordering::Release);
        self.memory.write(payload_at, payload);
        fence(Ordering::Release);
        self.memory.write(at, header);
        let retained = &mut self.slots[slot as usize];
        (retained.len, retained.compact) = (len, compact);
    }

    fn header_at(&self, slot: u32) -> usize {
        self.front - in_front(slot)
    }

    fn payload_at(&self, slot: u32) -> usize {
        self.front + slot as usize * self.stride
    }

    /// The packet of a slot, for one send that begins now: its header and its payload.
    ///
    /// # Panics
    /// If nothing was retained there.
    pub fn begin(&mut self, slot: u32) -> [Span; 2] {
        self.count_send(slot);
        [self.memory.span(self.header_at(slot), HEADER_LEN), self.payload(slot)]
    }

    /// As [`begin`](Self::begin), for a datagram.
    ///
    /// # Panics
    /// As [`begin`](Self::begin).
    pub fn begin_datagram(&mut self, slot: u32) -> Kept {
        match self.slots[slot as usize].compact {
            None => Kept::Whole(self.begin(slot)),
            Some(compact) => {
                self.count_send(slot);
                Kept::Payload(self.payload(slot), compact)
            }
        }
    }

    fn count_send(&mut self, slot: u32) {
        let retained = &mut self.slots[slot as usize];
        assert!(retained.len > 0, "nothing was retained in slot {slot}");
        retained.under_way += 1;
    }

    fn payload(&self, slot: u32) -> Span {
        let len = self.slots[slot as usize].len - HEADER_LEN;
        self.memory.span(self.payload_at(slot), len)
    }

    /// A send of a slot's packet has ended.
    pub fn end(&mut self, slot: u32) {
        self.slots[slot as usize].under_way -= 1;
    }
}

/// So many bytes before the first payload, the header of a slot begins.
fn in_front(slot: u32) -> usize {
    (slot as usize + 1) * HEADER_LEN
}

/// The headers of some slots, in a ring whose payloads are there.
pub fn headers(ring: Remote, slots: &Range<u32>) -> Remote {
    let address = ring.address.wrapping_sub((slots.end as usize * HEADER_LEN) as u64);
    Remote { address, ..ring }
}
