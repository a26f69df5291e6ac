use crate::{Computing, Outcome, Plan, Step, simulate};
use verbcast_core::driver::Statistics;
use verbcast_core::protocol::choice::{Algorithm, Table};
use verbcast_core::protocol::options::Options;
use verbcast_core::rank::Rank;

const MILLISECOND: u64 = 1_000_000;

fn run(plan: &Plan) -> Outcome {
    let mut options = Options::default();
    options.table = Table::uniform(Algorithm::Window);
    simulate(plan, &options).unwrap()
}

/// Eight ranks, so many of which share a node each.
fn plan(ranks_per_node: u32, steps: usize) -> Plan {
    let len = 20 * Plan::new(1, Vec::new()).fragment_len();
    Plan { ranks_per_node, ..Plan::new(8, vec![Step { root: Rank(0), len }; steps]) }
}

/// Datagrams that these ranks took from their own adapters.
fn off_the_wire(ranks: &[Statistics]) -> u64 {
    ranks.iter().map(|rank| rank.multicast_received - rank.node_received).sum()
}

/// Datagrams that each rank takes off the wire where none share a node.
fn sent(steps: usize) -> u64 {
    off_the_wire(&run(&plan(1, steps)).statistics) / 7
}

#[test]
fn a_node_takes_each_datagram_off_the_wire_once() {
    let (outcome, sent) = (run(&plan(4, 1)), sent(1));
    assert!(sent >= 20);
    let total = outcome.total();
    assert_eq!((total.lost, total.fetches), (0, 0));
    let (near, far) = outcome.statistics.split_at(4);
    assert_eq!(off_the_wire(near), 0, "the root publishes for its mates");
    assert_eq!(off_the_wire(far), sent);
    assert_eq!(total.node_received, 6 * sent);
    assert_eq!(total.node_published, 2 * sent);
    assert!(total.node_reported > 0 && total.node_reported < total.reports_written);
}

#[test]
fn where_all_share_a_node_nothing_is_on_the_wire() {
    let outcome = run(&plan(8, 3));
    assert_eq!(off_the_wire(&outcome.statistics), 0);
    assert_eq!(outcome.total().node_received, 7 * sent(3));
    assert_eq!(outcome.total().node_roles, 0);
    let total = outcome.total();
    assert!(total.reports_written > 0 && total.node_reported == total.reports_written);
}

#[test]
fn ranks_that_share_nothing_receive_for_themselves() {
    let outcome = run(&plan(1, 1));
    let total = outcome.total();
    assert_eq!((total.node_received, total.node_published, total.node_roles), (0, 0, 0));
    assert!(off_the_wire(&outcome.statistics) >= 7 * 20);
}

/// The receiver of the second node computes after the first broadcast. Its mates get the others without it, and it gets them when
/// it comes back.
#[test]
fn mates_of_a_receiver_that_computes_do_not_wait_for_it() {
    let mut plan = plan(4, 6);
    let receiver = Rank(4);
    assert_eq!(run(&plan).statistics[receiver.index()].node_roles, 1, "it comes first");
    plan.computing.push(Computing { rank: receiver, after: 0, nanos: 1000 * MILLISECOND });
    let outcome = run(&plan);
    let ended = |rank: usize| outcome.calls[5][rank].ended;
    for mate in [1, 2, 3, 5, 6, 7] {
        assert!(ended(mate) < 50 * MILLISECOND, "rank {mate} waits: {}", ended(mate));
    }
    assert!(ended(receiver.index()) > 1000 * MILLISECOND);
    let roles: u64 = outcome.statistics[5..].iter().map(|rank| rank.node_roles).sum();
    assert!(roles > 0, "nobody took its place");
}
