//! The Omni-Path fabric manager on fabrics whose links differ in MTU and rate.

use super::*;
use crate::omnipath::{
    Change, Join, JoinError, Manager, MemberKind, Selection, Settings, Terms, Tree,
};

const MTUS: [u16; 3] = [2048, 4096, 8192];
const LANES: [u8; 3] = [1, 2, 4];

fn random_quality(draw: &mut ChaCha8Rng) -> Quality {
    let lane_mbps = [12_500, 25_000][below(draw, 2) as usize];
    let [mtu, lanes] = [below(draw, 3), below(draw, 3)].map(|at| at as usize);
    Quality { mtu: MTUS[mtu], lane_mbps, lanes: LANES[lanes] }
}

/// Connected switches with one to three hosts each, and links of all kinds between them, some of them parallel.
fn random_fabric(draw: &mut ChaCha8Rng) -> Topology {
    let switches = 1 + below(draw, 9);
    let homes: Vec<u32> =
        (0..switches).flat_map(|at| vec![at; 1 + below(draw, 3) as usize]).collect();
    let hosts = homes.len() as u32;
    let mut ports = vec![0_u8; switches as usize];
    let mut port = |switch: u32| {
        ports[switch as usize] += 1;
        Port { node: hosts + switch, port: ports[switch as usize] }
    };
    let mut links = Vec::new();
    for (host, home) in (0..).zip(&homes) {
        // Most hosts can join any group.
        let quality = match below(draw, 4) {
            0 => random_quality(draw),
            _ => Quality { mtu: 8192, lane_mbps: 25_000, lanes: 4 },
        };
        links.push(Link { ends: [Port { node: host, port: 1 }, port(*home)], quality });
    }
    let first = (1..switches).map(|at| (at, u64::from(at)));
    let more = (0..below(draw, 12)).map(|_| (below(draw, switches), 0)).collect::<Vec<_>>();
    for (a, bound) in first.chain(more) {
        let b = below(draw, if bound == 0 { switches } else { bound as u32 });
        if a != b {
            links.push(Link { ends: [port(a), port(b)], quality: random_quality(draw) });
        }
    }
    let host = |at: u32| (Kind::Host, format!("h{at}"), 1);
    let switch = |at: u32| (Kind::Switch, format!("s{at}"), ports[at as usize].max(1));
    let nodes = (0..hosts).map(host).chain((0..switches).map(switch)).zip(0_u64..);
    let nodes =
        nodes.map(|((kind, name, ports), at)| Node { kind, name, guid: 0x100 + 2 * at, ports });
    Topology::new(nodes.collect(), links, &Default::default()).unwrap()
}

/// Whether links that carry the terms lead from one switch to another, told without trees: by marking neighbours of
/// marked switches until nothing changes.
fn is_connected(topology: &Topology, terms: &Terms, from: u32, to: u32) -> bool {
    let mut marked = vec![false; topology.nodes().len()];
    marked[from as usize] = true;
    loop {
        let before = marked.clone();
        for Link { ends: [a, b], quality } in topology.links() {
            let carries = quality.mtu >= terms.mtu && quality.rate_mbps() >= terms.rate_mbps;
            if carries && topology.is_switch(a.node) && topology.is_switch(b.node) {
                let either = marked[a.node as usize] || marked[b.node as usize];
                marked[a.node as usize] = either;
                marked[b.node as usize] = either;
            }
        }
        if marked == before {
            return marked[to as usize];
        }
    }
}

fn random_settings(draw: &mut ChaCha8Rng) -> Settings {
    let selection = [Selection::LeastTotalCost, Selection::LeastWorstCaseCost];
    Settings {
        selection: selection[below(draw, 2) as usize],
        disable_strict_check: below(draw, 4) > 0,
        pruning: below(draw, 2) == 0,
        ..Settings::default()
    }
}

/// A group as the test knows it.
struct Group {
    terms: Terms,
    members: Vec<(u32, MemberKind)>,
    mlid: u16,
}

/// Every receiver gets one copy from every member, and nobody else any.
fn check(checker: &mut Checker<'_>, manager: &Manager, group: &Group) {
    let entries = manager.entries(group.mlid);
    let is_receiver = |kind: &MemberKind| *kind != MemberKind::SendOnly;
    let receivers = group.members.iter().filter(|(_, kind)| is_receiver(kind));
    let receivers: Vec<u32> = receivers.map(|(member, _)| *member).collect();
    for (source, _) in &group.members {
        let outcome = checker.check(&entries, &receivers, *source);
        outcome.unwrap_or_else(|error| panic!("{:?} from {source}: {error}", group.terms));
    }
}

#[test]
fn whoever_joins_is_reached_and_only_who_has_no_path_is_refused() {
    for seed in 0..400 {
        let mut draw = draw(seed);
        let topology = random_fabric(&mut draw);
        let settings = random_settings(&mut draw);
        let is_strict = !settings.disable_strict_check;
        let mut manager = Manager::new(topology.clone(), settings, 0, None).unwrap();
        let mut checker = Checker::new(&topology);
        let leaf = |endpoint| topology.leaf(endpoint).unwrap().node;
        let has_inner = topology
            .links()
            .iter()
            .any(|link| link.ends.iter().all(|end| topology.is_switch(end.node)));
        for mgid in 0..4 {
            let of = random_quality(&mut draw);
            let terms = Terms { pkey: 1, mtu: of.mtu, rate_mbps: of.rate_mbps() };
            let mut group = Group { terms, members: Vec::new(), mlid: 0 };
            for _ in 0..6 {
                let endpoint = below(&mut draw, topology.endpoints().len() as u32);
                if group.members.iter().any(|(member, _)| *member == endpoint) {
                    continue;
                }
                let kind = match (group.members.is_empty(), below(&mut draw, 3)) {
                    (true, _) | (_, 0) => MemberKind::Full,
                    (_, 1) => MemberKind::NonMember,
                    _ => MemberKind::SendOnly,
                };
                let at = leaf(endpoint);
                let path = match group.members.first() {
                    Some((member, _)) => is_connected(&topology, &terms, at, leaf(*member)),
                    None => {
                        let mut others = topology.switch_nodes().filter(|other| *other != at);
                        !has_inner || others.any(|other| is_connected(&topology, &terms, at, other))
                    }
                };
                match manager.join(Join { endpoint, mgid, kind, terms }) {
                    Ok(Change { mlid, .. }) => {
                        assert!(path, "{terms:?} of {endpoint} without a path");
                        group.mlid = mlid;
                        group.members.push((endpoint, kind));
                        check(&mut checker, &manager, &group);
                    }
                    Err(JoinError::NoPath) => assert!(!path, "{terms:?} of {endpoint}"),
                    Err(JoinError::Port) => {}
                    Err(JoinError::Unrealizable) => assert!(is_strict || !path, "{terms:?}"),
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
}

/// Section 4.5.2.4: there is a tree over all switches wherever they are connected, of the largest MTU for which there is
/// one, and of the largest rate for that.
#[test]
fn the_common_tree_reaches_everyone_and_no_larger_one_would() {
    for seed in 400..700 {
        let mut draw = draw(seed);
        let topology = random_fabric(&mut draw);
        let root = topology.hosts() + below(&mut draw, topology.switches());
        let tree = Tree::largest_complete(&topology, root).unwrap();
        let all: Vec<u32> = (0..topology.endpoints().len() as u32).collect();
        let mut checker = Checker::new(&topology);
        let [complete, pruned] =
            [tree.complete(&topology, &all), tree.pruned(&topology, &all, &[])];
        assert_eq!(complete, pruned);
        for source in &all {
            checker.check(&complete, &all, *source).unwrap();
        }
        for (mtu, lanes) in MTUS.into_iter().flat_map(|mtu| LANES.map(|lanes| (mtu, lanes))) {
            let terms = Terms { pkey: 1, mtu, rate_mbps: 25_000 * u32::from(lanes) };
            let reaches = |to| is_connected(&topology, &terms, root, to);
            if topology.switches() > 1 && topology.switch_nodes().all(reaches) {
                assert!((tree.mtu, tree.rate_mbps) >= (mtu, terms.rate_mbps), "{terms:?}");
            }
        }
    }
}

/// Section 4.5.2.5: a pruned tree has no switch that the group does not need: without any of its links between switches,
/// somebody would get nothing.
#[test]
fn a_pruned_tree_has_no_link_too_many() {
    for seed in 700..900 {
        let mut draw = draw(seed);
        let topology = random_fabric(&mut draw);
        let root = topology.hosts() + below(&mut draw, topology.switches());
        let tree = Tree::largest_complete(&topology, root).unwrap();
        let group = random_group(&mut draw, topology.endpoints().len() as u32);
        let entries = tree.pruned(&topology, &group, &[]);
        let mut checker = Checker::new(&topology);
        let links = checker.check(&entries, &group, group[0]).unwrap().links;
        let mut crossed = std::collections::BTreeSet::new();
        for source in &group {
            assert_eq!(checker.check(&entries, &group, *source).unwrap().links, links);
            crossed.extend(checker.crossed().iter().filter_map(|port| topology.link_index(*port)));
        }
        for node in topology.switch_nodes() {
            for port in entries.ports(topology.switch_index(node)).iter() {
                let link = topology.link_index(Port { node, port }).unwrap();
                let is_alone = group.len() == 1;
                assert!(is_alone || crossed.contains(&link), "port {port} of {node}");
            }
        }
    }
}

/// A fabric that changes under a group: whoever can be reached still is, once.
#[test]
fn groups_live_on_where_links_become_slower() {
    for seed in 900..1100 {
        let mut draw = draw(seed);
        let topology = random_fabric(&mut draw);
        let settings = random_settings(&mut draw);
        let mut manager = Manager::new(topology.clone(), settings, 0, None).unwrap();
        let terms = Terms { pkey: 1, mtu: 2048, rate_mbps: 12_500 };
        let mut group = Group { terms, members: Vec::new(), mlid: 0 };
        for endpoint in 0..topology.endpoints().len() as u32 {
            let join = Join { endpoint, mgid: 1, kind: MemberKind::Full, terms };
            group.mlid = manager.join(join).unwrap().mlid;
            group.members.push((endpoint, MemberKind::Full));
        }
        let slower = topology.links().iter().map(|link| match below(&mut draw, 4) {
            0 => Link { quality: Quality { lane_mbps: 2_500, lanes: 1, ..link.quality }, ..*link },
            _ => *link,
        });
        let slower =
            Topology::new(topology.nodes().to_vec(), slower.collect(), &Default::default());
        let slower = slower.unwrap();
        manager.sweep(slower.clone());
        let leaf = |endpoint| slower.leaf(endpoint).unwrap().node;
        let reaches = |(at, _): &(u32, MemberKind)| {
            let (from, to) = (leaf(group.members[0].0), leaf(*at));
            is_connected(&slower, &terms, from, to)
        };
        let mut checker = Checker::new(&slower);
        if group.members.iter().all(reaches) {
            check(&mut checker, &manager, &group);
        } else {
            let all: Vec<u32> = group.members.iter().map(|(member, _)| *member).collect();
            for source in &all {
                let outcome = checker.check(&manager.entries(group.mlid), &all, *source);
                assert!(matches!(outcome, Err(Violation::Missing(_))), "{outcome:?}");
            }
        }
    }
}
