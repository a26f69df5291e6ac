//! The counters of all broadcasters that this process has had, together.

use std::sync::atomic::{AtomicU64, Ordering};
use verbcast_core::driver::Statistics;

/// What is counted.
pub const NAMES: [&str; 9] = [
    "packets multicast",
    "received",
    "lost",
    "repaired",
    "reliable messages",
    "fetches",
    "foreign packets",
    "damaged",
    "fragments in place",
];

static TOTALS: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];

/// Adds the counters of a broadcaster that has ended.
pub fn add(statistics: &Statistics) {
    let counters = [
        statistics.multicast_sent,
        statistics.multicast_received,
        statistics.lost,
        statistics.repaired,
        statistics.reliable_sent,
        statistics.fetches,
        statistics.foreign,
        statistics.damaged,
        statistics.received_in_place,
    ];
    for (total, counter) in TOTALS.iter().zip(counters) {
        total.fetch_add(counter, Ordering::Relaxed);
    }
}

/// The sums so far.
pub fn counted() -> Vec<u64> {
    TOTALS.iter().map(|total| total.load(Ordering::Relaxed)).collect()
}
