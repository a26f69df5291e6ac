//! The slots that reliable messages are sent from, over all connections.

use super::connection::Pending;
use super::datagrams::fill;
use super::loans::Source;
use crate::protocol::Token;
use crate::rank::Rank;
use crate::verbs::{Lease, Pool, ProtectionDomain, Result, Slot};
use crate::wire::HEADER_LEN;
use std::sync::Arc;

/// All slots, and what is known of the messages in them.
#[derive(Debug)]
pub(super) struct SendSlots {
    pool: Pool,
    free: Vec<Slot>,
    /// What the sender wants to be told, by slot.
    tokens: Vec<Option<Token>>,
    /// Memory of messages that sends use, posted or not, and to whom, by slot.
    sends_from: Vec<Option<(Rank, Arc<Lease>)>>,
}

impl SendSlots {
    pub fn new(domain: &ProtectionDomain, depth: u32, packet_len: usize) -> Result<Self> {
        let (pool, free) = Pool::new(domain, depth, packet_len)?;
        let (tokens, sends_from) = (vec![None; depth as usize], vec![None; depth as usize]);
        Ok(SendSlots { pool, free, tokens, sends_from })
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
        to: Rank,
        header: &[u8; HEADER_LEN],
        payload: Source<'_>,
        token: Option<Token>,
    ) -> Option<Pending> {
        let slot = self.free.pop()?;
        let index = slot.index() as usize;
        let (bytes, tail) = match payload {
            Source::Bytes(bytes) => (bytes, None),
            Source::Place(tail) => (&[][..], Some(tail)),
        };
        self.tokens[index] = token;
        self.sends_from[index] = tail.as_ref().map(|tail| (to, Arc::clone(&tail.lease)));
        let (slot, len) = fill(&mut self.pool, slot, header, bytes);
        Some(Pending::Message(slot, len, tail))
    }

    /// The ranks that a message's memory is being sent to.
    pub fn receivers_of(&self, lease: &Arc<Lease>) -> Vec<Rank> {
        let sends = self.sends_from.iter().flatten().filter(|(_, one)| Arc::ptr_eq(one, lease));
        sends.map(|(rank, _)| *rank).collect()
    }

    /// A send has ended; what its sender wanted to be told.
    ///
    /// # Safety
    /// A completion of the slot's send was polled, and this is the first time that it is told.
    pub unsafe fn sent(&mut self, slot: u32) -> Option<Token> {
        let token = self.tokens[slot as usize].take();
        if let Some((_, lease)) = self.sends_from[slot as usize].take() {
            // SAFETY: promised by the caller.
            unsafe { lease.completed() };
        }
        // SAFETY: promised by the caller.
        self.free.push(unsafe { self.pool.reclaim(slot) });
        token
    }

    /// Takes back a message that was not posted.
    pub fn give_back(&mut self, slot: Slot) {
        let index = slot.index() as usize;
        self.tokens[index] = None;
        self.sends_from[index] = None;
        self.free.push(slot);
    }
}
