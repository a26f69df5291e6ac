//! Reliable messages that others will still send for operations begun here.

use super::SmallMap;
use crate::rank::{OpId, Rank};

/// How many are still to come, by operation.
#[derive(Clone, Debug, Default)]
pub struct ToCome {
    shares: SmallMap<u32, Share>,
}

/// What is to come of one operation.
#[derive(Clone, Copy, Debug)]
struct Share {
    from: Rank,
    count: u32,
}

impl ToCome {
    /// A rank will send so many of an operation.
    pub fn begin(&mut self, op: OpId, from: Rank, count: u32) {
        if count > 0 {
            self.shares.insert(op.0, Share { from, count });
        }
    }

    /// One of an operation has come; whether it was awaited.
    pub fn came(&mut self, op: OpId) -> bool {
        let Some(share) = self.shares.get_mut(op.0) else { return false };
        share.count -= 1;
        if share.count == 0 {
            self.shares.remove(op.0);
        }
        true
    }

    /// Nothing more will come.
    pub fn clear(&mut self) {
        self.shares = SmallMap::default();
    }

    /// How many are to come of operations before one.
    pub fn before(&self, op: OpId) -> u64 {
        let before = self.shares.iter().filter(|(other, _)| OpId(*other).after(op) < 0);
        before.map(|(_, share)| u64::from(share.count)).sum()
    }

    /// From whom something is to come.
    pub fn senders(&self) -> impl Iterator<Item = Rank> + '_ {
        self.shares.values().map(|share| share.from)
    }

    /// Whether nothing is to come.
    pub fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_come_is_counted_by_operation() {
        let (first, second, third) = (OpId(u32::MAX), OpId(0), OpId(1));
        let mut to_come = ToCome::default();
        to_come.begin(first, Rank(7), 1);
        to_come.begin(second, Rank(8), 2);
        to_come.begin(third, Rank(9), 0);
        assert_eq!(to_come.senders().collect::<Vec<_>>(), [Rank(8), Rank(7)]);
        assert_eq!([first, second, third].map(|op| to_come.before(op)), [0, 1, 3]);
        assert!(!to_come.came(third) && to_come.came(second) && to_come.came(first));
        assert!(!to_come.came(first), "it came whole");
        assert_eq!([first, second, third].map(|op| to_come.before(op)), [0, 0, 1]);
        to_come.clear();
        assert!(to_come.is_empty());
    }
}
