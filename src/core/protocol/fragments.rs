//! How a message is cut into fragments (Hoefler 2007, section 3.2: a datagram is limited to the
//! maximum transmission unit).

use crate::rank::Fragment;
use std::ops::Range;

/// A message of `message_len` bytes in fragments of `fragment_len`; the last may be shorter. An
/// empty message is one empty fragment, so that every broadcast is seen on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    /// The bytes of the message that a fragment is; `None` beyond the last.
    pub fn range(&self, fragment: Fragment) -> Option<Range<usize>> {
        if fragment.0 >= self.count {
            return None;
        }
        let start = fragment.index() * self.fragment_len;
        Some(start..self.message_len.min(start + self.fragment_len))
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
    fn a_message_beyond_the_header_is_refused() {
        assert!(Fragments::new(1 << 32, 1).is_none());
        assert!(Fragments::new((1 << 32) - 1, 1).is_some());
    }
}
