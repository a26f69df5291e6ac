//! Fragments that come together, in order.

use crate::rank::{Fragment, OpId, Rank};
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
}
