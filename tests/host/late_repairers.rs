//! Ranks below one that is late in the repair tree, or in the chain on demand, in simulations: what they miss they read from
//! those above it. Simulated times are the same in each run.

use verbcast_core::order::RankOrder;
use verbcast_core::protocol::options::Options;
use verbcast_core::rank::Rank;
use verbcast_sim::{CERTAIN, Call, Faults, Outcome, Plan, Step, simulate};

const MILLISECOND: u64 = 1_000_000;
/// By how much the late ranks are late.
const LATE: u64 = 100 * MILLISECOND;
/// Ranks of a host.
const HOST: u32 = 4;

/// Hosts of [`HOST`] ranks each, as many as that below each switch.
fn order(hosts: u32) -> RankOrder {
    let switch = |host: u32| [host / HOST];
    let places: Vec<_> = (0..hosts * HOST).map(|rank| (switch(rank / HOST), rank / HOST)).collect();
    let told: Vec<_> = places.iter().map(|(above, host)| Some((&above[..], *host))).collect();
    RankOrder::by_place(&told)
}

/// Broadcasts of which a fifth of the fragments is lost at each rank.
fn lossy(hosts: u32, steps: Vec<Step>) -> Plan {
    let faults = Faults { loss: CERTAIN / 5, ..Faults::default() };
    Plan { order: order(hosts), faults, ..Plan::new(hosts * HOST, steps) }
}

fn options(settings: &[(&str, &str)]) -> Options {
    let mut options = Options::default();
    settings.iter().for_each(|(name, value)| options.set(name, value).unwrap());
    options
}

/// When the last of the ranks that are not late had each broadcast, from when its root called it.
fn latencies(outcome: &Outcome, late: &[u32]) -> Vec<u64> {
    let latency = |calls: &Vec<Call>| {
        let others = (0..).zip(calls).filter(|(rank, _)| !late.contains(rank));
        others.map(|(_, call)| call.ended).max().unwrap() - calls[0].began
    };
    outcome.calls.iter().map(latency).collect()
}

/// Nobody waits for the late ranks, in broadcasts of 20 fragments, of which each rank loses some.
#[track_caller]
fn nobody_waits(hosts: u32, late: &[u32], algorithm: &str) {
    let mut plan = lossy(hosts, vec![Step { root: Rank(0), len: 80_000 }; 8]);
    plan.interval = 2 * LATE;
    plan.late = late.iter().map(|rank| (Rank(*rank), LATE)).collect();
    let outcome = simulate(&plan, &options(&[("algorithm", algorithm)])).unwrap();
    assert!(outcome.statistics[1..].iter().all(|rank| rank.lost > 0));
    let found = latencies(&outcome, late);
    println!("of {} ranks, {late:?} late, {algorithm}: {found:?} ns", hosts * HOST);
    assert!(found[0] < LATE / 2, "{late:?}: {found:?}");
    // Those who are late are known by then.
    assert!(found[1..].iter().all(|latency| *latency < LATE / 20), "{late:?}: {found:?}");
}

#[test]
fn nobody_waits_for_the_first_rank_of_its_host() {
    // Ranks 5 to 7 are below rank 4, and that below the root.
    nobody_waits(2, &[4], "window");
}

#[test]
fn nobody_waits_for_the_first_rank_below_a_switch() {
    // The hosts of ranks 20, 24 and 28 are below rank 16, and that below the root.
    nobody_waits(8, &[16], "window");
}

#[test]
fn nobody_waits_for_two_on_the_way_to_the_root() {
    nobody_waits(8, &[16, 20], "window");
}

#[test]
fn nobody_waits_among_more_ranks_than_are_connected_from_the_beginning() {
    nobody_waits(16, &[16, 20, 32, 52], "window");
}

#[test]
fn nobody_waits_for_its_predecessor() {
    nobody_waits(2, &[3], "two-stage-on-demand");
    nobody_waits(2, &[3, 4], "two-stage-on-demand");
}

#[test]
fn a_ring_is_kept_for_those_below_a_rank_that_is_late() {
    // The root has more to send than its ring holds, and a late rank's queue takes all of it: what the others miss stays where
    // they read it, as they are late themselves, but less.
    let (late, later): (Vec<_>, _) = ((5..8).map(|rank| (Rank(rank), LATE / 5)).collect(), 4);
    let steps = vec![Step { root: Rank(0), len: 16_000 }; 8];
    let mut plan = lossy(2, steps);
    plan.late = late;
    plan.late.push((Rank(later), LATE));
    let outcome = simulate(&plan, &options(&[("algorithm", "window"), ("window", "8")])).unwrap();
    let ended: Vec<_> = (5..8).map(|rank| outcome.calls[0][rank].ended).collect();
    assert!(ended.iter().all(|ended| *ended < LATE), "{ended:?}");
    assert!((5..8).all(|rank| outcome.statistics[rank].lost > 0));
}
