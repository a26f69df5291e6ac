//! The two-stage protocol among many ranks in one process, under loss, duplication and reordering.

mod cluster;

use cluster::{Plan, Step, run};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::time::Duration;
use verbcast::protocol::two_stage::{Config, Synchronisation};
use verbcast::rank::{OpId, Rank};
use verbcast::transport::Faults;

/// Bytes of a message in a fragment; as small as the network's packets.
const FRAGMENT: usize = 64;

fn plan(size: u32, steps: Vec<Step>) -> Plan {
    let protocol = Config {
        fragment_len: FRAGMENT,
        run_ahead: 4,
        in_flight: 8,
        absorbed: cluster::ABSORBED,
        synchronisation: Synchronisation::None,
        multicast: true,
    };
    let faults = Faults::default();
    Plan { size, steps, first_op: OpId(0), protocol, faults, at_once: 1, seed: 1 }
}

fn rotating(size: u32, lens: &[usize]) -> Vec<Step> {
    (0..).zip(lens).map(|(op, len)| Step { root: Rank(op % size), len: *len }).collect()
}

/// A plan that a seed draws, from everything that may vary.
fn drawn(seed: u64) -> Plan {
    let mut draw = ChaCha8Rng::seed_from_u64(seed);
    let mut below = |most: u32| draw.next_u32() % most;
    let size = 1 + below(9);
    let steps = (0..1 + below(12))
        .map(|_| Step { root: Rank(below(size)), len: below(10 * FRAGMENT as u32) as usize })
        .collect();
    let mut plan = plan(size, steps);
    plan.protocol.run_ahead = 1 + below(8);
    plan.protocol.multicast = below(8) > 0;
    plan.protocol.synchronisation = match below(3) {
        0 => Synchronisation::None,
        1 => Synchronisation::Delay(Duration::from_micros(u64::from(below(500)))),
        _ => Synchronisation::RandomRank { seed },
    };
    let mut probability = |most: u32| f64::from(below(most)) / 100.0;
    plan.faults = Faults {
        loss: probability(101),
        duplicate: probability(30),
        reorder: probability(50),
        seed,
    };
    plan.at_once = 1 + below(4) as usize;
    plan.first_op = OpId(u32::MAX - below(12));
    plan.seed = seed;
    plan
}

#[test]
fn whatever_the_seed_draws_every_rank_gets_every_message() {
    for seed in 0..2000 {
        run(&drawn(seed));
    }
}

#[test]
fn nothing_is_repaired_where_nothing_is_lost_and_the_receivers_listen() {
    let all = run(&plan(2, rotating(2, &[1, 64, 65, 0, 640])));
    let sent: u64 = all.iter().map(|one| one.multicast_sent).sum();
    assert_eq!(sent, 1 + 1 + 2 + 1 + 10);
    assert!(all.iter().all(|one| one.duplicates == 0 && one.rejected == 0), "{all:?}");
}

#[test]
fn without_a_single_datagram_the_chain_still_delivers() {
    let mut plan = plan(6, rotating(6, &[1000; 6]));
    plan.faults.loss = 1.0;
    let all = run(&plan);
    let repaired: u64 = all.iter().map(|one| one.repaired).sum();
    assert_eq!(repaired, 6 * 5 * 1000_u64.div_ceil(FRAGMENT as u64));
}

#[test]
fn operation_ids_wrap() {
    let mut plan = plan(3, rotating(3, &[100; 9]));
    plan.first_op = OpId(u32::MAX - 4);
    plan.faults.loss = 0.3;
    run(&plan);
}

#[test]
fn a_seed_repeats_a_run() {
    for seed in 0..20 {
        assert_eq!(run(&drawn(seed)), run(&drawn(seed)));
    }
}
