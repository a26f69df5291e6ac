//! Reads of what is not lost, in simulations: of what is still on its way, or has been overtaken and comes by itself.

use verbcast_core::driver::Statistics;
use verbcast_core::protocol::options::Options;
use verbcast_core::rank::Rank;
use verbcast_sim::{CERTAIN, Faults, Plan, Step, simulate};

/// What was read in broadcasts of so many bytes among eight ranks, back to back, over a wire that delays each datagram by up to
/// `jitter` nanoseconds and loses a twentieth: fragments whose datagram was lost, and those that came by themselves too.
fn reads(len: usize, count: usize, jitter: u64) -> (u64, u64) {
    let mut plan = Plan::new(8, vec![Step { root: Rank(0), len }; count]);
    plan.costs.jitter = jitter;
    plan.faults = Faults { loss: CERTAIN / 20, ..Faults::default() };
    let mut options = Options::default();
    options.set("algorithm", "window").unwrap();
    let outcome = simulate(&plan, &options).unwrap();
    let sum = |count: fn(&Statistics) -> u64| outcome.statistics.iter().map(count).sum::<u64>();
    let needless = sum(|rank| rank.duplicates + rank.redundant + rank.late);
    (sum(|rank| rank.lost), needless)
}

#[test]
fn what_follows_a_gap_is_not_read_while_it_comes() {
    for (len, count) in [(1_200_000, 10), (64_000, 100), (8, 2_000)] {
        let (lost, needless) = reads(len, count, 0);
        assert!(lost > 100 && needless == 0, "{len} bytes: {lost} lost, {needless} read besides");
    }
}

#[test]
fn what_was_overtaken_is_read_when_it_is_later_than_others_were() {
    for (len, count) in [(1_200_000, 10), (64_000, 100), (8, 2_000)] {
        let (lost, needless) = reads(len, count, 500_000);
        assert!(
            lost > 100 && needless < lost / 5,
            "{len} bytes: {lost} lost, {needless} read besides"
        );
    }
}
