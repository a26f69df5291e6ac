//! What holds for OpenSM's tables without OpenSM. What it does itself is in `recorded`, and is compared in
//! tests/command/fabric.rs.

use super::*;
use crate::opensm::{Engine, Hops, Options, Ranking, order, root, spanning_tree, unicast_tables};

/// Fat trees and meshes, some of them not square.
fn topologies() -> Vec<Topology> {
    let trees =
        [(4, 2), (4, 3), (6, 2), (8, 2)].map(|(ports, levels)| fat_tree_of(ports, levels).1);
    let meshes = [(3, 3), (4, 2), (2, 5)].map(|(columns, rows)| mesh_of(columns, rows).1);
    trees.into_iter().chain(meshes).collect()
}

/// The keys of OpenSM's maps are GUIDs as they are on the wire.
#[test]
fn switches_are_in_the_order_of_their_guids_read_backwards() {
    let (mesh, topology) = mesh_of(3, 1);
    let topology = topology.with_switch_guids(&[0x0102, 0x0201, 0x0300]).unwrap();
    let expected = [2, 1, 0].map(|x| mesh.switch(x, 0));
    assert_eq!(order(&topology), expected);
}

#[test]
fn all_engines_lead_everywhere_by_shortest_paths() {
    for topology in topologies() {
        let lids = Lids::consecutive(&topology).unwrap();
        for engine in [Engine::MinHop, Engine::UpDown, Engine::FatTree, Engine::Dor] {
            let tables = unicast_tables(&topology, &lids, engine, Options::default()).unwrap();
            let endpoints = topology.endpoints().len() as u32;
            for (from, to) in (0..endpoints).flat_map(|a| (0..endpoints).map(move |b| (a, b))) {
                let path = walk(&topology, &tables, from, lids.base(to)).unwrap();
                let [a, b] = [from, to].map(|at| topology.leaf(at).unwrap().node);
                let hops = Hops::shortest(&topology, b).least[topology.switch_index(a)];
                assert_eq!(path.len() as u32, hops + 1);
            }
        }
    }
}

/// The hosts' LIDs are spread over the ports up.
#[test]
fn min_hop_balances_the_ports_of_leaves() {
    let (tree, topology) = fat_tree_of(8, 2);
    let lids = Lids::consecutive(&topology).unwrap();
    let tables = unicast_tables(&topology, &lids, Engine::MinHop, Options::default()).unwrap();
    for leaf in tree.level(1) {
        let mut counts = [0; 9];
        for host in (0..tree.hosts()).filter(|host| !tree.is_below(leaf, *host)) {
            let port = tables.port(topology.switch_index(leaf), lids.base(host)).unwrap();
            counts[usize::from(port)] += 1;
        }
        assert_eq!(counts, [0, 0, 0, 0, 0, 7, 7, 7, 7]);
    }
}

#[test]
fn dimension_order_with_the_x_ports_first_is_xy() {
    for (columns, rows) in [(4, 4), (3, 5), (5, 2)] {
        let (mesh, topology) = mesh_of(columns, rows);
        let lids = Lids::consecutive(&topology).unwrap();
        let xy = mesh.unicast_tables(&topology, &lids);
        let by = |port_order: &[u8]| {
            let options = Options { port_order, ..Options::default() };
            unicast_tables(&topology, &lids, Engine::Dor, options).unwrap()
        };
        assert_eq!(by(&[1, 3, 2, 4, 5]), xy);
        assert_eq!(by(&[1, 3]), xy);
        // In ascending order north comes before west.
        assert_ne!(by(&[]), xy);
    }
}

/// The roots of a fat tree are as far from all hosts; a mesh has no such switch.
#[test]
fn up_down_finds_roots_on_trees_only() {
    let (tree, topology) = fat_tree_of(4, 3);
    let ranking = Ranking::new(&topology).unwrap();
    // Up from a leaf, and down to it again: never down and up.
    let target = tree.level(2).start;
    let hops = Hops::up_down(&topology, &ranking, target);
    assert_eq!(hops.least, Hops::shortest(&topology, target).least);
    assert_eq!(Ranking::new(&mesh_of(3, 3).1), None);
}

/// Below given roots packets go up and then down on a mesh too, where OpenSM finds no roots.
#[test]
fn up_down_keeps_to_given_roots() {
    let (mesh, topology) = mesh_of(4, 3);
    let lids = Lids::consecutive(&topology).unwrap();
    let roots = [mesh.switch(0, 0)];
    let options = Options { roots: &roots, ..Options::default() };
    let tables = unicast_tables(&topology, &lids, Engine::UpDown, options).unwrap();
    let height = |node| {
        let (x, y) = mesh.place(node);
        x + y
    };
    for (from, to) in (0..12).flat_map(|from| (0..12).map(move |to| (from, to))) {
        let path = walk(&topology, &tables, from, lids.base(to)).unwrap();
        let heights: Vec<u16> = path.iter().map(|hop| height(hop.switch)).collect();
        let lowest = heights.iter().position(|at| at == heights.iter().min().unwrap()).unwrap();
        assert!(heights[..=lowest].is_sorted_by(|a, b| a > b), "{heights:?}");
        assert!(heights[lowest..].is_sorted_by(|a, b| a < b), "{heights:?}");
    }
}

#[test]
fn spanning_trees_deliver_exactly_once_from_every_member() {
    for topology in topologies() {
        let mut draw = draw(topology.nodes().len() as u64);
        let mut checker = Checker::new(&topology);
        for _ in 0..40 {
            let group = random_group(&mut draw, topology.endpoints().len() as u32);
            let entries = spanning_tree(&topology, &group, |to| Hops::shortest(&topology, to));
            if group.len() < 2 {
                assert_eq!(entries, Entries::none(&topology));
                continue;
            }
            for source in &group {
                let outcome = checker.check(&entries, &group, *source);
                outcome.unwrap_or_else(|error| panic!("{source} to {group:?}: {error}"));
            }
        }
    }
}

/// The root is as near as can be to the farthest member; of several the first.
#[test]
fn the_root_is_the_first_of_the_nearest() {
    let (mesh, topology) = mesh_of(5, 1);
    let of = |places: &[u16]| {
        let members: Vec<u32> = places.iter().map(|x| mesh.host(*x, 0)).collect();
        root(&topology, &members, |to| Hops::shortest(&topology, to)).map(|root| mesh.place(root).0)
    };
    assert_eq!(of(&[0, 4]), Some(2));
    assert_eq!(of(&[0, 3]), Some(1));
    assert_eq!(of(&[4]), Some(4));
    assert_eq!(of(&[]), None);
}

/// All that is asked of a fabric of many hosts at once: topology, tables for one group, one check.
#[test]
fn a_fabric_of_27648_hosts_is_made_and_checked() {
    let (tree, topology) = fat_tree_of(48, 3);
    assert_eq!((tree.hosts(), topology.switches()), (27_648, 2_880));
    let group: Vec<u32> = (0..tree.hosts()).step_by(7).collect();
    let entries = tree.cyclic(&topology, &group, tree.way(5));
    let delivery = Checker::new(&topology).check(&entries, &group, 5).unwrap();
    assert_eq!((delivery.copies as usize, delivery.switches), (group.len(), 5));
}

/// Two leaves, one host each, below one root; with a link between the leaves if asked for.
fn two_leaves(is_linked: bool) -> Topology {
    let node = |kind, name: &str, guid, ports| Node { kind, name: name.to_owned(), guid, ports };
    let nodes = vec![
        node(Kind::Host, "a", 0x10, 1),
        node(Kind::Host, "b", 0x12, 1),
        node(Kind::Switch, "left", 0x21, 3),
        node(Kind::Switch, "right", 0x22, 3),
        node(Kind::Switch, "root", 0x23, 2),
    ];
    let link = |a, port_a, b, port_b| Link {
        ends: [Port { node: a, port: port_a }, Port { node: b, port: port_b }],
        quality: Quality::default(),
    };
    let mut links = vec![link(0, 1, 2, 1), link(1, 1, 3, 1), link(2, 2, 4, 1), link(3, 2, 4, 2)];
    links.extend(is_linked.then(|| link(2, 3, 3, 3)));
    Topology::new(nodes, links, &Default::default()).unwrap()
}

/// OpenSM's order of hosts at such a leaf is that of addresses in its memory.
#[test]
fn the_fat_tree_engine_is_refused_where_leaves_are_linked() {
    let tables = |is_linked, engine| {
        let topology = two_leaves(is_linked);
        let lids = Lids::consecutive(&topology).unwrap();
        unicast_tables(&topology, &lids, engine, Options::default())
    };
    assert!(tables(false, Engine::FatTree).is_ok());
    let refused = tables(true, Engine::FatTree).unwrap_err().to_string();
    assert!(refused.contains("left is linked") && refused.contains("minhop"), "{refused}");
    assert!(tables(true, Engine::MinHop).is_ok());
}
