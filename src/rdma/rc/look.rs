//! A look at the ring of another rank for packets that are missing here.
//!
//! Their owner may replace one meanwhile. It takes the former header away before, and puts the new one there last. So who looks reads these headers, then the payloads of those that it misses, and the headers again, each when what is
//! before it has ended: a payload is that of its header if nothing has become of that. Headers stand together, so that
//! the first and the last read serve all packets of a look.

use crate::rdma::ids::{ChannelId, ProcessId};
use crate::rdma::memory::Exposed;
use std::ops::Range;
use tracing::Span;
use verbcast_core::protocol::Token;
use verbcast_core::rank::Rank;
use verbcast_core::wire::{HEADER_LEN, Header, RawHeader};
use verbcast_verbs::{Remote, Slot};

/// Whose ring is looked at, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub process: ProcessId,
    pub channel: ChannelId,
    /// The rank whose ring it is.
    pub from: Rank,
    pub exposed: Exposed,
    /// Bytes of its packets at most.
    pub slot_len: usize,
}

/// A packet that is missing.
#[derive(Debug)]
pub struct Wanted {
    pub slot: u32,
    /// What its fetcher is told with it.
    pub token: Token,
    /// Open for as long as it takes.
    pub span: Span,
    /// Where it is read to; not here while it is being read.
    pub buffer: Option<Slot>,
    /// Its header, once that was read.
    header: Option<[u8; HEADER_LEN]>,
}

/// What was read last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nothing yet.
    Waiting,
    Headers,
    Payloads,
    HeadersAgain,
}

impl Wanted {
    /// With a buffer for it.
    pub fn new(slot: u32, token: Token, buffer: Slot, span: Span) -> Self {
        Wanted { slot, token, span, buffer: Some(buffer), header: None }
    }

    /// Its header and the bytes of the packet, once its header was read.
    pub fn found(&self) -> Option<(&[u8; HEADER_LEN], usize)> {
        let header = self.header.as_ref()?;
        let payload_len = RawHeader::parse(header)?.payload_len();
        Some((header, HEADER_LEN + payload_len))
    }
}

/// A look at a ring.
#[derive(Debug)]
pub struct Look {
    pub place: Place,
    /// The slots of what is wanted, and those between them.
    slots: Range<u32>,
    pub wanted: Vec<Wanted>,
    pub stage: Stage,
    /// Reads under way.
    pub reads: usize,
    /// No read of it has failed.
    pub is_sound: bool,
    /// Where headers are read to; not here while they are being read.
    pub headers: Option<Slot>,
}

impl Look {
    pub fn new(place: Place, wanted: Wanted) -> Self {
        let slots = wanted.slot..wanted.slot + 1;
        let (stage, wanted) = (Stage::Waiting, vec![wanted]);
        Look { place, slots, wanted, stage, reads: 0, is_sound: true, headers: None }
    }

    /// Takes in another packet, if the look has not begun, is at the same place, and the headers are no more bytes then than
    /// that; gives it back otherwise.
    pub fn add(&mut self, place: &Place, wanted: Wanted, most: usize) -> Option<Wanted> {
        let slots =
            self.slots.start.min(wanted.slot)..self.slots.end.max(wanted.slot.saturating_add(1));
        let is_close = slots.len() * HEADER_LEN <= most;
        if self.stage != Stage::Waiting || self.place != *place || !is_close {
            return Some(wanted);
        }
        self.slots = slots;
        self.wanted.push(wanted);
        None
    }

    /// Goes on to what is to be read next. There may be no payloads.
    pub fn go_on(&mut self) {
        let has_payload = |wanted: &Wanted| self.payload_at(wanted).is_some();
        self.stage = match self.stage {
            Stage::Waiting => Stage::Headers,
            Stage::Headers if self.wanted.iter().any(has_payload) => Stage::Payloads,
            _ => Stage::HeadersAgain,
        };
    }

    /// Where the headers are, and their bytes.
    pub fn headers_at(&self) -> (Remote, usize) {
        (self.place.exposed.headers(&self.slots), self.slots.len() * HEADER_LEN)
    }

    /// Where the payload of a packet whose header was read is, if it has any, and into which part of its buffer it goes.
    pub fn payload_at(&self, wanted: &Wanted) -> Option<(Remote, Range<usize>)> {
        let (_, end) = wanted.found().filter(|(_, end)| *end > HEADER_LEN)?;
        let at = self.place.exposed.payload(wanted.slot, self.place.slot_len);
        Some((at, HEADER_LEN..end))
    }

    /// Takes the headers that were read for the first time; gives back those wanted that are not there, or have no room in `most` bytes.
    pub fn take_headers(&mut self, bytes: &[u8], most: usize) -> Vec<Wanted> {
        let (slots, from) = (self.slots.clone(), self.place.from);
        self.keep(|wanted| {
            wanted.header = header_of(&slots, wanted.slot, bytes);
            let raw = wanted.header.as_ref().and_then(|header| RawHeader::parse(header));
            let is_wanted = raw.is_some_and(|raw| {
                let Header { kind, op, fragment, source, .. } = *raw.unchecked();
                Token { kind, op, fragment } == wanted.token && source == from
            });
            is_wanted && wanted.found().is_some_and(|(_, end)| end <= most)
        })
    }

    /// Compares the headers that were read again; gives back those wanted that were replaced.
    pub fn compare_headers(&mut self, bytes: &[u8]) -> Vec<Wanted> {
        let slots = self.slots.clone();
        self.keep(|wanted| header_of(&slots, wanted.slot, bytes) == wanted.header)
    }

    /// Keeps those wanted of which something is true; gives back the others.
    fn keep(&mut self, mut is_kept: impl FnMut(&mut Wanted) -> bool) -> Vec<Wanted> {
        self.wanted.extract_if(.., |wanted| !is_kept(wanted)).collect()
    }
}

/// The header of a slot among those of some slots.
fn header_of(slots: &Range<u32>, slot: u32, bytes: &[u8]) -> Option<[u8; HEADER_LEN]> {
    let before = (slots.end - 1 - slot) as usize * HEADER_LEN;
    bytes.get(before..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbcast_core::rank::{Fragment, OpId};
    use verbcast_core::wire::{Key, Kind};

    const ROOM: usize = 4096;
    const OWNER: Rank = Rank(2);

    fn token(slot: u32) -> Token {
        Token { kind: Kind::Fragment, op: OpId(7), fragment: Fragment(slot) }
    }

    /// The header of a packet with so many bytes of payload that a rank has in a slot.
    fn header(source: Rank, slot: u32, payload_len: usize) -> [u8; HEADER_LEN] {
        let Token { kind, op, fragment } = token(slot);
        let (key, message_len) = (Key(9), 100_000);
        let header =
            Header { kind, source, key, op, fragment, message_len, report: 0, asks: false };
        header.emit(&vec![0; payload_len], false)
    }

    fn look_at(slots: &[u32]) -> Look {
        let ring = Remote { address: 1 << 20, key: 1 };
        let exposed = Exposed { ring, cells: ring };
        let (process, channel) = (ProcessId(1), ChannelId(0));
        let place = Place { process, channel, from: OWNER, exposed, slot_len: 4144 };
        let wanted = |slot: u32| {
            let (buffer, header) = (None, None);
            Wanted { slot, token: token(slot), span: Span::none(), buffer, header }
        };
        let mut look = Look::new(place, wanted(slots[0]));
        for slot in &slots[1..] {
            assert!(look.add(&place, wanted(*slot), ROOM).is_none(), "it is close");
        }
        look
    }

    /// The headers as they stand in front of a ring, those of `slots` alone.
    fn in_front(slots: Range<u32>, header: impl Fn(u32) -> [u8; HEADER_LEN]) -> Vec<u8> {
        slots.rev().flat_map(header).collect()
    }

    fn slots(wanted: &[Wanted]) -> Vec<u32> {
        wanted.iter().map(|wanted| wanted.slot).collect()
    }

    #[test]
    fn one_read_looks_at_the_headers_of_all_that_are_wanted() {
        let mut look = look_at(&[5, 7, 4]);
        let (at, len) = look.headers_at();
        assert_eq!((at.address, len), ((1 << 20) - 8 * HEADER_LEN as u64, 4 * HEADER_LEN));
        let headers = in_front(4..8, |slot| header(OWNER, slot, 10 * slot as usize));
        assert!(look.take_headers(&headers, ROOM).is_empty());
        let ends: Vec<_> = look.wanted.iter().filter_map(Wanted::found).map(|one| one.1).collect();
        assert_eq!(ends, [50, 70, 40].map(|len| HEADER_LEN + len));
        let (at, into) = look.payload_at(&look.wanted[1]).expect("there is a payload");
        assert_eq!((at.address, into), ((1 << 20) + 7 * 4096, HEADER_LEN..HEADER_LEN + 70));
    }

    #[test]
    fn what_is_not_there_is_not_read() {
        let others = |slot| match slot {
            1 => header(Rank(3), slot, 8),
            2 => header(OWNER, slot + 1, 8),
            3 => [0; HEADER_LEN],
            4 => header(OWNER, slot, ROOM - HEADER_LEN + 1),
            _ => header(OWNER, slot, 8),
        };
        let mut look = look_at(&[0, 1, 2, 3, 4]);
        let gone = look.take_headers(&in_front(0..5, others), ROOM);
        assert_eq!((slots(&gone), slots(&look.wanted)), (vec![1, 2, 3, 4], vec![0]));
    }

    #[test]
    fn a_payload_is_that_of_a_header_which_is_still_there() {
        let mut look = look_at(&[1, 2, 3]);
        let before = |slot| header(OWNER, slot, 8);
        assert!(look.take_headers(&in_front(1..4, before), ROOM).is_empty());
        let after = |slot| match slot {
            1 => header(OWNER, slot, 9),
            2 => [0; HEADER_LEN],
            _ => before(slot),
        };
        let gone = look.compare_headers(&in_front(1..4, after));
        assert_eq!((slots(&gone), slots(&look.wanted)), (vec![1, 2], vec![3]));
    }

    #[test]
    fn a_look_reads_no_more_headers_than_fit_into_a_datagram() {
        let mut look = look_at(&[10]);
        let place = look.place;
        let wanted = |slot| look_at(&[slot]).wanted.remove(0);
        let other = || wanted(10 + (ROOM / HEADER_LEN) as u32);
        assert!(look.add(&place, other(), ROOM).is_some(), "it is too far");
        assert!(look.add(&place, other(), ROOM + HEADER_LEN).is_none());
        let elsewhere = Place { from: Rank(3), ..place };
        assert!(look.add(&elsewhere, wanted(10), ROOM).is_some(), "it is another rank's");
        look.go_on();
        assert!(look.add(&place, wanted(10), ROOM).is_some(), "the look has begun");
    }

    #[test]
    fn where_there_is_no_payload_none_is_read() {
        let mut look = look_at(&[1, 2]);
        look.go_on();
        look.take_headers(&in_front(1..3, |slot| header(OWNER, slot, 0)), ROOM);
        assert!(look.payload_at(&look.wanted[0]).is_none());
        look.go_on();
        assert_eq!(look.stage, Stage::HeadersAgain);
    }
}
