//! The slots that reliable messages are sent from, over all connections.

use super::connection::Pending;
use crate::rdma::ids::{ChannelId, ProcessId};
use crate::rdma::memory::Source;
use crate::rdma::packet::fill;
use std::sync::Arc;
use verbcast_core::protocol::Token;
use verbcast_core::rank::Rank;
use verbcast_core::wire::{HEADER_LEN, Kind};
use verbcast_verbs::{Lease, Pool, ProtectionDomain, Result, Slot};

/// Who sends a message, to which rank of theirs, and what they want to be told.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    pub channel: ChannelId,
    pub to: Rank,
    pub token: Token,
}

/// All slots, and what is known of the messages in them.
#[derive(Debug)]
pub struct SendSlots {
    pool: Pool,
    free: Vec<Slot>,
    /// Who sends, by slot.
    senders: Vec<Option<Sender>>,
    /// Memory of messages that sends use, posted or not, and to whom, by slot.
    sends_from: Vec<Option<(ProcessId, Arc<Lease>)>>,
}

impl SendSlots {
    pub fn new(domain: &ProtectionDomain, depth: u32, packet_len: usize) -> Result<Self> {
        let (pool, free) = Pool::new(domain, depth, packet_len)?;
        let (senders, sends_from) = (vec![None; depth as usize], vec![None; depth as usize]);
        Ok(SendSlots { pool, free, senders, sends_from })
    }

    /// Where the messages are.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Slots that can be taken.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Writes a message into a free slot, to be posted or [given back](Self::give_back).
    pub fn fill(
        &mut self,
        to: ProcessId,
        header: &[u8; HEADER_LEN],
        payload: Source<'_>,
        sender: Option<Sender>,
    ) -> Option<Pending> {
        let slot = self.free.pop()?;
        let index = slot.index() as usize;
        let (bytes, tail) = match payload {
            Source::Bytes(bytes) => (bytes, None),
            Source::Place(tail) => (&[][..], Some(tail)),
        };
        self.senders[index] = sender;
        self.sends_from[index] = tail.as_ref().map(|tail| (to, Arc::clone(&tail.lease)));
        let (slot, len) = fill(&mut self.pool, slot, header, bytes);
        // After its last words, a process must not be found to reach into others' memory.
        Some(match is_last(header) {
            true => Pending::Last(slot, len),
            false => Pending::Message(slot, len, tail),
        })
    }

    /// As [`fill`](Self::fill), of a message behind a write of a part of other memory, which is in use for as long.
    pub fn fill_for(
        &mut self,
        to: ProcessId,
        (header, note): (&[u8; HEADER_LEN], &[u8]),
        lease: &Arc<Lease>,
        sender: Sender,
    ) -> Option<Pending> {
        let note = self.fill(to, header, Source::Bytes(note), Some(sender))?;
        if let Pending::Message(slot, ..) = &note {
            self.sends_from[slot.index() as usize] = Some((to, Arc::clone(lease)));
        }
        Some(note)
    }

    /// Slots that a channel's messages are in.
    pub fn of(&self, channel: ChannelId) -> usize {
        self.senders.iter().flatten().filter(|sender| sender.channel == channel).count()
    }

    /// The processes that a message's memory is being sent to.
    pub fn receivers_of(&self, lease: &Arc<Lease>) -> Vec<ProcessId> {
        let sends = self.sends_from.iter().flatten().filter(|(_, one)| Arc::ptr_eq(one, lease));
        sends.map(|(process, _)| *process).collect()
    }

    /// A send has ended; who sent.
    ///
    /// # Safety
    /// A completion of the slot's send was polled, and this is the first time that it is told.
    pub unsafe fn sent(&mut self, slot: u32) -> Option<Sender> {
        let sender = self.senders[slot as usize].take();
        if let Some((_, lease)) = self.sends_from[slot as usize].take() {
            // SAFETY: promised by the caller.
            unsafe { lease.completed() };
        }
        // SAFETY: promised by the caller.
        self.free.push(unsafe { self.pool.reclaim(slot) });
        sender
    }

    /// Takes back a message that was not posted.
    pub fn give_back(&mut self, slot: Slot) {
        let index = slot.index() as usize;
        self.senders[index] = None;
        self.sends_from[index] = None;
        self.free.push(slot);
    }
}

/// Whether a message is the last that a rank sends another.
pub fn is_last(header: &[u8; HEADER_LEN]) -> bool {
    [Kind::Bye, Kind::Abort].iter().any(|kind| header[1] == *kind as u8)
}
