//! Buffers for reads of other ranks' rings.

use crate::protocol::Token;
use crate::verbs::{Pool, ProtectionDomain, Result, Slot};

/// The buffers, and what each is for.
#[derive(Debug)]
pub(super) struct Fetches {
    pool: Pool,
    free: Vec<Slot>,
    /// Read and not recycled, by buffer.
    fetched: Vec<Option<Slot>>,
    /// What the fetcher wants to be told, by buffer.
    tokens: Vec<Option<Token>>,
}

impl Fetches {
    pub fn new(domain: &ProtectionDomain, depth: u32, packet_len: usize) -> Result<Self> {
        let (pool, free) = Pool::new(domain, depth, packet_len)?;
        let fetched = (0..depth).map(|_| None).collect();
        Ok(Fetches { pool, free, fetched, tokens: vec![None; depth as usize] })
    }

    /// The memory, for the QPs that read into it.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    pub fn room(&self) -> usize {
        self.free.len()
    }

    /// A buffer to read into; `None` where none is free.
    pub fn begin(&mut self, token: Token) -> Option<Slot> {
        let slot = self.free.pop()?;
        self.tokens[slot.index() as usize] = Some(token);
        Some(slot)
    }

    /// A buffer is not read into after all.
    pub fn withdraw(&mut self, slot: Slot) {
        self.tokens[slot.index() as usize] = None;
        self.free.push(slot);
    }

    /// A read has ended; what its fetcher wanted to be told.
    ///
    /// # Safety
    /// A completion of the read into the buffer was polled.
    pub unsafe fn end(&mut self, buffer: u32) -> Option<Token> {
        // SAFETY: promised by the caller.
        self.fetched[buffer as usize] = Some(unsafe { self.pool.reclaim(buffer) });
        self.tokens[buffer as usize].take()
    }

    /// What was read.
    pub fn bytes(&self, buffer: u32, len: usize) -> &[u8] {
        let bytes = self.fetched[buffer as usize].as_ref().map(|slot| self.pool.bytes(slot));
        bytes.and_then(|bytes| bytes.get(..len)).unwrap_or_default()
    }

    /// Takes a buffer back.
    pub fn recycle(&mut self, buffer: u32) {
        if let Some(slot) = self.fetched[buffer as usize].take() {
            self.free.push(slot);
        }
    }
}
