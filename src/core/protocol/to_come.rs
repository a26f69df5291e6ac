//! Reliable messages that others will still send for operations begun here.

use super::SmallMap;
use crate::rank::OpId;

/// How many are still to come, by operation.
#[derive(Clone, Debug, Default)]
pub struct ToCome {
    counts: SmallMap<u32, u32>,
}

impl ToCome {
    /// So many will come of an operation.
    pub fn begin(&mut self, op: OpId, count: u32) {
        if count > 0 {
            self.counts.insert(op.0, count);
        }
    }

    /// One of an operation has come; whether it was awaited.
    pub fn came(&mut self, op: OpId) -> bool {
        let is_awaited = self.counts.contains_key(op.0);
        if is_awaited {
            self.counts.count_down(op.0);
        }
        is_awaited
    }

    /// Nothing more will come.
    pub fn clear(&mut self) {
        self.counts = SmallMap::default();
    }

    /// How many are to come of operations before one.
    pub fn before(&self, op: OpId) -> u64 {
        let before = self.counts.iter().filter(|(other, _)| OpId(*other).after(op) < 0);
        before.map(|(_, count)| u64::from(*count)).sum()
    }

    /// Whether nothing is to come.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_come_is_counted_by_operation() {
        let (first, second, third) = (OpId(u32::MAX), OpId(0), OpId(1));
        let mut to_come = ToCome::default();
        to_come.begin(first, 1);
        to_come.begin(second, 2);
        to_come.begin(third, 0);
        assert_eq!([first, second, third].map(|op| to_come.before(op)), [0, 1, 3]);
        assert!(!to_come.came(third) && to_come.came(second) && to_come.came(first));
        assert!(!to_come.came(first), "it came whole");
        assert_eq!([first, second, third].map(|op| to_come.before(op)), [0, 0, 1]);
        to_come.clear();
        assert!(to_come.is_empty());
    }
}
