//! What the protocols' cores allocate for a broadcast, once everything has the size that it keeps.

#[path = "../../benches/src/lib.rs"]
mod benches;

use allocation_counter::{AllocationInfo, measure};
use benches::Ranks;

const FRAGMENT: u64 = 4048;
const RANKS: u32 = 4;

/// For one broadcast of so many fragments, at all ranks together.
fn of(algorithm: &str, fragments: u64) -> AllocationInfo {
    let len = fragments * FRAGMENT;
    let mut ranks = Ranks::warmed_up(algorithm, RANKS, len);
    measure(|| ranks.broadcast(len))
}

#[test]
fn a_broadcast_allocates_nothing() {
    let multicasts =
        ["two-stage", "two-stage-on-demand", "window", "co-root", "aggregate", "basic"];
    for algorithm in multicasts.into_iter().chain(["binomial", "chain", "scatter-allgather"]) {
        for fragments in [1, 16] {
            let AllocationInfo { count_total, count_current, .. } = of(algorithm, fragments);
            assert_eq!((count_total, count_current), (0, 0), "{algorithm}, {fragments}");
        }
    }
}
