//! Reads of other processes' rings, and the buffers for them.
//!
//! The owner of a slot may replace its packet meanwhile. It takes the former header away before, and puts the new one there last.
//! So who reads looks at the header, reads the payload, and looks at the header again, each when what is before it has ended:
//! the payload is that of the header if nothing has become of that.

use crate::rdma::ids::ChannelId;
use std::ops::Range;
use tracing::Span;
use verbcast_core::protocol::Token;
use verbcast_core::rank::Rank;
use verbcast_core::wire::{HEADER_LEN, Header, RawHeader};
use verbcast_verbs::{Pool, ProtectionDomain, Remote, Result, Slot};

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
    /// Where the packet is kept.
    pub place: Remote,
    /// Its header, once that was read, and whether the payload was.
    pub header: Option<[u8; HEADER_LEN]>,
    pub has_payload: bool,
    /// Open for as long as it takes.
    pub span: Span,
}

/// What is to become of a fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// The slot does not hold what is wanted, or not all the time.
    Nothing,
    /// More is to be read into a part of the buffer, from so many bytes behind the beginning of the slot.
    Read(Range<usize>, usize),
    /// The packet is there, of so many bytes.
    Packet(usize),
}

impl Fetcher {
    /// Takes note of what was read, in a buffer.
    pub fn take(&mut self, bytes: &[u8]) -> Next {
        let Some(header) = bytes.first_chunk::<HEADER_LEN>() else { return Next::Nothing };
        let Some(raw) = RawHeader::parse(header) else { return Next::Nothing };
        let end = HEADER_LEN + raw.payload_len();
        if let Some(known) = self.header {
            let again = end..end + HEADER_LEN;
            if !std::mem::replace(&mut self.has_payload, true) {
                return Next::Read(again, 0);
            }
            let is_there = bytes.get(again) == Some(&known[..]);
            return if is_there { Next::Packet(end) } else { Next::Nothing };
        }
        let Header { kind, op, fragment, source, .. } = *raw.unchecked();
        let is_wanted = Token { kind, op, fragment } == self.token && source == self.from;
        if !is_wanted || end + HEADER_LEN > bytes.len() {
            return Next::Nothing;
        }
        self.header = Some(*header);
        match raw.payload_len() {
            0 => Next::Packet(end),
            _ => Next::Read(HEADER_LEN..end, HEADER_LEN),
        }
    }
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

    /// More is to be read into a buffer.
    pub fn go_on(&mut self, slot: &Slot, fetcher: Fetcher) {
        self.fetchers[slot.index() as usize] = Some(fetcher);
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

#[cfg(test)]
mod tests {
    use super::*;
    use verbcast_core::rank::{Fragment, OpId};
    use verbcast_core::wire::{Key, Kind};

    fn header(op: u32, payload: &[u8]) -> [u8; HEADER_LEN] {
        let (kind, source, key, fragment) = (Kind::Fragment, Rank(2), Key(9), Fragment(1));
        let (op, message_len) = (OpId(op), 100);
        let header =
            Header { kind, source, key, op, fragment, message_len, report: 0, asks: false };
        header.emit(payload, false)
    }

    fn fetcher(from: Rank) -> Fetcher {
        let token = Token { kind: Kind::Fragment, op: OpId(7), fragment: Fragment(1) };
        let place = Remote { address: 0, key: 0 };
        let (channel, span) = (ChannelId(0), Span::none());
        Fetcher { channel, from, token, place, header: None, has_payload: false, span }
    }

    /// What becomes of a fetch that finds a header, then a payload, and then another header.
    fn finds(first: &[u8], payload: &[u8], last: &[u8]) -> Vec<Next> {
        let mut fetcher = fetcher(Rank(2));
        let mut buffer = [0; 3 * HEADER_LEN];
        let mut found = [first, payload, last].into_iter();
        let (mut all, mut into) = (Vec::new(), 0..HEADER_LEN);
        loop {
            let bytes = found.next().expect("no more is read");
            buffer[into.start..][..bytes.len()].copy_from_slice(bytes);
            all.push(fetcher.take(&buffer));
            let Some(Next::Read(next, _)) = all.last() else { return all };
            into = next.clone();
        }
    }

    #[test]
    fn a_packet_is_there_if_its_header_is_still_there_behind_the_payload() {
        let (payload, wanted) = (b"five!", header(7, b"five!"));
        let end = HEADER_LEN + 5;
        let reads = [Next::Read(HEADER_LEN..end, HEADER_LEN), Next::Read(end..end + HEADER_LEN, 0)];
        let whole = [&reads[..], &[Next::Packet(end)]].concat();
        assert_eq!(finds(&wanted, payload, &wanted), whole);
        let torn = [&reads[..], &[Next::Nothing]].concat();
        assert_eq!(finds(&wanted, payload, &header(8, payload)), torn);
        assert_eq!(finds(&wanted, payload, &[0; HEADER_LEN]), torn);
    }

    #[test]
    fn what_is_not_wanted_is_not_read() {
        let first = |header: [u8; HEADER_LEN]| finds(&header, &[], &[])[0].clone();
        assert_eq!(first(header(8, b"five!")), Next::Nothing);
        assert_eq!(first([0; HEADER_LEN]), Next::Nothing);
        assert_eq!(first(header(7, &[1; HEADER_LEN + 1])), Next::Nothing, "no room for it");
        assert_eq!(first(header(7, b"")), Next::Packet(HEADER_LEN));
        let mut other = fetcher(Rank(3));
        assert_eq!(other.take(&[&header(7, b"")[..], &[0; HEADER_LEN]].concat()), Next::Nothing);
    }
}
