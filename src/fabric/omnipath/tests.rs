use super::*;
use crate::{Checker, Entries, FIRST_MLID, FatTree, Kind, Link, Mesh, Node, Port, Quality};

const TERMS: Terms = Terms { pkey: 0xffff, mtu: 2048, rate_mbps: 25_000 };

fn mesh(columns: u16, rows: u16) -> (Mesh, Topology) {
    let mesh = Mesh::new(columns, rows).unwrap();
    (mesh, mesh.topology(Quality::default()))
}

fn manager(topology: &Topology, settings: Settings) -> Manager {
    Manager::new(topology.clone(), settings, 0, None).unwrap()
}

fn join(endpoint: u32, mgid: Mgid, kind: MemberKind) -> Join {
    Join { endpoint, mgid, kind, terms: TERMS }
}

/// The same topology with other qualities for some links.
fn with_links(topology: &Topology, quality: impl Fn(usize, &Link) -> Quality) -> Topology {
    let links = topology.links().iter().enumerate();
    let links = links.map(|(at, link)| Link { quality: quality(at, link), ..*link });
    Topology::new(topology.nodes().to_vec(), links.collect(), &Default::default()).unwrap()
}

#[test]
fn a_link_of_four_lanes_of_25_gbit_costs_12() {
    let cost = |lane_mbps, lanes| link_cost(&Quality { mtu: 4096, lane_mbps, lanes });
    assert_eq!([cost(25_000, 4), cost(25_000, 1), cost(100_000, 12)], [12, 48, 1]);
}

/// Section 4.5.2.4: the centre of a fabric by either algorithm.
#[test]
fn roots_are_in_the_centre() {
    let (mesh, topology) = mesh(5, 3);
    let switches = discovery(&topology, 0);
    assert_eq!(switches.len(), 15);
    assert_eq!(switches[..3], [mesh.switch(0, 0), mesh.switch(1, 0), mesh.switch(0, 1)]);
    for selection in [Selection::LeastTotalCost, Selection::LeastWorstCaseCost] {
        let root = select(&topology, &switches, selection, None, 50).unwrap();
        assert_eq!(root.switch, mesh.switch(2, 1));
    }
    let costs = Costs::of(&topology, mesh.switch(2, 1));
    assert_eq!(costs.worst, 3 * 12);
    // Sums of |dx| over columns and |dy| over rows: 3 · (2+1+0+1+2) + 5 · (1+0+1).
    assert_eq!(costs.total, 12 * (3 * 6 + 5 * 2));
}

#[test]
fn of_equal_switches_the_first_wins_but_for_the_managers_own() {
    let (mesh, topology) = mesh(2, 2);
    let switches = discovery(&topology, 0);
    let root = select(&topology, &switches, Selection::LeastTotalCost, None, 50).unwrap();
    assert_eq!(root.switch, mesh.switch(1, 0));
    let root = select(&topology, &switches[..1], Selection::LeastTotalCost, None, 50).unwrap();
    assert_eq!(root.switch, switches[0]);
    assert_eq!(select(&topology, &[], Selection::LeastTotalCost, None, 50), None);
}

/// `MinCostImprovement`: ⌊100 · gain / current⌋ has to reach it.
#[test]
fn a_root_stays_until_another_is_enough_better() {
    let (mesh, topology) = mesh(5, 1);
    let switches = discovery(&topology, 0);
    let guid = |x| topology.node(mesh.switch(x, 0)).guid;
    let choose = |current, percent| {
        let current = Some(guid(current));
        select(&topology, &switches, Selection::LeastWorstCaseCost, current, percent)
            .unwrap()
            .switch
    };
    // From the end the worst cost is 48, next to it 36, in the middle 24.
    assert_eq!(choose(0, 50), mesh.switch(2, 0));
    assert_eq!(choose(0, 51), mesh.switch(0, 0));
    assert_eq!(choose(1, 33), mesh.switch(2, 0));
    assert_eq!(choose(1, 34), mesh.switch(1, 0));
    // One that is gone does not stay.
    let gone = select(&topology, &switches, Selection::LeastTotalCost, Some(1), 100);
    assert_eq!(gone.unwrap().switch, mesh.switch(2, 0));
    // Nor does the best give way to its equal.
    assert_eq!(choose(2, 0), mesh.switch(2, 0));
}

#[test]
fn the_root_is_kept_when_another_manager_takes_over() {
    let (mesh, topology) = mesh(4, 1);
    let first = manager(&topology, Settings::default());
    assert_eq!(first.root().unwrap().switch, mesh.switch(1, 0));
    // From the other end the other middle switch would be found first.
    let other = Manager::new(topology.clone(), Settings::default(), 3, None).unwrap();
    assert_eq!(other.root().unwrap().switch, mesh.switch(2, 0));
    let over = Manager::new(topology, Settings::default(), 3, first.root_guid()).unwrap();
    assert_eq!(over.root().unwrap().switch, mesh.switch(1, 0));
}

/// Section 4.5.2.4: the largest MTU and rate with a tree over all switches.
#[test]
fn the_tree_is_that_of_the_largest_mtu_and_rate_that_reach_everyone() {
    let (mesh, topology) = mesh(3, 3);
    let large = Quality { mtu: 8192, lane_mbps: 25_000, lanes: 4 };
    let small = Quality { mtu: 2048, lane_mbps: 25_000, lanes: 1 };
    let corner = mesh.switch(0, 0);
    // All links of one corner are small.
    let mixed = with_links(&topology, |_, link| {
        if link.ends.iter().any(|end| end.node == corner) { small } else { large }
    });
    let root = mesh.switch(1, 1);
    let largest = Tree::largest_complete(&mixed, root).unwrap();
    assert_eq!((largest.mtu, largest.rate_mbps), (2048, 25_000));
    let unreached = Tree::grow(&mixed, root, 8192, 100_000);
    assert!(!unreached.is_complete());
    let all = Tree::largest_complete(&topology, root).unwrap();
    assert_eq!((all.mtu, all.rate_mbps), (4096, 100_000));
    assert_eq!(all.root(), root);
    // One link of the corner is enough, if it is large.
    let one = with_links(&topology, |_, link| {
        let is_east = link.ends.contains(&Port { node: corner, port: 2 });
        if link.ends[0].node == corner && !is_east { small } else { large }
    });
    assert_eq!(Tree::largest_complete(&one, root).unwrap().mtu, 8192);
}

/// Section 4.5.2.1.
#[test]
fn strict_and_relaxed_checks_refuse_what_they_should() {
    let (mesh, topology) = mesh(3, 1);
    let slow = Quality { mtu: 2048, lane_mbps: 25_000, lanes: 2 };
    let between = |x| [mesh.switch(x, 0), mesh.switch(x + 1, 0)];
    let mixed = with_links(&topology, |_, link| {
        if link.ends.map(|end| end.node) == between(1) { slow } else { link.quality }
    });
    let terms = |mtu, rate_mbps| Terms { pkey: 1, mtu, rate_mbps };
    let ask = |manager: &mut Manager, terms| {
        manager.join(Join { endpoint: 0, mgid: 1, kind: MemberKind::Full, terms })
    };
    let strict = manager(&mixed, Settings::default());
    let disable = Settings { disable_strict_check: true, ..Settings::default() };
    let relaxed = manager(&mixed, disable);
    for (terms, by_strict, by_relaxed) in [
        (terms(2048, 50_000), true, true),
        (terms(4096, 50_000), false, true),
        (terms(2048, 100_000), false, true),
        (terms(8192, 50_000), false, false),
        (terms(2048, 200_000), false, false),
    ] {
        assert_eq!(ask(&mut strict.clone(), terms).is_ok(), by_strict, "{terms:?}");
        assert_eq!(ask(&mut relaxed.clone(), terms).is_ok(), by_relaxed, "{terms:?}");
    }
    let refused = ask(&mut strict.clone(), terms(4096, 50_000));
    assert_eq!(refused, Err(JoinError::Unrealizable));
    // The tree of a group that needs more than all links have leaves the others out.
    let mut relaxed = relaxed;
    let change = ask(&mut relaxed, terms(4096, 50_000)).unwrap();
    let entries = relaxed.entries(change.mlid);
    assert!(entries.ports(2).is_empty(), "{entries:?}");
    assert!(!entries.ports(0).is_empty());
}

#[test]
fn a_port_whose_own_link_is_too_small_cannot_join() {
    let (_, topology) = mesh(2, 1);
    let small = Quality { mtu: 2048, ..Quality::default() };
    let mixed = with_links(&topology, |_, link| match link.ends[0].node {
        1 => small,
        _ => link.quality,
    });
    let mut manager = manager(&mixed, Settings::default());
    let large = Terms { mtu: 4096, ..TERMS };
    let ask = |endpoint| Join { endpoint, mgid: 1, kind: MemberKind::Full, terms: large };
    manager.join(ask(0)).unwrap();
    assert_eq!(manager.join(ask(1)), Err(JoinError::Port));
}

/// Section 4.5.2.3: the first to join does not fix the terms of a group that is there.
#[test]
fn groups_that_were_created_before_keep_their_terms_and_stay() {
    let (_, topology) = mesh(2, 2);
    let precreated = vec![Precreated { mgid: 7, terms: TERMS }];
    let mut manager = manager(&topology, Settings { precreated, ..Settings::default() });
    let mlid = manager.mlid(7).unwrap();
    let large = Terms { mtu: 4096, ..TERMS };
    let ask = Join { endpoint: 1, mgid: 7, kind: MemberKind::NonMember, terms: large };
    assert_eq!(manager.join(ask), Ok(Change { mlid, blocks: 1 }));
    let other = Terms { pkey: 5, ..TERMS };
    assert_eq!(manager.join(Join { terms: other, ..ask }), Err(JoinError::Pkey));
    manager.leave(1, 7).unwrap();
    assert_eq!(manager.mlid(7), Some(mlid));
    assert_eq!(manager.leave(1, 7), None);
    // Others go with their last full member.
    assert_eq!(manager.join(join(1, 8, MemberKind::SendOnly)), Err(JoinError::NoGroup));
    manager.join(join(1, 8, MemberKind::Full)).unwrap();
    manager.join(join(2, 8, MemberKind::NonMember)).unwrap();
    manager.leave(1, 8).unwrap();
    assert_eq!((manager.mlid(8), manager.mlids_in_use()), (None, 1));
}

#[test]
fn a_group_that_is_created_twice_is_one() {
    let (_, topology) = mesh(2, 1);
    let made = |terms| {
        let precreated = vec![Precreated { mgid: 7, terms: TERMS }, Precreated { mgid: 7, terms }];
        Manager::new(topology.clone(), Settings { precreated, ..Settings::default() }, 0, None)
    };
    let partial = Terms { pkey: TERMS.pkey & 0x7fff, ..TERMS };
    for terms in [TERMS, partial] {
        assert_eq!(made(terms).unwrap().mlids_in_use(), 1);
    }
    let other = made(Terms { mtu: 4096, ..TERMS }).unwrap_err();
    assert_eq!(other, JoinError::Terms(7));
    assert_eq!(other.to_string(), "::7 is created twice, with different terms");
}

#[test]
fn there_are_no_more_mlids_than_exist() {
    let (_, topology) = mesh(2, 1);
    let cap = |mlid_table_cap| {
        manager(&topology, Settings { mlid_table_cap, ..Settings::default() }).mlids()
    };
    assert_eq!([8, u16::MAX].map(cap), [8, u16::MAX - FIRST_MLID]);
}

#[test]
fn the_last_full_member_stays_one_until_it_leaves() {
    let (_, topology) = mesh(2, 1);
    let mut manager = manager(&topology, Settings::default());
    manager.join(join(0, 8, MemberKind::Full)).unwrap();
    for kind in [MemberKind::NonMember, MemberKind::SendOnly] {
        assert_eq!(manager.join(join(0, 8, kind)), Err(JoinError::LastFullMember));
    }
    manager.join(join(1, 8, MemberKind::Full)).unwrap();
    manager.join(join(0, 8, MemberKind::NonMember)).unwrap();
    manager.leave(1, 8).unwrap();
    assert_eq!((manager.mlid(8), manager.mlids_in_use()), (None, 0));
}

/// Section 4.5.2.5: a join changes one switch of a complete tree, and a whole branch of a pruned one.
#[test]
fn joins_are_cheap_on_complete_trees_and_dear_on_pruned_ones() {
    let (mesh, topology) = mesh(5, 1);
    let mut complete = manager(&topology, Settings::default());
    let pruning = Settings { pruning: true, ..Settings::default() };
    let mut pruned = manager(&topology, pruning);
    let full = |x| join(mesh.host(x, 0), 1, MemberKind::Full);
    // The first member's group is written everywhere; pruned, at its own switch.
    assert_eq!(complete.join(full(4)).unwrap().blocks, 5);
    assert_eq!(pruned.join(full(4)).unwrap().blocks, 1);
    assert_eq!(complete.join(full(0)).unwrap().blocks, 1);
    // All between the two are new, and the one at the end has a port more.
    assert_eq!(pruned.join(full(0)).unwrap().blocks, 5);
    assert_eq!(pruned.join(full(1)).unwrap().blocks, 1);
    let only = |x| join(mesh.host(x, 0), 1, MemberKind::SendOnly);
    assert_eq!(complete.join(only(3)).unwrap().blocks, 0);
    assert_eq!(pruned.join(only(3)).unwrap().blocks, 0);
    assert_eq!(complete.leave(mesh.host(0, 0), 1).unwrap().blocks, 1);
    assert_eq!(pruned.leave(mesh.host(0, 0), 1).unwrap().blocks, 2);
    // The last full members take the group with them.
    complete.leave(mesh.host(4, 0), 1).unwrap();
    assert_eq!(complete.tables().iter().count(), 0);
}

fn entries_of(pruning: bool, topology: &Topology, joins: &[(u32, MemberKind)]) -> Entries {
    let mut manager = manager(topology, Settings { pruning, ..Settings::default() });
    let mut mlid = FIRST_MLID;
    for (endpoint, kind) in joins {
        mlid = manager.join(join(*endpoint, 1, *kind)).unwrap().mlid;
    }
    manager.entries(mlid)
}

/// Receivers are the members that do not only send; senders are all of them.
#[test]
fn both_trees_deliver_exactly_once_from_every_member() {
    use MemberKind::{Full, NonMember, SendOnly};
    let tree = FatTree::new(4, 3).unwrap().topology(Quality::default());
    for topology in [tree, mesh(4, 3).1] {
        let joins = [(3, Full), (11, NonMember), (0, SendOnly), (6, Full)];
        let mut checker = Checker::new(&topology);
        for pruning in [false, true] {
            let entries = entries_of(pruning, &topology, &joins);
            for (source, _) in joins {
                let delivery = checker.check(&entries, &[3, 11, 6], source).unwrap();
                assert_eq!(delivery.copies, if source == 0 { 3 } else { 2 });
            }
        }
        let links = |pruning| {
            let entries = entries_of(pruning, &topology, &joins);
            let mut checker = Checker::new(&topology);
            checker.check(&entries, &[3, 11, 6], 3).unwrap().links
        };
        // The complete tree takes packets to all switches.
        assert_eq!(links(false), topology.switches() - 1 + 3);
        assert!(links(true) < links(false));
    }
}

/// Section 4.5.2.2.
#[test]
fn solicited_node_groups_share_500_mlids() {
    let (_, topology) = mesh(2, 1);
    let mut manager = manager(&topology, Settings::default());
    // The last 24 bits are those of the address.
    let solicited =
        |node: u32| 0xff12_601b_ffff_0000_0000_0001_ff00_0000_u128 | u128::from(node * 10_007);
    for node in 0..1100 {
        manager.join(join(node % 2, solicited(node), MemberKind::Full)).unwrap();
    }
    assert_eq!(manager.mlids_in_use(), 500);
    // The least used first: the 501st group has the MLID of the first.
    assert_eq!(manager.mlid(solicited(500)), manager.mlid(solicited(0)));
    assert_eq!(manager.mlid(solicited(1000)), manager.mlid(solicited(500)));
    // Shared are the receivers too.
    let entries = manager.entries(manager.mlid(solicited(0)).unwrap());
    let receivers = entries.iter().filter(|ports| ports.contains(crate::mesh::LOCAL));
    assert_eq!(receivers.count(), 1);
    // Others have MLIDs of their own, up to the cap.
    let given = (0..600).map(|mgid| manager.join(join(0, mgid, MemberKind::Full)));
    let refused = given.filter(|given| *given == Err(JoinError::Mlid(Exhausted::Table))).count();
    assert_eq!((refused, manager.mlids_in_use()), (600 - 524, 1024));
}

#[test]
fn groups_share_only_with_their_like_and_a_partition_has_its_cap() {
    let pool = Pool { mask: 0, value: 0, max: 4, max_per_pkey: Some(2) };
    let mut mlids = Mlids::new(100, vec![pool]);
    let mut assign = |pkey, mtu| mlids.assign(1, pkey, mtu, 25_000);
    let first = assign(1, 2048).unwrap();
    let second = assign(1, 2048).unwrap();
    assert_ne!(first, second);
    // Partition 1 has its two; the membership bit does not make it another.
    assert_eq!(assign(0x8001, 2048), Ok(first));
    assert_eq!(assign(1, 4096), Err(Exhausted::Pool));
    assert_ne!(assign(2, 2048).unwrap(), first);
    let fourth = assign(3, 2048).unwrap();
    // The pool is full now.
    assert_eq!(assign(4, 2048), Err(Exhausted::Pool));
    assert_eq!(assign(3, 2048), Ok(fourth));
    // An MLID comes back when its last group goes.
    mlids.release(fourth);
    assert_eq!(mlids.in_use(), 4);
    mlids.release(fourth);
    assert_eq!(mlids.in_use(), 3);
    assert_eq!(mlids.assign(1, 4, 2048, 25_000), Ok(fourth));
}

/// Section 4.5.2.4: a change of the fabric moves the root only if that is worth it.
#[test]
fn a_changed_fabric_moves_the_root_only_for_enough() {
    let (mesh, topology) = mesh(5, 1);
    let settings = |min_improvement| Settings { min_improvement, ..Settings::default() };
    // The link at the right end becomes so slow that the centre moves towards it.
    let slow = Quality { lanes: 1, lane_mbps: 1_000, ..Quality::default() };
    let changed = with_links(&topology, |_, link| {
        let ends = link.ends.map(|end| end.node);
        if ends == [mesh.switch(3, 0), mesh.switch(4, 0)] { slow } else { link.quality }
    });
    let mut patient =
        manager(&topology, Settings { selection: Selection::LeastWorstCaseCost, ..settings(50) });
    let mut eager =
        manager(&topology, Settings { selection: Selection::LeastWorstCaseCost, ..settings(0) });
    for manager in [&mut patient, &mut eager] {
        manager
            .join(Join {
                terms: Terms { rate_mbps: 1_000, ..TERMS },
                ..join(0, 1, MemberKind::Full)
            })
            .unwrap();
    }
    assert_eq!(
        (patient.sweep(changed.clone()), patient.root().unwrap().switch),
        (0, mesh.switch(2, 0))
    );
    // The links of the tree are the same, whatever the root.
    assert_eq!((eager.sweep(changed), eager.root().unwrap().switch), (0, mesh.switch(3, 0)));
}

#[test]
fn a_fabric_of_one_switch_has_a_tree_without_links() {
    let node = |kind, name: &str, guid, ports| Node { kind, name: name.to_owned(), guid, ports };
    let nodes = vec![
        node(Kind::Host, "a", 1, 1),
        node(Kind::Host, "b", 3, 1),
        node(Kind::Switch, "s", 5, 2),
    ];
    let link = |host, port| Link {
        ends: [Port { node: host, port: 1 }, Port { node: 2, port }],
        quality: Quality::default(),
    };
    let topology = Topology::new(nodes, vec![link(0, 1), link(1, 2)], &Default::default()).unwrap();
    let entries = entries_of(false, &topology, &[(0, MemberKind::Full), (1, MemberKind::Full)]);
    Checker::new(&topology).check(&entries, &[0, 1], 0).unwrap();
}

/// Section 4.5.2.3: a `MulticastGroup` without MGIDs.
#[test]
fn the_groups_of_ipoib_are_implied() {
    let groups = Precreated::ipoib(Terms { pkey: 0x0001, ..TERMS });
    let mgids: Vec<String> =
        groups.iter().map(|group| std::net::Ipv6Addr::from(group.mgid).to_string()).collect();
    assert_eq!(
        mgids,
        [
            "ff12:401b:8001::ffff:ffff",
            "ff12:401b:8001::1",
            "ff12:401b:8001::16",
            "ff12:401b:8001::fb",
            "ff12:601b:8001::1",
            "ff12:601b:8001::2",
            "ff12:601b:8001::16",
            "ff12:601b:8001::fb",
        ]
    );
    assert!(groups.iter().all(|group| group.terms.pkey == 1));
}

/// Section 4.5.2.2: "both the routes and destinations are shared", also where trees are pruned.
#[test]
fn groups_that_share_an_mlid_share_one_pruned_tree() {
    let (mesh, topology) = mesh(5, 1);
    let pool = Pool { mask: 0, value: 0, max: 1, max_per_pkey: None };
    let settings = Settings { pruning: true, pools: vec![pool], ..Settings::default() };
    let mut manager = manager(&topology, settings);
    for (x, mgid) in [(0, 1), (1, 1), (3, 2), (4, 2)] {
        manager.join(join(mesh.host(x, 0), mgid, MemberKind::Full)).unwrap();
    }
    assert_eq!(manager.mlid(1), manager.mlid(2));
    let everyone = [0, 1, 3, 4].map(|x| mesh.host(x, 0));
    let mut checker = Checker::new(&topology);
    for group in manager.groups() {
        assert_eq!(manager.receivers(group), everyone);
        for source in everyone {
            checker.check(&manager.entries(group.mlid), &everyone, source).unwrap();
        }
    }
}
