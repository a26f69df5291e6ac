//! A rank that others have left behind, in simulations: what came while it was away, and was more than it can keep, it reads in a
//! row. Simulated times are the same in each run.

use verbcast_core::order::RankOrder;
use verbcast_core::protocol::Depths;
use verbcast_core::protocol::options::Options;
use verbcast_core::rank::Rank;
use verbcast_sim::{CERTAIN, Computing, Faults, Plan, Step, simulate};

const MILLISECOND: u64 = 1_000_000;
const AWAY: u64 = 5 * MILLISECOND;
/// The rank that is away. Rank 4 repairs it.
const BEHIND: usize = 5;

/// Broadcasts of eight ranks on two hosts, one of which is away while the others go on.
fn plan(steps: Vec<Step>) -> Plan {
    let places: Vec<_> = (0..8).map(|rank| (&[0_u32][..], rank / 4)).collect();
    let told: Vec<_> = places.iter().map(|(above, host)| Some((*above, *host))).collect();
    let away = Computing { rank: Rank(BEHIND as u32), after: 0, nanos: AWAY };
    let depths = Depths { receive: 64, ring: 64, ..Depths::DEFAULT };
    Plan { order: RankOrder::by_place(&told), computing: vec![away], depths, ..Plan::new(8, steps) }
}

/// When the rank that is behind has everything, of which it has lost much.
#[track_caller]
fn ended(plan: &Plan) -> u64 {
    let mut options = Options::default();
    options.set("algorithm", "window").unwrap();
    let outcome = simulate(plan, &options).unwrap();
    let behind = &outcome.statistics[BEHIND];
    assert!(behind.lost > 20, "{behind:?}");
    outcome.calls.iter().map(|calls| calls[BEHIND].ended).max().unwrap()
}

#[test]
fn what_was_more_than_is_kept_is_read_in_a_row() {
    let plan = plan(vec![Step { root: Rank(0), len: 8 }; 64]);
    let ended = ended(&plan);
    assert!(ended < 4 * AWAY, "it has everything after {ended} ns");
}

/// The same where nothing comes that shows what was sent.
#[test]
fn what_is_lost_without_anything_after_it_is_read_in_a_row() {
    let mut plan = plan(vec![Step { root: Rank(0), len: 8 }; 64]);
    plan.computing = Vec::new();
    plan.faults = Faults { loss: CERTAIN, ..Faults::default() };
    let ended = ended(&plan);
    // Each silence would take 8 ms; a usual pause is taken to be 2 ms where none is known.
    assert!(ended < 64 * 3 * MILLISECOND, "it has everything after {ended} ns");
}

/// What has come already of the broadcasts after a lost one shows that it is lost.
#[test]
fn lost_short_messages_cost_no_silences() {
    let mut plan = plan(vec![Step { root: Rank(0), len: 8 }; 500]);
    (plan.computing, plan.depths) = (Vec::new(), Depths::DEFAULT);
    plan.faults = Faults { loss: CERTAIN / 10, ..Faults::default() };
    let ended = ended(&plan);
    assert!(ended < 50 * MILLISECOND, "it has everything after {ended} ns");
}
