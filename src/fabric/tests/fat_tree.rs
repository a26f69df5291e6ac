//! The worked examples of Zhou, Lin and Chung 2007.

use super::*;

/// Section 2.2.
#[test]
fn there_are_as_many_hosts_and_switches_as_the_paper_says() {
    for (ports, levels) in [(4, 2), (4, 3), (8, 2), (6, 3), (8, 3), (2, 4), (8, 1)] {
        let (tree, topology) = fat_tree_of(ports, levels);
        let half = u32::from(ports / 2);
        assert_eq!(topology.hosts(), 2 * half.pow(u32::from(levels)));
        let row = half.pow(u32::from(levels) - 1);
        assert_eq!(topology.switches(), (2 * u32::from(levels) - 1) * row);
        // Every port has a link.
        let used = topology.switch_nodes().map(|switch| topology.neighbours(switch).count());
        assert!(used.into_iter().all(|used| used == usize::from(ports)));
        assert_eq!(tree.hosts(), topology.hosts());
    }
}

/// Section 2.2 and figure 2: which ports are linked.
#[test]
fn links_follow_the_rule_of_the_paper() {
    for (ports, levels) in [(4, 3), (6, 3), (4, 4), (8, 2)] {
        let (tree, topology) = fat_tree_of(ports, levels);
        for upper in topology.switch_nodes() {
            let (w, l) = (tree.switch_label(upper), tree.level_of(upper));
            assert_eq!(tree.switch(&w, l), Some(upper));
            for (k, peer) in topology.neighbours(upper) {
                if !topology.is_switch(peer.node) {
                    let p = tree.label(peer.node);
                    let (last, before) = p.split_last().unwrap();
                    assert_eq!((before, k), (w.as_slice(), last + 1));
                    assert_eq!(l, levels - 1);
                    continue;
                }
                let (lower, l_lower) = (tree.switch_label(peer.node), tree.level_of(peer.node));
                if l_lower != l + 1 {
                    assert_eq!(l_lower + 1, l);
                    continue;
                }
                let at = usize::from(l);
                let without = [&lower[..at], &lower[at + 1..]].concat();
                assert_eq!(w[..w.len() - 1], without);
                assert_eq!(k, lower[at] + 1);
                assert_eq!(peer.port, w[w.len() - 1] + ports / 2 + 1);
            }
        }
    }
}

/// The examples after definition 4.
#[test]
fn prefixes_ancestors_ranks_and_pids_are_the_papers() {
    let (tree, _) = figure_2();
    let (a, b) = (host(&tree, "200"), host(&tree, "211"));
    assert_eq!(tree.common_prefix(a, b), 1);
    assert_eq!(tree.common_ancestors(a, b), [switch(&tree, "20", 1), switch(&tree, "21", 1)]);
    assert_eq!((tree.rank(1, a), tree.rank(1, b)), (0, 3));
    assert_eq!((a, b), (8, 11));
    assert_eq!(tree.common_prefix(host(&tree, "100"), host(&tree, "111")), 1);
    assert_eq!(tree.common_prefix(a, host(&tree, "000")), 0);
    assert_eq!(tree.common_ancestors(a, host(&tree, "000")).len(), 4);
    assert!(tree.common_ancestors(a, a).is_empty());
}

/// Figure 4.
#[test]
fn lid_sets_are_those_of_figure_4() {
    let (tree, topology) = figure_2();
    let lids = Lids::fat_tree(&tree, &topology, Numbering::Paper).unwrap();
    assert_eq!(lids.lmc(), 2);
    assert_eq!(lids.set(host(&tree, "300")).collect::<Vec<_>>(), [49, 50, 51, 52]);
    assert_eq!(lids.base(0), 1);
    for pid in 0..tree.hosts() {
        assert_eq!(u32::from(lids.base(pid)), 4 * pid + 1);
    }
    assert_eq!(lids.switch(0), 65);
}

/// Base LIDs that real InfiniBand takes, with a stride that is a power of two.
#[test]
fn aligned_lids_are_multiples_of_their_number() {
    for (ports, levels, lmc) in [(4, 3, 2), (6, 3, 4), (6, 2, 2), (8, 3, 4), (8, 1, 0)] {
        let (tree, topology) = fat_tree_of(ports, levels);
        let lids = Lids::fat_tree(&tree, &topology, Numbering::Aligned).unwrap();
        assert_eq!(lids.lmc(), lmc);
        for pid in 0..tree.hosts() {
            assert_eq!(lids.base(pid) % lids.per_endpoint(), 0);
            assert_eq!(lids.owner(lids.set(pid).last().unwrap()), Some(Owner::Endpoint(pid)));
        }
    }
}

#[test]
fn a_fabric_with_more_lids_than_there_are_is_refused() {
    let (tree, topology) = fat_tree_of(24, 3);
    let error = Lids::fat_tree(&tree, &topology, Numbering::Aligned).unwrap_err();
    assert!(error.to_string().contains("are not unicast LIDs"), "{error}");
    Lids::consecutive(&topology).unwrap();
}

/// Figure 5: P(000), P(001), P(010) and P(011) send to P(200).
#[test]
fn sources_choose_the_lids_of_figure_5() {
    let (tree, topology) = figure_2();
    let lids = Lids::fat_tree(&tree, &topology, Numbering::Paper).unwrap();
    let to = host(&tree, "200");
    let select = |from| tree.select(&lids, host(&tree, from), to);
    assert_eq!(["000", "001", "010", "011"].map(select), [33, 34, 35, 36]);
    // The cyclic groups CG(P(200), 0, y) choose the same LID.
    for suffix in ["00", "01", "10", "11"] {
        let of = |first: &str| tree.printed_offset(host(&tree, &(first.to_owned() + suffix)), to);
        assert!(["0", "1", "3"].map(of).iter().all(|offset| *offset == of("0")));
    }
    // CG(P(200), 1, y) and CG(P(200), 2, ε) as printed.
    let printed = |from| tree.printed_offset(host(&tree, from), to);
    assert_eq!(["210", "211", "201"].map(printed), [0, 1, 0]);
}

/// Figure 6: the paths Q, R, S and T from P(000), and the ports of path Q in the text of section
/// 3.3.1.
#[test]
fn packets_take_the_paths_of_figure_6() {
    let (tree, topology) = figure_2();
    let lids = Lids::fat_tree(&tree, &topology, Numbering::Paper).unwrap();
    let tables = tree.unicast_tables(&topology, &lids);
    let source = host(&tree, "000");
    let ascent = [("00", 2, 1, 3), ("00", 1, 1, 3), ("00", 0, 1, 3)];
    let descents = [
        ("200", 33, [("20", 1, 3, 1), ("20", 2, 3, 1)]),
        ("201", 37, [("20", 1, 3, 1), ("20", 2, 3, 2)]),
        ("210", 41, [("20", 1, 3, 2), ("21", 2, 3, 1)]),
        ("211", 45, [("20", 1, 3, 2), ("21", 2, 3, 2)]),
    ];
    for (to, lid, descent) in descents {
        assert_eq!(tree.select(&lids, source, host(&tree, to)), lid);
        let path = walk(&topology, &tables, source, lid).unwrap();
        let expected = ascent.iter().chain(&descent).map(|(label, level, arrived, left)| Hop {
            switch: switch(&tree, label, *level),
            arrived: *arrived,
            left: *left,
        });
        assert_eq!(path, expected.collect::<Vec<_>>(), "{to}");
    }
}

/// Figure 7: the entries for the group {33, 37, 41, 45} on the way from P(000).
#[test]
fn multicast_entries_are_those_of_figure_7() {
    let (tree, topology) = figure_2();
    let lids = Lids::fat_tree(&tree, &topology, Numbering::Paper).unwrap();
    let group: Vec<u32> = ["200", "201", "210", "211"].map(|to| host(&tree, to)).to_vec();
    let source = host(&tree, "000");
    let tables = tree.unicast_tables(&topology, &lids);
    let chosen: Vec<u16> = group.iter().map(|to| tree.select(&lids, source, *to)).collect();
    assert_eq!(chosen, [33, 37, 41, 45]);
    let schemes = [
        tree.cyclic(&topology, &group, tree.way(source)),
        union::literal(&topology, &tables, &chosen),
    ];
    for entries in schemes {
        for (label, level, arrived, expected) in [
            ("00", 2, 1, &[3][..]),
            ("00", 1, 1, &[3]),
            ("00", 0, 1, &[3]),
            ("20", 1, 3, &[1, 2]),
            ("20", 2, 3, &[1, 2]),
            ("21", 2, 3, &[1, 2]),
        ] {
            let mut ports = ports(&topology, &entries, switch(&tree, label, level));
            ports.retain(|port| *port != arrived);
            assert_eq!(ports, expected, "SW<{label}, {level}>");
        }
        let delivery = Checker::new(&topology).check(&entries, &group, source).unwrap();
        assert_eq!(delivery, Delivery { copies: 4, links: 10, switches: 5 });
    }
}

/// The offset that is the same for all destinations leads along the same path as the rank of the
/// paper's text.
#[test]
fn the_printed_rank_and_the_offset_lead_along_the_same_paths() {
    for (ports, levels) in [(4, 3), (6, 2), (6, 3), (4, 4)] {
        let (tree, topology) = fat_tree_of(ports, levels);
        let lids = Lids::fat_tree(&tree, &topology, Numbering::Aligned).unwrap();
        let tables = tree.unicast_tables(&topology, &lids);
        for (from, to) in (0..tree.hosts()).flat_map(|a| (0..tree.hosts()).map(move |b| (a, b))) {
            if from == to {
                continue;
            }
            let path = walk(&topology, &tables, from, tree.select(&lids, from, to)).unwrap();
            let printed = lids.base(to) + tree.printed_offset(from, to) as u16;
            assert_eq!(path, walk(&topology, &tables, from, printed).unwrap());
            // Hops of a path that meets at level α: 2(n − α) − 1.
            let meets = tree.common_prefix(from, to);
            assert_eq!(path.len(), 2 * usize::from(levels - meets) - 1);
        }
    }
}

/// All LIDs lead to their owners, whatever the source, those of switches as well.
#[test]
fn every_lid_is_reached_from_everywhere() {
    for (ports, levels) in [(4, 2), (6, 2), (4, 3)] {
        let (tree, topology) = fat_tree_of(ports, levels);
        for numbering in [Numbering::Paper, Numbering::Aligned] {
            let lids = Lids::fat_tree(&tree, &topology, numbering).unwrap();
            let tables = tree.unicast_tables(&topology, &lids);
            let owned = (1..=lids.last()).filter(|lid| lids.owner(*lid).is_some());
            for (source, lid) in owned.flat_map(|lid| (0..tree.hosts()).map(move |a| (a, lid))) {
                walk(&topology, &tables, source, lid).unwrap();
            }
        }
    }
}

#[test]
fn shapes_that_do_not_exist_are_refused() {
    for (ports, levels, says) in
        [(5, 2, "even"), (0, 2, "even"), (4, 0, "levels"), (254, 9, "nodes"), (4, 32, "nodes")]
    {
        let error = FatTree::new(ports, levels).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

/// As many hosts as the shape allows: nobody has the GUID of another.
#[test]
fn a_tree_of_half_a_million_hosts_is_a_topology() {
    let (tree, topology) = fat_tree_of(130, 3);
    assert_eq!((tree.hosts(), topology.hosts()), (549_250, 549_250));
    let (mesh, topology) = mesh_of(1000, 1000);
    assert_eq!((mesh.hosts(), topology.switches()), (1_000_000, 1_000_000));
}
