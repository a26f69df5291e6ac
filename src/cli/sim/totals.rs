//! Counters over all ranks.

use serde::Serialize;
use verbcast_core::driver::Statistics;
use verbcast_sim::Outcome;

/// What the ranks counted, and what their adapters did.
#[derive(Debug, Serialize)]
pub struct Totals {
    #[serde(flatten)]
    pub ranks: Statistics,
    /// Datagrams that found no receive.
    pub receive_queue_overflowed: u64,
}

impl Totals {
    /// Those of all jobs.
    pub fn of(outcomes: &[Outcome]) -> Totals {
        Totals {
            ranks: outcomes.iter().map(Outcome::total).sum(),
            receive_queue_overflowed: outcomes.iter().map(|outcome| outcome.overflowed).sum(),
        }
    }
}
