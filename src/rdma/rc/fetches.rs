//! Buffers for reads of other processes' rings.

use crate::rdma::ids::ChannelId;
use tracing::Span;
use verbcast_core::protocol::Token;
use verbcast_core::rank::Rank;
use verbcast_verbs::{Pool, ProtectionDomain, Result, Slot};

/// The buffers, and what each is for.
#[derive(Debug)]
pub struct Fetches {
    pool: Pool,
    free: Vec<Slot>,
    /// Who fetches, from whom, and what they want to be told, by buffer.
    fetchers: Vec<Option<Fetcher>>,
}

/// Who fetches, from which rank of theirs, and what they want to be told.
#[derive(Clone, Debug)]
pub struct Fetcher {
    pub channel: ChannelId,
    pub from: Rank,
    pub token: Token,
    /// Bytes to read.
    pub len: usize,
    /// Open for as long as the read takes.
    pub span: Span,
}

impl Fetches {
    pub fn new(domain: &ProtectionDomain, depth: u32, packet_len: usize) -> Result<Self> {
        let (pool, free) = Pool::new(domain, depth, packet_len)?;
        Ok(Fetches { pool, free, fetchers: vec![None; depth as usize] })
    }

    /// The memory, for the QPs that read into it.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    pub fn room(&self) -> usize {
        self.free.len()
    }

    /// A buffer to read into; `None` where none is free.
    pub fn begin(&mut self, fetcher: Fetcher) -> Option<Slot> {
        let slot = self.free.pop()?;
        self.fetchers[slot.index() as usize] = Some(fetcher);
        Some(slot)
    }

    /// A buffer is not read into after all.
    pub fn withdraw(&mut self, slot: Slot) {
        self.fetchers[slot.index() as usize] = None;
        self.free.push(slot);
    }

    /// A read has ended; the buffer, and who fetched.
    ///
    /// # Safety
    /// A completion of the read into the buffer was polled.
    pub unsafe fn end(&mut self, buffer: u32) -> (Slot, Option<Fetcher>) {
        // SAFETY: promised by the caller.
        let slot = unsafe { self.pool.reclaim(buffer) };
        (slot, self.fetchers[buffer as usize].take())
    }

    /// Takes a buffer back.
    pub fn recycle(&mut self, slot: Slot) {
        self.free.push(slot);
    }
}
