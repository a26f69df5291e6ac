//! Ranks that leave in good order.

use super::Event;
use crate::rank::{OpId, Rank};

/// A rank that left, having ended all operations before `next`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub rank: Rank,
    pub next: OpId,
}

impl Departure {
    /// What there is to say of an operation that the rank left out; nothing of one that it ended.
    pub fn disagreement(&self, op: OpId) -> Option<Event> {
        let left_out = op.after(self.next) >= 0;
        left_out.then(|| {
            let what = format!("it left before {op}");
            Event::Disagreement { op, rank: self.rank, what }
        })
    }
}
