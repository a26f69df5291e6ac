//! What came of a simulation.

use std::fmt;
use verbcast_core::driver::Statistics;
use verbcast_core::rank::Rank;

/// When a rank called a broadcast and when the call ended, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// When it began.
    pub began: u64,
    /// When it ended.
    pub ended: u64,
}

/// What came of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// By broadcast and rank. A rank that failed has calls that never ended, at 0.
    pub calls: Vec<Vec<Call>>,
    /// By rank.
    pub statistics: Vec<Statistics>,
    /// By rank, where it failed: which rank it was told to be gone, and why.
    pub failures: Vec<Option<(Rank, String)>>,
    /// Datagrams that found no receive, at all ranks.
    pub overflowed: u64,
    /// Events that happened.
    pub events: u64,
    /// When the last of them happened, in nanoseconds.
    pub ended: u64,
    /// A number that differs where anything happened otherwise.
    pub trace: u64,
}

impl Outcome {
    /// Time from the root's call of a broadcast to the end of the last rank's, in nanoseconds.
    pub fn latency(&self, step: usize, root: Rank) -> u64 {
        let last = self.calls[step].iter().map(|call| call.ended).max().unwrap_or(0);
        last.saturating_sub(self.calls[step][root.index()].began)
    }

    /// The counters, over all ranks.
    pub fn total(&self) -> Statistics {
        self.statistics.iter().copied().sum()
    }
}

/// A simulation that did not go as it must.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Violation {}
