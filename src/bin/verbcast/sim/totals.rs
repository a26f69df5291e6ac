//! Counters over all ranks.

use serde::Serialize;
use verbcast::driver::Statistics;
use verbcast::sim::Outcome;

/// As [`Statistics`] has them, and what the adapters counted.
#[derive(Debug, Serialize)]
pub struct Totals {
    pub multicast_sent: u64,
    pub multicast_received: u64,
    pub reliable_sent: u64,
    pub reliable_received: u64,
    pub reports_written: u64,
    pub fetches: u64,
    pub fetched: u64,
    pub missed: u64,
    pub lost: u64,
    pub repaired: u64,
    pub duplicates: u64,
    pub redundant: u64,
    pub late: u64,
    /// Datagrams that came too early and were dropped for want of buffers.
    pub overflowed: u64,
    pub rejected: u64,
    /// Datagrams that found no receive.
    pub receive_queue_overflowed: u64,
}

impl Totals {
    pub fn of(outcome: &Outcome) -> Totals {
        let total = |counter: fn(&Statistics) -> u64| outcome.total(counter);
        Totals {
            multicast_sent: total(|rank| rank.multicast_sent),
            multicast_received: total(|rank| rank.multicast_received),
            reliable_sent: total(|rank| rank.reliable_sent),
            reliable_received: total(|rank| rank.reliable_received),
            reports_written: total(|rank| rank.reports_written),
            fetches: total(|rank| rank.fetches),
            fetched: total(|rank| rank.fetched),
            missed: total(|rank| rank.missed),
            lost: total(|rank| rank.lost),
            repaired: total(|rank| rank.repaired),
            duplicates: total(|rank| rank.duplicates),
            redundant: total(|rank| rank.redundant),
            late: total(|rank| rank.late),
            overflowed: total(|rank| rank.overflowed),
            rejected: total(|rank| rank.rejected),
            receive_queue_overflowed: outcome.overflowed,
        }
    }
}
