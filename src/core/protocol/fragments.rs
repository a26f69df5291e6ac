//! How a message is cut into fragments (Hoefler 2007, section 3.2: a datagram is limited to the
//! maximum transmission unit).

use crate::rank::Fragment;
use std::ops::Range;

/// A message of `message_len` bytes in fragments of `fragment_len`; the last may be shorter. An
/// empty message is one empty fragment, so that every broadcast is seen on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fragments {
    message_len: usize,
    fragment_len: usize,
    count: u32,
}

impl Fragments {
    /// Cuts a message; `None` where it has more fragments than a header can number, or is longer
    /// than memory.
    ///
    /// # Panics
    /// If `fragment_len` is zero.
    pub fn new(message_len: u64, fragment_len: usize) -> Option<Self> {
        let message_len = usize::try_from(message_len).ok()?;
        let count = u32::try_from(message_len.div_ceil(fragment_len).max(1)).ok()?;
        Some(Fragments { message_len, fragment_len, count })
    }

    /// The number of fragments, at least one.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Length of the message in bytes.
    pub fn message_len(&self) -> usize {
        self.message_len
    }

    /// Bytes of each fragment but the last.
    pub fn fragment_len(&self) -> usize {
        self.fragment_len
    }

    /// The bytes of the message that a fragment is; `None` beyond the last.
    pub fn range(&self, fragment: Fragment) -> Option<Range<usize>> {
        if fragment.0 >= self.count {
            return None;
        }
        let start = fragment.index() * self.fragment_len;
        Some(start..self.message_len.min(start + self.fragment_len))
    }

    /// The fragments that `len` bytes from the first byte of one on are; `None` where they end in the middle of one, or
    /// beyond the last.
    pub fn run(&self, first: Fragment, len: usize) -> Option<Range<u32>> {
        let start = self.range(first)?.start;
        let end = start.checked_add(len).filter(|end| *end <= self.message_len)?;
        let is_whole = end == self.message_len || end.is_multiple_of(self.fragment_len);
        let count = u32::try_from(len.div_ceil(self.fragment_len)).ok()?;
        (is_whole && len > 0).then(|| first.0..first.0 + count)
    }

    /// The bytes of the message that fragments are.
    pub fn range_of(&self, fragments: &Range<u32>) -> Range<usize> {
        let start = self.range(Fragment(fragments.start)).unwrap_or_default().start;
        let last = fragments.end.checked_sub(1).and_then(|last| self.range(Fragment(last)));
        start..last.map_or(start, |last| last.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_tile_the_message() {
        for len in [0, 1, 99, 100, 101, 200, 12345] {
            let cut = Fragments::new(len, 100).unwrap();
            let mut end = 0;
            for fragment in 0..cut.count() {
                let range = cut.range(Fragment(fragment)).unwrap();
                assert_eq!(range.start, end);
                assert!(range.len() == 100 || range.end == len as usize);
                end = range.end;
            }
            assert_eq!(end, len as usize);
            assert_eq!(cut.range(Fragment(cut.count())), None);
        }
    }

    #[test]
    fn whole_fragments_are_a_run() {
        let cut = Fragments::new(250, 100).unwrap();
        let run = |first, len| cut.run(Fragment(first), len);
        assert_eq!((run(0, 200), run(1, 150), run(2, 50)), (Some(0..2), Some(1..3), Some(2..3)));
        for (first, len) in [(0, 0), (0, 150), (1, 151), (2, 51), (3, 1), (0, usize::MAX)] {
            assert_eq!(run(first, len), None, "{len} bytes from fragment {first}");
        }
        assert_eq!((cut.range_of(&(1..3)), cut.range_of(&(0..1))), (100..250, 0..100));
    }

    #[test]
    fn a_message_beyond_the_header_is_refused() {
        assert!(Fragments::new(1 << 32, 1).is_none());
        assert!(Fragments::new((1 << 32) - 1, 1).is_some());
    }
}
