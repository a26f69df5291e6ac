//! Fragments that come together, in order.

use crate::rank::{Fragment, OpId, Rank};
use crate::wire::{Header, Key, Kind};
use std::ops::Range;

/// Consecutive fragments of a broadcast. All have the full length; the last fragment of a message is in no run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The broadcast.
    pub op: OpId,
    /// Its root, who multicasts them.
    pub source: Rank,
    /// The first of them.
    pub first: Fragment,
    /// How many, at least one.
    pub count: u32,
    /// Bytes of each.
    pub fragment_len: usize,
}

impl Run {
    /// The bytes of the message that they are.
    pub fn range(&self) -> Range<usize> {
        let start = self.first.index() * self.fragment_len;
        start..start + self.count as usize * self.fragment_len
    }

    /// The header of the one so many behind the first, without what only the last of its message tells.
    pub fn header(&self, behind: u32, key: Key) -> Header {
        Header {
            kind: Kind::Fragment,
            source: self.source,
            key,
            op: self.op,
            fragment: Fragment(self.first.0.wrapping_add(behind)),
            message_len: Header::UNTOLD,
            report: 0,
            asks: false,
        }
    }

    /// Whether a packet of the communicator that came by multicast is the one so many behind the first, and says nothing else.
    pub fn has(&self, behind: u32, header: &Header, payload_len: usize) -> bool {
        let Header { kind, source, op, fragment, report, asks, .. } = *header;
        let is_it = (kind, source, op) == (Kind::Fragment, self.source, self.op)
            && fragment.0 == self.first.0.wrapping_add(behind)
            && payload_len == self.fragment_len;
        is_it && report == 0 && !asks
    }

    /// Whether a packet of the communicator that came by multicast is the first one and all of its message, and says nothing else.
    pub fn is_all(&self, header: &Header, payload_len: usize) -> bool {
        self.has(0, header, payload_len) && header.message_len == payload_len as u64
    }

    /// The same, with so many of them at most.
    #[must_use]
    pub fn up_to(self, count: u32) -> Self {
        Run { count: self.count.min(count), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_in_one_piece_of_the_message() {
        let (op, source, first) = (OpId(7), Rank(2), Fragment(3));
        let run = Run { op, source, first, count: 4, fragment_len: 100 };
        assert_eq!(run.range(), 300..700);
        assert_eq!((run.up_to(1).range(), run.up_to(9)), (300..400, run));
    }

    #[test]
    fn a_message_is_all_that_its_only_fragment_says() {
        let (op, source, first) = (OpId(7), Rank(2), Fragment(0));
        let run = Run { op, source, first, count: 1, fragment_len: 100 };
        let only = Header { message_len: 100, ..run.header(0, Key(1)) };
        assert!(run.is_all(&only, 100) && !run.is_all(&only, 99));
        let others = [
            Header { message_len: 200, ..only },
            Header { message_len: Header::UNTOLD, ..only },
            Header { fragment: Fragment(1), ..only },
            Header { op: OpId(8), ..only },
            Header { report: 1, ..only },
            Header { asks: true, ..only },
        ];
        for other in others {
            assert!(!run.is_all(&other, 100), "{other:?}");
        }
    }

    #[test]
    fn a_run_has_plain_fragments_alone() {
        let (op, source, first) = (OpId(7), Rank(2), Fragment(3));
        let run = Run { op, source, first, count: 4, fragment_len: 100 };
        let plain = run.header(2, Key(1));
        assert_eq!((plain.source, plain.op, plain.fragment), (source, op, Fragment(5)));
        assert!(run.has(2, &plain, 100) && run.has(2, &Header { message_len: 1000, ..plain }, 100));
        assert!(!run.has(1, &plain, 100) && !run.has(2, &plain, 99));
        let others = [
            Header { kind: Kind::Probe, ..plain },
            Header { source: Rank(1), ..plain },
            Header { op: OpId(8), ..plain },
            Header { report: 1, ..plain },
            Header { asks: true, ..plain },
        ];
        for other in others {
            assert!(!run.has(2, &other, 100), "{other:?}");
        }
    }
}
