//! The protocols over the links of a fabric.

use std::rc::Rc;
use verbcast_core::order::RankOrder;
use verbcast_core::protocol::options::Options;
use verbcast_core::rank::Rank;
use verbcast_core::wire::HEADER_LEN;
use verbcast_fabric::links::Parameters;
use verbcast_fabric::{
    FatTree, Numbering, Port, Quality, Routing, Scheme, ShapedTopology, UnicastTables,
};
use verbcast_sim::{Costs, Fabric, Outcome, Plan, Routes, Step, Traffic, simulate_on};

/// A fat tree with the tables of Zhou, Lin and Chung 2007.
struct Cyclic(Rc<Routes>);

impl Cyclic {
    fn new(ports: u8, levels: u8) -> Cyclic {
        let tree = FatTree::new(ports, levels).unwrap();
        let fabric = ShapedTopology::fat_tree(tree, Quality::default());
        let tables = Routing::Paper.tables(&fabric, Numbering::Aligned).unwrap();
        Cyclic(Rc::new(Routes::new(fabric, tables, Scheme::Cyclic).unwrap()))
    }

    fn fabric(&self, hosts: &[&[u32]]) -> Fabric {
        Fabric {
            routes: Rc::clone(&self.0),
            parameters: Parameters::default(),
            retry: 1_000_000,
            hosts: hosts.iter().map(|hosts| hosts.to_vec()).collect(),
        }
    }
}

/// Nothing takes time but links and switches.
fn free() -> Costs {
    Costs {
        copy: 0,
        copy_per_byte: 0,
        post_datagram: 0,
        post_reliable: 0,
        post_one_sided: 0,
        take: 0,
        acknowledgement: 0,
        multicast_latency: 0,
        unicast_latency: 0,
        wire_per_byte: 0,
        jitter: 0,
    }
}

fn options(algorithm: &str) -> Options {
    let mut options = Options::default();
    options.set("algorithm", algorithm).unwrap();
    options
}

fn plan(ranks: u32, broadcasts: usize, len: usize) -> Plan {
    Plan::new(ranks, vec![Step { root: Rank(0), len }; broadcasts])
}

fn simulate(fabric: Fabric, plans: &[Plan], algorithm: &str) -> (Vec<Outcome>, Traffic) {
    simulate_on(fabric, plans, &options(algorithm), |_, _| {}).unwrap()
}

#[test]
fn a_multicast_takes_what_links_and_switches_take() {
    let cyclic = Cyclic::new(4, 3);
    for (to, switches) in [(1, 1), (2, 3), (15, 5)] {
        let plans = [Plan { costs: free(), ..plan(2, 1, 100) }];
        let (outcomes, _) = simulate(cyclic.fabric(&[&[0, to]]), &plans, "window");
        // LRH 8, GRH 40, BTH 12, DETH 8, ICRC 4 and VCRC 2 go around what the driver sends.
        let bytes = 74 + HEADER_LEN as u32 + 100;
        let expected = Parameters::default().alone(switches, bytes);
        assert_eq!(outcomes[0].latency(0, Rank(0)), expected, "to {to}");
    }
}

#[test]
fn every_protocol_delivers_over_links() {
    let cyclic = Cyclic::new(4, 3);
    let hosts: Vec<u32> = (0..16).collect();
    for (algorithm, _) in verbcast_core::protocol::choice::Algorithm::NAMES {
        for len in [0, 8, 20_000] {
            let (outcomes, traffic) =
                simulate(cyclic.fabric(&[&hosts]), &[plan(16, 3, len)], algorithm);
            assert!(outcomes[0].failures.iter().all(Option::is_none), "{algorithm}");
            assert!(traffic.events > 0);
        }
    }
}

#[test]
fn acknowledgements_are_what_comes_to_the_root() {
    let cyclic = Cyclic::new(4, 3);
    let hosts: Vec<u32> = (0..16).collect();
    let (outcomes, traffic) = simulate(cyclic.fabric(&[&hosts]), &[plan(16, 10, 8)], "basic");
    let written = outcomes[0].total().reports_written;
    assert_eq!(written, 15 * 10);
    let into_root = cyclic.0.topology().peer(Port { node: 0, port: 1 }).unwrap();
    let carried = traffic.carried.iter().find(|(port, _)| *port == into_root).unwrap().1;
    // An RDMA write of 8 bytes: LRH 8, BTH 12, RETH 16, ICRC 4, VCRC 2; at 4 ns a byte.
    assert_eq!(carried, 4 * (8 + 12 + 16 + 8 + 4 + 2) * written);
}

#[test]
fn jobs_meet_where_they_share_links_and_only_there() {
    let cyclic = Cyclic::new(4, 3);
    let plans = |jobs: usize| vec![plan(4, 5, 4000); jobs];
    let calls = |hosts: &[&[u32]]| {
        let (outcomes, _) = simulate(cyclic.fabric(hosts), &plans(hosts.len()), "window");
        outcomes.into_iter().map(|outcome| outcome.calls).collect::<Vec<_>>()
    };
    let alone = calls(&[&[0, 1, 2, 3]]);
    // Another subtree, with links of its own: nothing changes, to the nanosecond.
    let apart = calls(&[&[0, 1, 2, 3], &[4, 5, 6, 7]]);
    assert_eq!((&apart[0], &apart[1]), (&alone[0], &alone[0]));
    // Both roots' packets go the same way up, and down to the same subtree.
    let last = |calls: &Vec<Vec<verbcast_sim::Call>>| {
        calls.iter().flatten().map(|call| call.ended).max().unwrap()
    };
    let meeting = [&[0, 8, 9, 1][..], &[4, 10, 11, 5][..]];
    let both = calls(&meeting);
    assert!(last(&both[0]).max(last(&both[1])) > last(&calls(&meeting[..1])[0]));
    assert_eq!(both, calls(&meeting));
}

#[test]
fn losses_are_repaired_over_links() {
    let cyclic = Cyclic::new(4, 3);
    let hosts: Vec<u32> = (0..12).collect();
    for algorithm in ["window", "co-root", "two-stage", "two-stage-on-demand"] {
        let mut plan = plan(12, 20, 5000);
        plan.faults.loss = 100_000;
        let (outcomes, _) = simulate(cyclic.fabric(&[&hosts]), &[plan], algorithm);
        assert!(outcomes[0].total().repaired > 0, "{algorithm}");
    }
}

/// Four jobs of four ranks each, whose ranks are all in other subtrees.
const CROSSING: [&[u32]; 4] = [&[0, 4, 8, 12], &[1, 5, 9, 13], &[2, 6, 10, 14], &[3, 7, 11, 15]];

#[test]
fn what_congestion_loses_is_repaired() {
    let cyclic = Cyclic::new(4, 3);
    let plans: Vec<Plan> = (0..4).map(|seed| Plan { seed, ..plan(4, 5, 20_000) }).collect();
    let (mut dropped, mut resent) = (0, 0);
    for (algorithm, _) in verbcast_core::protocol::choice::Algorithm::NAMES {
        let run = |lifetime| {
            let mut fabric = cyclic.fabric(&CROSSING);
            fabric.parameters.lifetime = lifetime;
            simulate(fabric, &plans, algorithm)
        };
        let (outcomes, traffic) = run(Some(10_000));
        for outcome in &outcomes {
            assert!(outcome.failures.iter().all(Option::is_none), "{algorithm}");
            // What is thrown away comes to nobody, and there is no other loss.
            assert!(traffic.dropped > 0 || outcome.total().lost == 0, "{algorithm}");
        }
        dropped += traffic.dropped;
        resent += traffic.resent;
        let (_, patient) = run(Some(3_600_000_000_000));
        assert_eq!((patient.dropped, patient.resent), (0, 0), "{algorithm}");
        assert_eq!(patient.carried, run(None).1.carried, "{algorithm}");
    }
    assert!(dropped > 0 && resent > 0, "{dropped} {resent}");
}

#[test]
fn a_packet_that_is_always_thrown_away_ends_the_simulation() {
    let cyclic = Cyclic::new(4, 3);
    let mut fabric = cyclic.fabric(&CROSSING);
    // Less than a packet takes to leave: whoever waits at all is thrown away, and all are sent again at once.
    fabric.parameters.lifetime = Some(1);
    fabric.retry = 1;
    let plans = vec![plan(4, 20, 20_000); 4];
    let done = simulate_on(fabric, &plans, &options("chain"), |_, _| {});
    let error = done.unwrap_err().0;
    assert!(error.contains("and each of its 7 retries"), "{error}");
}

#[test]
fn a_fabric_has_one_host_for_each_rank() {
    let cyclic = Cyclic::new(4, 2);
    let refused = |hosts: &[&[u32]], ranks| {
        let plans = vec![plan(ranks, 1, 8); hosts.len()];
        let done = simulate_on(cyclic.fabric(hosts), &plans, &options("window"), |_, _| {});
        done.unwrap_err().0
    };
    assert_eq!(refused(&[&[0, 1]], 3), "the fabric has not a host for each rank");
    assert_eq!(refused(&[&[0, 1], &[2, 1]], 2), "host 1 has ranks of two jobs");
    assert_eq!(refused(&[&[0, 8]], 2), "there is no host 8");
}

#[test]
fn ranks_of_a_host_share_its_link() {
    let cyclic = Cyclic::new(4, 2);
    let hosts: Vec<u32> = (0..12).map(|rank| rank / 3).collect();
    let order = RankOrder::by_host(&hosts.iter().map(Some).collect::<Vec<_>>());
    let run = |ranks_per_node, algorithm| {
        let plan = Plan { order: order.clone(), ranks_per_node, ..plan(12, 4, 20_000) };
        let (outcomes, traffic) = simulate(cyclic.fabric(&[&hosts]), &[plan], algorithm);
        assert!(outcomes[0].failures.iter().all(Option::is_none), "{algorithm}");
        (outcomes[0].total(), traffic.carried)
    };
    for (algorithm, _) in verbcast_core::protocol::choice::Algorithm::NAMES {
        let (flat, _) = run(1, algorithm);
        let (shared, _) = run(3, algorithm);
        assert_eq!(flat.node_received, 0, "{algorithm}");
        let has_multicast = shared.multicast_sent > 0;
        assert_eq!(shared.node_received > 0, has_multicast, "{algorithm}");
    }
    // Each message goes to a host once, and one word of each host to the next: as if a host had one rank.
    let alone = simulate(cyclic.fabric(&[&[0, 1, 2, 3]]), &[plan(4, 4, 20_000)], "two-stage");
    for ranks_per_node in [1, 3] {
        assert_eq!(run(ranks_per_node, "two-stage").1, alone.1.carried, "{ranks_per_node}");
    }
}

#[test]
fn packets_that_find_no_way_end_the_simulation() {
    let cyclic = Cyclic::new(4, 2);
    let mut fabric = cyclic.fabric(&[&[0, 7]]);
    let without = UnicastTables::new(cyclic.0.tables().lids().clone(), 6);
    let fat_tree = cyclic.0.fabric().clone();
    fabric.routes = Rc::new(Routes::new(fat_tree, without, Scheme::Cyclic).unwrap());
    let done = simulate_on(fabric, &[plan(2, 1, 8)], &options("window"), |_, _| {});
    assert!(done.unwrap_err().0.contains("forwards a packet to no link"));
}
