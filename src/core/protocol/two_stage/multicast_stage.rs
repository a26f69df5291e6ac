//! Stage 1 at the root: multicast every fragment once (Hoefler 2007, section 2.1).

use crate::rank::{Fragment, Rank};
use crate::time::Instant;

/// What the root waits for before it multicasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Nothing.
    Open,
    /// A point in time.
    Until(Instant),
    /// The announcement of a rank.
    For(Rank),
}

/// The root's progress through the fragments.
#[derive(Clone, Debug)]
pub struct MulticastStage {
    gate: Gate,
    next: u32,
    count: u32,
}

impl MulticastStage {
    pub fn new(gate: Gate, count: u32) -> Self {
        MulticastStage { gate, next: 0, count }
    }

    pub fn is_done(&self) -> bool {
        self.next == self.count
    }

    /// The next fragment, if the gate is open and one is left.
    pub fn take(&mut self) -> Option<Fragment> {
        if self.gate != Gate::Open || self.is_done() {
            return None;
        }
        self.next += 1;
        Some(Fragment(self.next - 1))
    }

    pub fn open_for(&mut self, rank: Rank) {
        if self.gate == Gate::For(rank) {
            self.gate = Gate::Open;
        }
    }

    /// The rank that is waited for.
    pub fn awaits(&self) -> Option<Rank> {
        match self.gate {
            Gate::For(rank) => Some(rank),
            Gate::Open | Gate::Until(_) => None,
        }
    }

    pub fn open_by(&mut self, now: Instant) {
        if self.opens_at().is_some_and(|at| at <= now) {
            self.gate = Gate::Open;
        }
    }

    pub fn opens_at(&self) -> Option<Instant> {
        match self.gate {
            Gate::Until(at) => Some(at),
            Gate::Open | Gate::For(_) => None,
        }
    }
}
