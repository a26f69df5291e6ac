//! Looks at other processes' rings, and the buffers that they read into.

use super::look::{Look, Place, Stage, Wanted};
use crate::rdma::ids::ProcessId;
use crate::rdma::settings::LOOKS;
use std::collections::VecDeque;
use std::ops::Range;
use tracing::Span;
use verbcast_core::protocol::Token;
use verbcast_verbs::{Pool, ProtectionDomain, Remote, Result, Slot};

/// A read into a part of a buffer.
pub type Read = (Slot, Range<usize>, Remote);

/// Looks, and their buffers.
#[derive(Debug)]
pub struct Fetches {
    pool: Pool,
    /// Buffers for packets, and those for headers, that nobody uses.
    free: Vec<Slot>,
    free_headers: Vec<Slot>,
    /// Looks that have not begun.
    waiting: VecDeque<Look>,
    /// Looks for which something is being read.
    under_way: Vec<Option<Look>>,
    /// What a buffer is being read into for.
    uses: Vec<Option<Use>>,
}

/// The look that something is read for, and which of what it wants; none for headers.
#[derive(Clone, Copy, Debug)]
struct Use {
    look: usize,
    wanted: Option<usize>,
}

impl Fetches {
    /// With buffers for `depth` packets of up to `packet_len` bytes.
    pub fn new(domain: &ProtectionDomain, depth: u32, packet_len: usize) -> Result<Self> {
        let count = depth + LOOKS;
        let (pool, mut free) = Pool::new(domain, count, packet_len)?;
        Ok(Fetches {
            pool,
            free_headers: free.split_off(depth as usize),
            free,
            waiting: VecDeque::new(),
            under_way: Vec::new(),
            uses: vec![None; count as usize],
        })
    }

    /// The memory, for the QPs that read into it.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Packets that can be looked for now.
    pub fn room(&self) -> usize {
        self.free.len()
    }

    /// Looks for a packet in a slot, soon; false where no buffer is free. A look reads up to `most` bytes of headers, which
    /// a buffer has room for.
    pub fn want(
        &mut self,
        place: Place,
        (slot, token): (u32, Token),
        most: usize,
        span: Span,
    ) -> bool {
        let Some(buffer) = self.free.pop() else { return false };
        let wanted = Wanted::new(slot, token, buffer, span);
        let alone = match self.waiting.back_mut() {
            Some(last) => last.add(&place, wanted, most),
            None => Some(wanted),
        };
        if let Some(wanted) = alone {
            self.waiting.push_back(Look::new(place, wanted));
        }
        true
    }

    /// A look that can begin, at a process that can be asked now.
    pub fn next(&mut self, can_be_asked: impl Fn(ProcessId) -> bool) -> Option<Look> {
        if self.free_headers.is_empty() {
            return None;
        }
        let at = self.waiting.iter().position(|look| can_be_asked(look.place.process))?;
        let mut look = self.waiting.remove(at)?;
        look.headers = self.free_headers.pop();
        Some(look)
    }

    /// Gives up the looks at a process that have not begun.
    pub fn forget(&mut self, process: ProcessId) {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let (gone, kept): (VecDeque<_>, _) =
            waiting.partition(|look| look.place.process == process);
        self.waiting = kept;
        gone.into_iter().for_each(|look| self.give_up(look));
    }

    /// What is to be read next for a look of which nothing is being read.
    pub fn go_on(&mut self, mut look: Look) -> Vec<Read> {
        let number = self.under_way.iter().position(Option::is_none).unwrap_or_else(|| {
            self.under_way.push(None);
            self.under_way.len() - 1
        });
        look.go_on();
        let mut reads = Vec::new();
        if look.stage == Stage::Payloads {
            for at in 0..look.wanted.len() {
                let Some((from, into)) = look.payload_at(&look.wanted[at]) else { continue };
                let buffer = look.wanted[at].buffer.take();
                reads.extend(buffer.map(|buffer| (Some(at), buffer, into, from)));
            }
        } else {
            let (from, len) = look.headers_at();
            reads.extend(look.headers.take().map(|buffer| (None, buffer, 0..len, from)));
        }
        look.reads = reads.len();
        self.under_way[number] = Some(look);
        let posted = reads.into_iter().map(|(wanted, buffer, into, from)| {
            self.uses[buffer.index() as usize] = Some(Use { look: number, wanted });
            (buffer, into, from)
        });
        posted.collect()
    }

    /// A read has ended, well or not; its look, if nothing else is being read for it.
    ///
    /// # Safety
    /// A completion of the read into the buffer was polled, and this is the first time that it is told.
    pub unsafe fn end(&mut self, buffer: u32, is_done: bool) -> Option<Look> {
        // SAFETY: promised by the caller.
        let slot = unsafe { self.pool.reclaim(buffer) };
        self.ended(slot, is_done)
    }

    /// A read is not begun after all.
    pub fn withdraw(&mut self, buffer: Slot) {
        if let Some(look) = self.ended(buffer, false) {
            self.give_up(look);
        }
    }

    fn ended(&mut self, buffer: Slot, is_done: bool) -> Option<Look> {
        let Use { look: number, wanted } = self.uses[buffer.index() as usize].take()?;
        let look = self.under_way[number].as_mut()?;
        match wanted {
            None => look.headers = Some(buffer),
            Some(at) => look.wanted[at].buffer = Some(buffer),
        }
        look.reads -= 1;
        look.is_sound &= is_done;
        match look.reads {
            0 => self.under_way[number].take(),
            _ => None,
        }
    }

    /// Takes the headers that were read for a look: for the first time, or again. Gives back what is not there, or
    /// was replaced meanwhile.
    pub fn take_headers(&self, look: &mut Look) -> Vec<Wanted> {
        let Some(headers) = look.headers.take() else { return Vec::new() };
        let bytes = self.pool.bytes(&headers);
        let gone = match look.stage {
            Stage::HeadersAgain => look.compare_headers(bytes),
            // All buffers have as many bytes.
            _ => look.take_headers(bytes, bytes.len()),
        };
        look.headers = Some(headers);
        gone
    }

    /// The packet of what was looked for, in its buffer, and how many bytes it is.
    pub fn packet(&mut self, mut wanted: Wanted) -> Option<(Slot, usize)> {
        let (header, len) = wanted.found().map(|(header, len)| (*header, len))?;
        let mut buffer = wanted.buffer.take()?;
        self.pool.bytes_mut(&mut buffer)[..header.len()].copy_from_slice(&header);
        Some((buffer, len))
    }

    /// Takes the buffers of a look back of which nothing is being read.
    pub fn give_up(&mut self, look: Look) {
        self.free_headers.extend(look.headers);
        self.free.extend(look.wanted.into_iter().filter_map(|wanted| wanted.buffer));
    }

    /// Takes the buffer of a packet back.
    pub fn recycle(&mut self, slot: Slot) {
        self.free.push(slot);
    }
}
