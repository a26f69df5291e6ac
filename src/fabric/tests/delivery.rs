//! Exactly one copy for each member and none for anybody else, whatever the source and the group.

use super::*;
use std::rc::Rc;

/// Every group and every source, members or not.
#[test]
fn cyclic_tables_deliver_exactly_once_on_the_whole_of_ibft_4_2() {
    let (tree, topology) = fat_tree_of(4, 2);
    let mut checker = Checker::new(&topology);
    for bits in 1_u32..1 << tree.hosts() {
        let group: Vec<u32> = (0..tree.hosts()).filter(|host| bits >> host & 1 == 1).collect();
        for source in 0..tree.hosts() {
            let entries = tree.cyclic(&topology, &group, tree.way(source));
            let outcome = checker.check(&entries, &group, source);
            outcome.unwrap_or_else(|error| panic!("source {source}, group {group:?}: {error}"));
        }
    }
}

#[test]
fn cyclic_tables_deliver_exactly_once_on_larger_trees() {
    for (ports, levels) in [(4, 3), (8, 2), (6, 2), (6, 3), (8, 3)] {
        let (tree, topology) = fat_tree_of(ports, levels);
        let mut checker = Checker::new(&topology);
        let mut draw = draw(1000 * u64::from(ports) + u64::from(levels));
        for _ in 0..60 {
            let group = random_group(&mut draw, tree.hosts());
            for way in 0..tree.ways() {
                let entries = tree.cyclic(&topology, &group, way);
                let sources = (0..tree.hosts()).filter(|source| tree.way(*source) == way);
                for source in sources {
                    let outcome = checker.check(&entries, &group, source);
                    outcome.unwrap_or_else(|error| panic!("{source} to {group:?}: {error}"));
                }
            }
        }
    }
}

#[test]
fn xy_unions_deliver_exactly_once_on_meshes_square_and_not() {
    for (columns, rows) in [(4, 4), (5, 5), (3, 7), (7, 3), (1, 6), (6, 1), (16, 16)] {
        let (mesh, topology) = mesh_of(columns, rows);
        let mut checker = Checker::new(&topology);
        let mut draw = draw(100 * u64::from(columns) + u64::from(rows));
        for _ in 0..20 {
            let group = random_group(&mut draw, mesh.hosts());
            for way in 0..mesh.ways() {
                let entries = mesh.xy_union(&topology, &group, way);
                for x in 0..columns {
                    let source = mesh.host(x, way as u16);
                    let outcome = checker.check(&entries, &group, source);
                    outcome.unwrap_or_else(|error| panic!("{source} to {group:?}: {error}"));
                }
            }
        }
    }
}

/// The smallest case in which the rule as printed forwards in circles.
#[test]
fn the_literal_union_loops_on_ibft_4_2() {
    let (tree, topology) = fat_tree_of(4, 2);
    let lids = Lids::fat_tree(&tree, &topology, Numbering::Paper).unwrap();
    let tables = tree.unicast_tables(&topology, &lids);
    let (source, group) = (host(&tree, "01"), [host(&tree, "00"), host(&tree, "20")]);
    let chosen = group.map(|to| lids.base(to) + tree.printed_offset(source, to) as u16);
    let entries = union::literal(&topology, &tables, &chosen);
    let error = Checker::new(&topology).check(&entries, &group, source).unwrap_err();
    assert!(matches!(error, Violation::Loop { .. }), "{error}");
    assert!(error.describe(&topology).contains("comes back to SW"));
}

#[test]
fn a_wrong_port_is_noticed_whatever_it_is() {
    let (tree, topology) = figure_2();
    let group = [host(&tree, "200"), host(&tree, "211")];
    let source = host(&tree, "000");
    let good = tree.cyclic(&topology, &group, tree.way(source));
    let mut checker = Checker::new(&topology);
    assert!(checker.check(&good, &group, source).is_ok());
    let mut changed = |label, level, change: fn(&mut PortSet)| {
        let mut entries = good.clone();
        change(entries.ports_mut(topology.switch_index(switch(&tree, label, level))));
        checker.check(&entries, &group, source).unwrap_err()
    };
    let lost = changed("21", 2, |ports| ports.remove(2));
    assert_eq!(lost, Violation::Missing(host(&tree, "211")));
    let foreign = changed("21", 2, |ports| ports.insert(1));
    assert_eq!(foreign, Violation::Foreign(host(&tree, "210")));
    // Two ways up from the first switch, which meet again below.
    let twice = changed("00", 2, |ports| ports.insert(4));
    let Violation::Duplicate { parted, ascending, .. } = twice else { panic!("{twice}") };
    assert_eq!((parted, ascending), (switch(&tree, "00", 2), true));
    let unlinked = changed("00", 2, |ports| ports.insert(9));
    let node = switch(&tree, "00", 2);
    assert_eq!(unlinked, Violation::Unlinked(Port { node, port: 9 }));
}

#[test]
fn copies_that_part_on_the_way_down_are_told_from_those_on_the_way_up() {
    // A root with two cables to one switch below.
    let node = |kind, name: &str, guid, ports| Node { kind, name: name.to_owned(), guid, ports };
    let nodes = vec![
        node(Kind::Host, "a", 10, 1),
        node(Kind::Host, "b", 20, 1),
        node(Kind::Switch, "leaf a", 30, 3),
        node(Kind::Switch, "leaf b", 40, 3),
        node(Kind::Switch, "root", 50, 3),
    ];
    let link = |a, port_a, b, port_b| Link {
        ends: [Port { node: a, port: port_a }, Port { node: b, port: port_b }],
        quality: Quality::default(),
    };
    let links = vec![
        link(0, 1, 2, 1),
        link(1, 1, 3, 1),
        link(2, 2, 4, 1),
        link(4, 2, 3, 2),
        link(4, 3, 3, 3),
    ];
    let topology = Topology::new(nodes, links, &Default::default()).unwrap();
    let mut entries = Entries::none(&topology);
    for (switch, ports) in [[1, 2].as_slice(), &[1], &[1, 2, 3]].into_iter().enumerate() {
        *entries.ports_mut(switch) = ports.iter().copied().collect();
    }
    let error = Checker::new(&topology).check(&entries, &[0, 1], 0).unwrap_err();
    assert_eq!(error, Violation::Duplicate { node: 3, parted: 4, ascending: false });
    assert_eq!(error.describe(&topology), "two copies come to leaf b, made at root");
}

/// q^(n−1) MLIDs in general, fewer when sources and members are close to one another; n on a mesh.
#[test]
fn groups_need_as_many_mlids_as_there_are_ways() {
    let count = |numbers: Vec<u32>| numbers.into_iter().max().unwrap() + 1;
    for (ports, levels) in [(4, 2), (4, 3), (6, 2), (8, 2)] {
        let (tree, topology) = fat_tree_of(ports, levels);
        let mut checker = Checker::new(&topology);
        let everyone: Vec<u32> = (0..tree.hosts()).collect();
        let own = |group: &[u32], source| Rc::new(tree.cyclic(&topology, group, tree.way(source)));
        let needed =
            checker.mlids(&everyone, &everyone, |source| own(&everyone, source), |_, _| {});
        assert_eq!(count(needed.unwrap()), tree.roots());
        let leaf: Vec<u32> = (0..tree.half()).collect();
        let needed = checker.mlids(&leaf, &leaf, |source| own(&leaf, source), |_, _| {});
        assert_eq!(count(needed.unwrap()), 1);
    }
    for (columns, rows) in [(4, 4), (3, 5), (5, 3)] {
        let (mesh, topology) = mesh_of(columns, rows);
        let everyone: Vec<u32> = (0..mesh.hosts()).collect();
        let own = |source| Rc::new(mesh.xy_union(&topology, &everyone, mesh.way(source)));
        let needed = Checker::new(&topology).mlids(&everyone, &everyone, own, |_, _| {});
        assert_eq!(count(needed.unwrap()), u32::from(rows));
    }
}
