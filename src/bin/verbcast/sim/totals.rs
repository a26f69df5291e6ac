//! Counters over all ranks.

use serde::Serialize;
use verbcast::driver::Statistics;
use verbcast::sim::Outcome;

/// What the ranks counted, and what their adapters did.
#[derive(Debug, Serialize)]
pub struct Totals {
    #[serde(flatten)]
    pub ranks: Statistics,
    /// Datagrams that found no receive.
    pub receive_queue_overflowed: u64,
}

impl Totals {
    pub fn of(outcome: &Outcome) -> Totals {
        Totals { ranks: outcome.total(), receive_queue_overflowed: outcome.overflowed }
    }
}
