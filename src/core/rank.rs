//! Names for the parties and the pieces of a broadcast.

use std::fmt;

/// The number of a process in a communicator, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(pub u32);

impl Rank {
    /// The rank as an index into a per-rank table.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}", self.0)
    }
}

/// Which broadcast on a communicator: a counter over all of them, whatever their root, so that the
/// order of calls holds when roots change (the BID of Hoefler 2007, section 3.2). It wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OpId(pub u32);

impl OpId {
    /// The operation after this one.
    pub const fn next(self) -> OpId {
        OpId(self.0.wrapping_add(1))
    }

    /// The operation `count` after this one.
    pub const fn plus(self, count: u32) -> OpId {
        OpId(self.0.wrapping_add(count))
    }

    /// How many operations `self` is after `other`; negative where it is before. Right while the
    /// two are less than 2³¹ apart.
    pub const fn after(self, other: OpId) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }
}

impl fmt::Display for OpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {}", self.0)
    }
}

/// The position of a fragment in its message, from 0 (the sequence number of Hoefler 2007,
/// section 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fragment(pub u32);

impl Fragment {
    /// The fragment as an index into a per-fragment table.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operation_ids_keep_their_order_across_the_wrap() {
        let last = OpId(u32::MAX);
        assert_eq!(last.next(), OpId(0));
        assert_eq!(last.next().after(last), 1);
        assert_eq!(last.after(last.plus(3)), -3);
    }
}
