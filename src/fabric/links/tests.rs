use super::*;
use crate::{
    Entries, FatTree, Kind, Lids, Link, Mesh, Node, Numbering, Port, Quality, Topology,
    UnicastTables, mesh, union,
};
use std::collections::HashMap;
use std::sync::Arc;

const SIZES: [u32; 4] = [1, 32, 4096, 131_072];

fn fat_tree(ports: u8, levels: u8) -> (FatTree, Topology, Arc<UnicastTables>) {
    let tree = FatTree::new(ports, levels).unwrap();
    let topology = tree.topology(Quality::default());
    let lids = Lids::fat_tree(&tree, &topology, Numbering::Aligned).unwrap();
    let tables = Arc::new(tree.unicast_tables(&topology, &lids));
    (tree, topology, tables)
}

fn grid(columns: u16, rows: u16) -> (Mesh, Topology, Arc<UnicastTables>) {
    let mesh = Mesh::new(columns, rows).unwrap();
    let topology = mesh.topology(Quality::default());
    let lids = Lids::consecutive(&topology).unwrap();
    let tables = Arc::new(mesh.unicast_tables(&topology, &lids));
    (mesh, topology, tables)
}

fn links(topology: &Topology, tables: &Arc<UnicastTables>, parameters: Parameters) -> Links {
    Links::new(topology, Arc::clone(tables), parameters).unwrap()
}

/// When a single packet is delivered where nothing else moves, and whose it is.
fn alone(links: &mut Links, source: u32, to: To, bytes: u32) -> Vec<(u64, u32)> {
    let begin = links.now();
    links.send(begin, source, Packet { to, bytes, level: 0, tag: 9 });
    let mut delivered = Vec::new();
    while let Some((now, happening)) = links.advance().unwrap() {
        if let Happening::Delivered { endpoint, tag } = happening {
            assert_eq!(tag, 9);
            delivered.push((now - begin, endpoint));
        }
    }
    delivered
}

#[test]
fn a_packet_on_a_fat_tree_takes_the_closed_form_to_the_nanosecond() {
    for (ports, levels) in [(4, 3), (8, 3), (6, 2), (4, 1)] {
        let (tree, topology, tables) = fat_tree(ports, levels);
        let mut links = links(&topology, &tables, Parameters::default());
        for source in [0, tree.hosts() / 2 + 1, tree.hosts() - 1] {
            for destination in (0..tree.hosts()).filter(|other| *other != source) {
                // A path that meets at level α: 2(n − α) − 1 switches.
                let meets = u64::from(tree.common_prefix(source, destination));
                let h = 2 * (u64::from(levels) - meets) - 1;
                let lid = tree.select(tables.lids(), source, destination);
                for bytes in SIZES {
                    let expected = 20 * (h + 1) + 100 * h + 4 * u64::from(bytes);
                    let got = alone(&mut links, source, To::Lid(lid), bytes);
                    assert_eq!(got, [(expected, destination)]);
                    assert_eq!(links.parameters().alone(h as u32, bytes), expected);
                }
            }
        }
    }
}

#[test]
fn a_packet_on_a_mesh_takes_the_closed_form_to_the_nanosecond() {
    let (mesh, topology, tables) = grid(5, 4);
    for overlapped in [false, true] {
        let parameters =
            Parameters { overlapped, lanes: 2, lane_rule: LaneRule::Port, ..Parameters::default() };
        let mut links = links(&topology, &tables, parameters);
        for source in 0..mesh.hosts() {
            for destination in (0..mesh.hosts()).filter(|other| *other != source) {
                let ((x, y), (to_x, to_y)) = (mesh.place(source), mesh.place(destination));
                let h = u64::from(x.abs_diff(to_x) + y.abs_diff(to_y)) + 1;
                let to = To::Lid(tables.lids().base(destination));
                let expected = 20 * (h + 1) + 100 * h + 4 * 100;
                assert_eq!(alone(&mut links, source, to, 100), [(expected, destination)]);
            }
        }
    }
}

#[test]
fn a_multicast_alone_takes_the_closed_form_to_each_member() {
    for replication in [Replication::Asynchronous, Replication::Synchronous] {
        let (tree, topology, tables) = fat_tree(8, 3);
        let parameters = Parameters { replication, ..Parameters::default() };
        let mut links = links(&topology, &tables, parameters);
        let all: Vec<u32> = (0..tree.hosts()).collect();
        let group = links.group(Arc::new(tree.cyclic(&topology, &all, tree.way(5))));
        let mut delivered = alone(&mut links, 5, To::Group(group), 2048);
        delivered.sort_by_key(|(_, endpoint)| *endpoint);
        let expected: Vec<(u64, u32)> = (0..tree.hosts())
            .filter(|host| *host != 5)
            .map(|host| {
                let h = 2 * (3 - u64::from(tree.common_prefix(5, host))) - 1;
                (20 * (h + 1) + 100 * h + 4 * 2048, host)
            })
            .collect();
        assert_eq!(delivered, expected);
    }
}

#[test]
fn packets_to_one_host_follow_one_another_and_the_oldest_goes_first() {
    // One switch with four hosts: three send to the fourth at once.
    let (tree, topology, tables) = fat_tree(4, 1);
    let to = To::Lid(tree.select(tables.lids(), 0, 3));
    let order = |starts: [u64; 3], overlapped, output| {
        let parameters = Parameters { overlapped, output, ..Parameters::default() };
        let mut links = links(&topology, &tables, parameters);
        for (source, at) in (0..).zip(starts) {
            let packet = Packet { to, bytes: 1000, level: 0, tag: u64::from(source) };
            links.send(at, source, packet);
        }
        let mut delivered = Vec::new();
        while let Some((now, happening)) = links.advance().unwrap() {
            if let Happening::Delivered { tag, .. } = happening {
                delivered.push((now, tag));
            }
        }
        delivered
    };
    // Routed only when the output is free: 100 ns between two packets, who came first or by the lower
    // port goes first. One credit: the next waits for the receiver's, 40 ns after the last byte left.
    assert_eq!(order([0; 3], false, 1), [(4140, 0), (8240, 1), (12_340, 2)]);
    assert_eq!(order([2, 1, 0], false, 1), [(4140, 2), (8240, 1), (12_340, 0)]);
    // Routed meanwhile, only the credit is waited for.
    assert_eq!(order([0; 3], true, 2), [(4140, 0), (8180, 1), (12_220, 2)]);
}

#[test]
fn nothing_is_faster_than_the_bytes_of_the_busiest_receiver() {
    let (tree, topology, tables) = fat_tree(4, 3);
    for seed in 1..40 {
        let share = |bits: u64| Share::Percent([10, 40, 70, 100][(bits % 4) as usize]);
        let crowd = Crowd {
            sources: share(seed),
            members: share(seed / 4),
            shared: seed % 3 == 0,
            ascending: seed % 5 == 0,
        };
        let parameters = Parameters {
            lanes: 1 + (seed % 3) as u8,
            input: 1 + (seed % 2) as u16,
            overlapped: seed % 2 == 0,
            ..Parameters::default()
        };
        for unicast in [false, true] {
            let mut links = links(&topology, &tables, parameters);
            let mut expected = 0;
            let mut messages = Vec::new();
            let mut gets: HashMap<u32, u64> = HashMap::new();
            for (source, mut members) in crowd.draw(tree.hosts(), seed) {
                members.retain(|member| *member != source);
                expected += members.len() as u64;
                members.iter().for_each(|member| *gets.entry(*member).or_default() += 1);
                let to = match unicast {
                    true => {
                        let lid = |to: &u32| To::Lid(tree.select(tables.lids(), source, *to));
                        members.iter().map(lid).collect()
                    }
                    false => {
                        let entries = tree.cyclic(&topology, &members, tree.way(source));
                        vec![To::Group(links.group(Arc::new(entries)))]
                    }
                };
                messages.push(Message { source, to, bytes: 500 });
            }
            let load = carry(&mut links, &messages, 4096).unwrap();
            assert_eq!((load.delivered, load.dropped), (expected, 0), "seed {seed}");
            assert_eq!(load.floor, 4 * 500 * gets.values().max().unwrap());
            assert!(load.makespan > load.floor && load.mean <= load.makespan as f64);
            assert_eq!((links.on_the_way(), links.held.len()), (0, 0));
        }
    }
}

#[test]
fn messages_are_cut_into_packets() {
    let (tree, topology, tables) = fat_tree(4, 1);
    let mut links = links(&topology, &tables, Parameters::default());
    let to = vec![To::Lid(tree.select(tables.lids(), 0, 3))];
    let load = carry(&mut links, &[Message { source: 0, to, bytes: 9000 }], 4096).unwrap();
    assert_eq!((load.delivered, load.floor), (3, 4 * 9000));
    // The switch has one place for a packet at each side.
    assert_eq!(load.makespan, 4 * 9000 + 140 + 2 * 140);
}

/// Four switches in a ring, by which every host sends to the one two switches further on.
fn ring() -> (Topology, Arc<UnicastTables>) {
    let node = |kind, name: String, guid, ports| Node { kind, name, guid, ports };
    let hosts = (0..4).map(|at| node(Kind::Host, format!("H{at}"), at, 1));
    let switches = (0..4).map(|at| node(Kind::Switch, format!("S{at}"), 100 + at, 3));
    let port = |node, port| Port { node, port };
    let link = |a, b| Link { ends: [a, b], quality: Quality::default() };
    let local = (0..4).map(|at| link(port(at, 1), port(4 + at, 3)));
    let around = (0..4).map(|at| link(port(4 + at, 1), port(4 + (at + 1) % 4, 2)));
    let nodes = hosts.chain(switches).collect();
    let topology = Topology::new(nodes, local.chain(around).collect(), &HashMap::new()).unwrap();
    let lids = Lids::consecutive(&topology).unwrap();
    let mut tables = UnicastTables::new(lids.clone(), 4);
    for switch in 0..4 {
        for host in 0..4 {
            tables.set(switch, lids.base(host), if host as usize == switch { 3 } else { 1 });
        }
    }
    (topology, Arc::new(tables))
}

#[test]
fn packets_that_wait_for_one_another_are_found_and_named() {
    let (topology, tables) = ring();
    let run = |parameters| {
        let mut links = links(&topology, &tables, parameters);
        let lid = |source: u32, on: u32| To::Lid(tables.lids().base((source + on) % 4));
        let message = |source| Message { source, to: vec![lid(source, 3); 6], bytes: 2000 };
        carry(&mut links, &(0..4).map(message).collect::<Vec<_>>(), 4096)
    };
    let fault = run(Parameters::default()).unwrap_err();
    let Fault::Deadlock { packets, cycle } = &fault else { panic!("{fault:?}") };
    assert!(*packets >= 8);
    let mut nodes: Vec<u32> = cycle.iter().map(|port| port.node).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, [4, 5, 6, 7]);
    assert!(cycle.iter().all(|port| port.port == 1));
    let text = fault.describe(&topology);
    assert!(text.starts_with("deadlock: ") && text.contains(" S2 port 1"), "{text}");
    // A lifetime breaks it, and loses packets.
    let load = run(Parameters { lifetime: Some(100_000), ..Parameters::default() }).unwrap();
    assert!(load.dropped > 0);
    assert_eq!(load.delivered + load.dropped, 24);
    // So do buffers for all of them.
    let load = run(Parameters { input: 24, output: 24, ..Parameters::default() }).unwrap();
    assert_eq!((load.delivered, load.dropped), (24, 0));
}

#[test]
fn tables_that_go_in_circles_are_noticed() {
    // The smallest case of the rule as printed: IBFT(4, 2), source 01, group {00, 20}.
    let (tree, topology, tables) = fat_tree(4, 2);
    let per_host = u32::from(tables.lids().per_endpoint());
    let offset = |to| (tree.printed_offset(1, to) % per_host) as u16;
    let lids = [0, 4].map(|to| tables.lids().base(to) + offset(to));
    let entries = union::literal(&topology, &tables, &lids);
    let mut links = links(&topology, &tables, Parameters { input: 99, ..Parameters::default() });
    let to = vec![To::Group(links.group(Arc::new(entries)))];
    let fault = carry(&mut links, &[Message { source: 1, to, bytes: 64 }], 4096).unwrap_err();
    assert_eq!(fault, Fault::Circle);
}

#[test]
fn packets_to_nowhere_are_faults_and_copies_for_nobody_end_at_the_switch() {
    let (mesh, topology, tables) = grid(2, 2);
    let mut gone = UnicastTables::clone(&tables);
    let to = tables.lids().base(3);
    gone.set(0, to, mesh::WEST);
    let mut links = links(&topology, &Arc::new(gone), Parameters::default());
    let fault = carry(&mut links, &[Message { source: 0, to: vec![To::Lid(to)], bytes: 64 }], 64);
    assert_eq!(fault, Err(Fault::Stray(mesh.switch(0, 0))));

    let mut links = self::links(&topology, &tables, Parameters::default());
    let mut entries = Entries::none(&topology);
    entries.ports_mut(0).insert(mesh::EAST);
    let nobody = To::Group(links.group(Arc::new(entries)));
    assert_eq!(alone(&mut links, 0, nobody, 1), []);
    assert_eq!((links.on_the_way(), links.held.len()), (0, 0));
    // The credits are back.
    assert!(links.lanes.iter().all(|lane| lane.credits == 1));
}

#[test]
fn lanes_let_a_packet_pass_one_that_waits() {
    // Host 0 sends to a busy host and then to an idle one.
    let (tree, topology, tables) = fat_tree(4, 1);
    let idle_at = |lanes| {
        let mut links = links(&topology, &tables, Parameters { lanes, ..Parameters::default() });
        let to = |host| To::Lid(tree.select(tables.lids(), 0, host));
        links.send(0, 1, Packet { to: to(3), bytes: 100_000, level: 0, tag: 0 });
        links.send(1, 0, Packet { to: to(3), bytes: 1000, level: 0, tag: 1 });
        links.send(1, 0, Packet { to: to(2), bytes: 1000, level: 1, tag: 2 });
        let mut at = 0;
        while let Some((now, happening)) = links.advance().unwrap() {
            if happening == (Happening::Delivered { endpoint: 2, tag: 2 }) {
                at = now;
            }
        }
        at
    };
    assert_eq!(idle_at(2), 1 + 4000 + 140 + 4000);
    assert!(idle_at(1) > 400_000);
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let (_, topology, tables) = fat_tree(4, 1);
    let refused = |parameters| {
        Links::new(&topology, Arc::clone(&tables), parameters).unwrap_err().to_string()
    };
    let defaults = Parameters::default();
    assert!(refused(Parameters { lanes: 0, ..defaults }).contains("1 to 15 lanes, not 0"));
    assert!(refused(Parameters { lanes: 16, ..defaults }).contains("not 16"));
    assert!(refused(Parameters { input: 0, ..defaults }).contains("at least one packet"));
    assert!(refused(Parameters { output: 0, ..defaults }).contains("at least one packet"));
    let immortal = Parameters { lifetime: Some(u64::MAX), ..defaults };
    assert!(refused(immortal).contains("a packet lives for"));
}

#[test]
fn ports_have_the_lanes_of_the_mesh_papers_figure_6() {
    let lanes = |lanes| {
        let parameters = Parameters { lanes, lane_rule: LaneRule::Port, ..Parameters::default() };
        [mesh::EAST, mesh::NORTH, mesh::WEST, mesh::SOUTH].map(|port| parameters.lane(7, port))
    };
    assert_eq!((lanes(1), lanes(2), lanes(4)), ([0; 4], [0, 0, 1, 1], [0, 1, 2, 3]));
}

#[test]
fn draws_have_the_shares_that_are_asked_for() {
    let crowd = Crowd {
        sources: Share::Percent(40),
        members: Share::Percent(10),
        shared: false,
        ascending: true,
    };
    let drawn = crowd.draw(128, 1);
    assert_eq!((drawn.len(), drawn[0].1.len()), (51, 13));
    assert!(drawn.iter().all(|(_, group)| group.is_sorted()) && drawn[0].1 != drawn[1].1);
    assert_eq!(drawn, crowd.draw(128, 1));
    assert_ne!(drawn, crowd.draw(128, 2));
    let shared = Crowd { shared: true, sources: Share::One, ..crowd }.draw(128, 1);
    assert_eq!(shared.len(), 1);
    assert_eq!([Share::One.of(7), Share::Percent(1).of(7), Share::Percent(100).of(7)], [1, 1, 7]);
}
