//! Every behaviour of small configurations, by a model checker over the very cores.

use stateright::{Checker, Model};
use std::fmt::Debug;
use verbcast_core::protocol::Core;
use verbcast_core::protocol::two_stage::{self, Synchronisation, TwoStage};
use verbcast_core::protocol::unicast::{self, Unicast};
use verbcast_core::protocol::window::{self, Acknowledge, Repair, Repairers, Window};
use verbcast_core::rank::Rank;
use verbcast_exploration::{Act, FIRST, FRAGMENT, Program, Setup};

fn explore<C: Core + Clone + Debug + Send + Sync + 'static>(name: &str, setup: Setup<C>) {
    let checker = setup.checker().threads(2).spawn_dfs().join();
    println!("{name}: {} states", checker.unique_state_count());
    checker.assert_properties();
}

/// Its messages are fewer than its successor takes before it has begun.
fn two_stage(me: Rank, size: u32, synchronisation: Synchronisation) -> TwoStage {
    two_stage_ahead(me, size, synchronisation, 100)
}

fn two_stage_ahead(me: Rank, size: u32, synchronisation: Synchronisation, eager: u32) -> TwoStage {
    let config = two_stage::Config {
        fragment_len: FRAGMENT,
        run_ahead: 4,
        in_flight: 4,
        absorbed: 1,
        eager,
        synchronisation,
        multicast: true,
    };
    TwoStage::new(me, size, FIRST, config).unwrap()
}

fn window(me: Rank, size: u32, change: impl Fn(&mut window::Config)) -> Window {
    let mut config = window::Config::new(FRAGMENT, 2);
    config.in_flight = 4;
    change(&mut config);
    Window::new(me, size, FIRST, config).unwrap()
}

fn rotating(lens: &[u64]) -> Vec<(Rank, u64)> {
    (0..).map(Rank).zip(lens.iter().copied()).collect()
}

fn setup<C>(make: fn(Rank, u32) -> C, size: u32, lens: &[u64]) -> Setup<C> {
    let program = Program::default();
    Setup { make, size, steps: rotating(lens), losses: 2, doubles: 1, early_timers: 1, program }
}

/// Where nothing goes wrong.
fn calm<C>(setup: Setup<C>) -> Setup<C> {
    Setup { losses: 0, doubles: 0, early_timers: 0, ..setup }
}

#[test]
fn two_stage_in_all_its_behaviours() {
    let none = |me, size| two_stage(me, size, Synchronisation::None);
    explore("two-stage, 2 ranks", setup(none, 2, &[20, 5]));
    let told = |me, size| two_stage_ahead(me, size, Synchronisation::None, 1);
    explore("two-stage that runs little ahead, 2 ranks", setup(told, 2, &[10, 5]));
    explore("two-stage, 3 ranks", setup(none, 3, &[5, 5]));
    let waits = |me, size| two_stage(me, size, Synchronisation::RandomRank { seed: 1 });
    explore("two-stage that waits for a rank, 3 ranks", setup(waits, 3, &[5, 5]));
    explore("two-stage, 4 ranks", Setup { losses: 1, ..calm(setup(none, 4, &[5, 5])) });
}

#[test]
#[ignore = "takes a minute or more"]
fn two_stage_among_four_ranks_with_a_doubled_datagram() {
    let none = |me, size| two_stage(me, size, Synchronisation::None);
    explore("two-stage, 4 ranks, doubled", Setup { doubles: 1, ..calm(setup(none, 4, &[5, 5])) });
}

fn push(me: Rank, size: u32) -> Window {
    window(me, size, |config| config.repair = Repair::Push)
}

#[test]
#[ignore = "takes a minute or more"]
fn window_with_push_among_three_ranks_with_all_faults() {
    explore("window, push, 3 ranks", setup(push, 3, &[5, 5]));
}

#[test]
fn window_with_push_in_all_its_behaviours() {
    explore("window, push, 2 ranks", setup(push, 2, &[20, 5]));
    let three = Setup { losses: 1, doubles: 0, ..setup(push, 3, &[5, 5]) };
    explore("window, push, 3 ranks", three);
    explore("window, push, 4 ranks", Setup { losses: 1, ..calm(setup(push, 4, &[5, 5])) });
    let basic = |me, size| {
        window(me, size, |config| {
            (config.repair, config.blocking, config.window) = (Repair::Push, true, 1);
        })
    };
    explore("basic, 2 ranks", setup(basic, 2, &[20, 5]));
}

#[test]
fn window_with_pull_in_all_its_behaviours() {
    let pull = |me, size| window(me, size, |_| {});
    explore("window, pull, 2 ranks", setup(pull, 2, &[20, 5]));
    let three = Setup { losses: 1, doubles: 0, ..setup(pull, 3, &[5, 5]) };
    explore("window, pull, 3 ranks", three);
    // The first four fragments ask, the fifth only by a question of its own.
    let needed = |me, size| {
        window(me, size, |config| {
            (config.acknowledge, config.window) = (Acknowledge::Needed, 8);
        })
    };
    let steps = vec![(Rank(0), 40), (Rank(0), 5)];
    explore(
        "window, pull, by need, 2 ranks",
        Setup { steps, losses: 1, ..calm(setup(needed, 2, &[])) },
    );
    let lazy = |me, size| {
        window(me, size, |config| {
            (config.acknowledge, config.piggyback) = (Acknowledge::Skewed(2), true);
        })
    };
    explore("window, pull, lazy and piggybacked, 2 ranks", setup(lazy, 2, &[5, 5]));
}

fn heads(me: Rank, size: u32) -> Window {
    window(me, size, |config| {
        (config.repair, config.repairers) = (Repair::Push, Repairers::CoRoots(2));
    })
}

#[test]
fn co_roots_in_all_their_behaviours() {
    let three = Setup { losses: 1, doubles: 0, ..setup(heads, 3, &[5, 5]) };
    explore("co-roots, push, 3 ranks", three);
    explore("co-roots, push, 4 ranks", Setup { losses: 1, ..calm(setup(heads, 4, &[5])) });
}

#[test]
#[ignore = "takes a minute or more"]
fn co_roots_among_four_ranks_with_two_broadcasts() {
    explore("co-roots, push, 4 ranks, two broadcasts", calm(setup(heads, 4, &[5, 5])));
}

#[test]
fn the_chain_on_demand_in_all_its_behaviours() {
    let chain = |me, size| window(me, size, |config| config.repairers = Repairers::Predecessor);
    let three = Setup { losses: 1, doubles: 0, early_timers: 0, ..setup(chain, 3, &[5, 5]) };
    explore("chain on demand, 3 ranks", three);
}

#[test]
fn unicast_in_all_its_behaviours() {
    for (name, make) in [
        ("binomial", (|me, size| unicast(me, size, unicast::Algorithm::Binomial)) as fn(_, _) -> _),
        ("chain", |me, size| unicast(me, size, unicast::Algorithm::Chain)),
        ("scatter-allgather", |me, size| unicast(me, size, unicast::Algorithm::ScatterAllgather)),
    ] {
        explore(&format!("{name}, 3 ranks"), setup(make, 3, &[20, 5]));
        explore(&format!("{name}, 4 ranks"), setup(make, 4, &[5, 15]));
    }
}

/// Two communicators on one endpoint, with short broadcasts whose roots rotate, and words in between.
fn shared<C>(make: fn(Rank, u32) -> C, size: u32, acts: &[Act]) -> Setup<C> {
    let broadcasts = acts.iter().filter(|act| matches!(act, Act::Broadcast(_)));
    let steps = (0..size).cycle().zip(broadcasts).map(|(root, _)| (Rank(root), 5)).collect();
    // One is left to come, and one of either communicator is not begun.
    let program = Program { acts: acts.to_vec(), receives: 3, reserved: 3 };
    Setup { program, steps, losses: 1, ..calm(setup(make, size, &[])) }
}

#[test]
fn two_communicators_on_one_endpoint() {
    use Act::{Broadcast, Word};
    let words = [Broadcast(0), Word(1, 0), Broadcast(1), Word(0, 1), Broadcast(0)];
    let two_stage = |me, size| two_stage_ahead(me, size, Synchronisation::None, 1);
    explore("two-stage, 2 ranks, shared", shared(two_stage, 2, &words));
    let pull = |me, size| window(me, size, |config| config.acknowledge = Acknowledge::Each);
    explore("window, pull, 2 ranks, shared", shared(pull, 2, &words));
    let three = [Broadcast(0), Word(2, 0), Broadcast(1)];
    explore("two-stage, 3 ranks, shared", shared(two_stage, 3, &three));
    explore("window, pull, 3 ranks, shared", calm(shared(pull, 3, &three)));
    let chain = |me, size| unicast(me, size, unicast::Algorithm::Chain);
    explore("chain, 3 ranks, shared", shared(chain, 3, &words));
}

/// What only the root sends again is missed for ever where the root waits for another's word.
#[test]
fn a_deadlock_is_found() {
    let setup = shared(push, 2, &[Act::Broadcast(0), Act::Word(1, 0)]);
    let checker = setup.checker().spawn_dfs().join();
    checker.assert_any_discovery("where nothing can happen, all is over");
    let pull = |me, size| window(me, size, |_| {});
    explore("window, pull", shared(pull, 2, &[Act::Broadcast(0), Act::Word(1, 0)]));
}

fn unicast(me: Rank, size: u32, algorithm: unicast::Algorithm) -> Unicast {
    Unicast::new(me, size, FIRST, unicast_config(algorithm)).unwrap()
}

fn unicast_config(algorithm: unicast::Algorithm) -> unicast::Config {
    unicast::Config {
        algorithm,
        fragment_len: FRAGMENT,
        segment_len: 0,
        long_from: None,
        in_flight: 4,
        eager: 1,
    }
}

/// Messages of two fragments and more in segments of two.
fn in_segments(me: Rank, size: u32, algorithm: unicast::Algorithm) -> Unicast {
    let long_from = Some(FRAGMENT as u64 + 1);
    let config = unicast_config(algorithm);
    let config = unicast::Config { segment_len: 2 * FRAGMENT, long_from, ..config };
    Unicast::new(me, size, FIRST, config).unwrap()
}

#[test]
fn segments_in_all_their_behaviours() {
    use unicast::Algorithm::{Chain, ScatterAllgather};
    let chain = |me, size| in_segments(me, size, Chain);
    explore("chain in segments, 2 ranks", setup(chain, 2, &[30, 5]));
    explore("chain in segments, 3 ranks", setup(chain, 3, &[30, 5]));
    let scatter = |me, size| in_segments(me, size, ScatterAllgather);
    explore("scatter-allgather in segments, 3 ranks", setup(scatter, 3, &[30, 20]));
    let binomial = |me, size| in_segments(me, size, unicast::Algorithm::Binomial);
    explore("binomial in segments, 3 ranks", setup(binomial, 3, &[20, 20]));
}
