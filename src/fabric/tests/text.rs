//! Topologies read and written.

use super::*;

/// As printed by ibnetdiscover 2.1 for a netlist of two switches and four hosts.
pub(super) const TWO_SWITCHES: &str =
    include_str!("../../../tests/fixtures/fabric/two-switches.ibnetdiscover");

#[test]
fn what_ibnetdiscover_prints_is_read() {
    let topology = read::ibnetdiscover(TWO_SWITCHES, Quality::default()).unwrap();
    assert_eq!((topology.hosts(), topology.switches()), (4, 2));
    let names: Vec<&str> = topology.nodes().iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["P3", "P2", "P1", "P0", "SWB", "SW A"]);
    let a = topology.find("SW A").unwrap();
    let b = topology.find("SWB").unwrap();
    assert_eq!((topology.node(a).guid, topology.node(a).ports), (0x2000, 4));
    let peer = topology.peer(Port { node: a, port: 3 });
    assert_eq!(peer, Some(Port { node: b, port: 3 }));
    assert_eq!(topology.links().len(), 6);
    let link = topology.link(Port { node: a, port: 4 }).unwrap();
    assert_eq!(link.quality, Quality { mtu: 4096, lane_mbps: 25_000, lanes: 4 });
    // P3 has two ports, and only the second has a link.
    let p3 = topology.endpoint_at(Port { node: 0, port: 2 }).unwrap();
    assert_eq!(topology.endpoints()[p3 as usize].guid, 0x10_0032);
    assert_eq!(topology.leaf(p3), Some(Port { node: b, port: 2 }));
    assert_eq!(topology.endpoint_at(Port { node: 0, port: 1 }), None);
}

#[test]
fn a_netlist_is_read_as_it_was_written() {
    let (_, tree) = fat_tree_of(6, 2);
    let (_, mesh) = mesh_of(3, 4);
    for topology in [tree, mesh] {
        let again = read::ibnetdiscover(&netlist(&topology), Quality::default()).unwrap();
        assert_eq!(again.nodes(), topology.nodes());
        let sorted = |topology: &Topology| {
            let mut ends: Vec<_> = topology.links().iter().map(|link| link.ends).collect();
            ends.iter_mut().for_each(|ends| ends.sort());
            ends.sort();
            ends
        };
        assert_eq!(sorted(&again), sorted(&topology));
        assert_eq!(again.endpoints(), topology.endpoints());
    }
}

#[test]
fn errors_say_the_line_and_what_is_wrong() {
    let good =
        "switchguid=0x5\nSwitch 2 \"s\"\n[1] \"h\"[1]\n\ncaguid=0x9\nCa 1 \"h\"\n[1] \"s\"[1]\n";
    read::ibnetdiscover(good, Quality::default()).unwrap();
    for (from, to, expected) in [
        (
            "Switch 2",
            "Swatch 2",
            "line 2: expected Switch, Ca or Rt, a number of ports and a name in quotes, not Swatch",
        ),
        ("Switch 2", "Switch two", "line 2: two is not a number of ports from 1 to 254"),
        ("Switch 2", "Switch 0", "line 2: 0 is not a number of ports from 1 to 254"),
        (
            "\"s\"\n[1] \"h\"",
            "\"s\n[1] \"h\"",
            "line 2: expected Switch, Ca or Rt, a number of ports and a name in quotes",
        ),
        ("switchguid=0x5", "switchguid=0xg", "line 1: no GUID: 0xg"),
        ("[1] \"h\"[1]", "[1] \"h\"[1] w=0", "line 3: w=0: expected 1 to 31"),
        ("[1] \"h\"[1]", "[1] \"h\"[1] s=x", "line 3: s=x: expected 0 to 7"),
        ("[1] \"h\"[1]", "[3] \"h\"[1]", "line 3: port 3 of a node of 2 ports"),
        ("[1] \"h\"[1]", "[300] \"h\"[1]", "line 3: [300] is not a port from 1 to 254"),
        (
            "[1] \"h\"[1]",
            "[1] h[1]",
            "line 3: expected a port, the name of a node in quotes and its port",
        ),
        ("[1] \"h\"[1]", "[1] \"h\"", "line 3: expected a port number in brackets"),
        ("[1] \"h\"[1]", "[1] \"x\"[1]", "line 3: there is no node \"x\""),
        (
            "[1] \"h\"[1]",
            "[2] \"h\"[1]",
            "line 3: line 7 says that port 1 of \"h\" leads to port 1 of \"s\"",
        ),
        ("[1] \"s\"[1]", "", "line 3: port 1 of \"h\" has no line"),
        ("Ca 1 \"h\"", "Ca 1 \"s\"", "line 6: there was a node \"s\" before"),
        ("caguid=0x9\nCa 1 \"h\"\n", "", "line 5: a port without a node before it"),
        ("caguid=0x9", "caguid=0x5", "h and s have the same GUID 0x5"),
        (
            "[1] \"h\"[1]\n",
            "[1] \"h\"[1]\n[1] \"h\"[1]\n",
            "line 4: there was a line for port 1 before",
        ),
    ] {
        assert!(good.contains(from));
        let error = read::ibnetdiscover(&good.replace(from, to), Quality::default()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(
        read::ibnetdiscover("# nothing\n", Quality::default()).unwrap_err().to_string(),
        "there is no node in it"
    );
}

/// Three switches in a row as a netlist has them, with `options` at both ends of the second link.
fn netlist_without_guids(left: &str, right: &str) -> String {
    format!(
        "Switch 2 \"a\"\n[1] \"b\"[1]\n[2] \"h\"[2]\n\nSwitch 2 \"b\"\n[1] \"a\"[1]\n[2] \"c\"[1] {left}\n\n\
         Switch 1 \"c\"\n[1] \"b\"[2] {right}\n\nHca 2 \"g\"\n\nHca 2 \"h\"\n[2] \"a\"[2]\n"
    )
}

/// ibsim counts from 0x100000 and 0x200000, and leaves room for a host's ports.
#[test]
fn nodes_without_guids_have_those_of_ibsim() {
    let topology = read::ibnetdiscover(&netlist_without_guids("", ""), Quality::default()).unwrap();
    let guids: Vec<u64> = topology.nodes().iter().map(|node| node.guid).collect();
    assert_eq!(guids, [0x10_0000, 0x10_0003, 0x20_0000, 0x20_0001, 0x20_0002]);
    assert_eq!(topology.endpoints()[0].guid, 0x10_0005);
    // Those after a given one follow it.
    let text = format!("switchguid=0x77\n{}", netlist_without_guids("", ""));
    let topology = read::ibnetdiscover(&text, Quality::default()).unwrap();
    let guids = topology.switch_nodes().map(|node| topology.node(node).guid);
    assert_eq!(guids.collect::<Vec<_>>(), [0x77, 0x78, 0x79]);
}

#[test]
fn widths_and_speeds_of_netlists_are_those_that_both_ends_have() {
    let of = |left: &str, right: &str| {
        let topology =
            read::ibnetdiscover(&netlist_without_guids(left, right), Quality::default())?;
        let link = topology.links().iter().find(|link| link.ends[0].node == 3);
        let quality = link.unwrap().quality;
        Ok::<_, read::ReadError>((quality.lanes, quality.lane_mbps))
    };
    for (left, right, lanes, mbps) in [
        ("", "", 4, 25_000),
        ("w=1 s=1", "w=1 s=1", 1, 2_500),
        ("w=1", "", 1, 25_000),
        ("w=3 s=7", "w=2 s=7", 4, 10_000),
        ("w=16 s=4 e=3", "w=16 s=4 e=1", 2, 14_000),
        ("s=7 e=15", "s=7 e=7", 4, 50_000),
        ("e=8", "e=8", 4, 100_000),
        ("w=12 e=2 # w=1", "", 12, 25_000),
        ("s=3", "", 4, 5_000),
        ("s=0", "s=0", 4, 10_000),
    ] {
        assert_eq!(of(left, right), Ok((lanes, mbps)), "{left}, {right}");
    }
    assert!(of("w=1", "w=2").unwrap_err().what.contains("no width in common"));
    assert!(of("s=1", "s=2").unwrap_err().what.contains("no speed in common"));
    let all = format!("width=1\nspeed=2\n{}", netlist_without_guids("", "s=1"));
    assert!(read::ibnetdiscover(&all, Quality::default()).is_err());
    let all = format!("width=1\nspeed=2\n{}", netlist_without_guids("", ""));
    let topology = read::ibnetdiscover(&all, Quality::default()).unwrap();
    assert!(topology.links().iter().all(|link| link.quality.rate_mbps() == 5_000));
}

/// What is written for ibsim is read with its widths and speeds.
#[test]
fn netlists_keep_widths_and_speeds() {
    for (lanes, lane_mbps) in [(1, 2_500), (4, 10_000), (2, 14_000), (8, 25_000), (12, 50_000)] {
        let quality = Quality { lanes, lane_mbps, ..Quality::default() };
        let topology = Mesh::new(2, 2).unwrap().topology(quality);
        let again = read::ibnetdiscover(&netlist(&topology), Quality::default()).unwrap();
        assert!(again.links().iter().all(|link| link.quality == quality), "{quality:?}");
    }
}

/// Whatever is cut off or put in, there is a topology or an error, and no panic.
#[test]
fn damaged_text_is_refused_in_peace() {
    let mut draw = draw(7);
    for _ in 0..3000 {
        let mut text: Vec<u8> = TWO_SWITCHES.bytes().collect();
        for _ in 0..1 + below(&mut draw, 4) {
            let at = below(&mut draw, text.len() as u32) as usize;
            match below(&mut draw, 3) {
                0 => text.truncate(at + 8),
                1 => text[at] = b"[]()\"#=x19 \n\xff"[below(&mut draw, 13) as usize],
                _ => drop(text.remove(at)),
            }
        }
        let _ = read::ibnetdiscover(&String::from_utf8_lossy(&text), Quality::default());
    }
}

#[test]
fn names_that_ibsim_does_not_take_are_replaced() {
    let node = |name: &str| Node { kind: Kind::Switch, name: name.to_owned(), guid: 255, ports: 3 };
    assert_eq!(identifier(&node("SW00-2")), "SW00-2");
    for name in ["", "a b", "a#1", "\"", &"x".repeat(64)] {
        assert_eq!(identifier(&node(name)), "S-00000000000000ff");
    }
}

#[test]
fn drawings_have_every_node_and_link_and_mark_what_they_are_told() {
    let (tree, topology) = figure_2();
    let (mesh, grid) = mesh_of(3, 2);
    for (topology, layout) in [(&topology, Layout::Layers), (&grid, Layout::Grid(mesh))] {
        let drawing = svg(topology, layout, &[3], "a <b>");
        assert_eq!(drawing.matches("<line").count(), topology.links().len());
        // For the reader's window, and in the picture.
        assert!(drawing.contains("<title>a &lt;b&gt;</title>\n"), "{drawing}");
        assert_eq!(drawing.matches(">a &lt;b&gt;</text>").count(), 1, "{drawing}");
        let strong = drawing.split("stroke-width=\"2.5\"").nth(1).unwrap();
        assert_eq!(strong.split("</g>").next().unwrap().matches("<line").count(), 1);
        for node in topology.nodes() {
            assert!(drawing.contains(&format!("<title>{}</title>", node.name)), "{}", node.name);
        }
        let graph = dot(topology, layout, &[3], "a \"b\"");
        assert!(graph.contains(r#"label="a \"b\"";"#), "{graph}");
        assert_eq!(graph.matches(" -- ").count(), topology.links().len());
        assert_eq!(graph.matches("penwidth").count(), 1);
        assert_eq!(graph.matches("shape=box").count(), topology.switches() as usize);
    }
    // Four rows: hosts, and switches of levels 2, 1 and 0.
    assert_eq!(dot(&topology, Layout::Layers, &[], "").matches("rank=same").count(), 4);
    let drawing = svg(&topology, Layout::Layers, &[], "");
    assert!(drawing.contains("height=\"456\" viewBox=\"0 -26 964 456\""), "{drawing}");
    // A title that is longer than the drawing is wide.
    let drawing = svg(&topology, Layout::Layers, &[], &"x".repeat(200));
    assert!(drawing.contains("viewBox=\"-268 -26 1500 456\""), "{drawing}");
    assert_eq!(tree.levels(), 3);
}

/// A ring: no two nodes at one place, and the switches not on one line.
#[test]
fn a_fabric_without_levels_is_drawn_as_a_circle() {
    let mut text = String::new();
    for at in 0..6 {
        let (before, after) = ((at + 5) % 6, (at + 1) % 6);
        text += &format!(
            "Switch 3 \"s{at}\"\n[1] \"s{before}\"[2]\n[2] \"s{after}\"[1]\n[3] \"h{at}\"[1]\n\n\
             Hca 1 \"h{at}\"\n[1] \"s{at}\"[3]\n\n"
        );
    }
    let ring = ShapedTopology::from(read::ibnetdiscover(&text, Quality::default()).unwrap());
    assert_eq!(ring.layout(), Layout::Circle);
    let drawing = svg(ring.topology(), ring.layout(), &[], "");
    let places = |element: &str, attribute: &str| {
        let start = format!("<{element} ");
        let of = |line: &str| Some(line.split(attribute).nth(1)?.split('"').nth(1)?.to_owned());
        let all = drawing.lines().filter(|line| line.starts_with(&start));
        all.filter_map(of).collect::<std::collections::BTreeSet<String>>()
    };
    assert!(places("circle", " cy=").len() > 2 && places("circle", " cx=").len() > 2, "{drawing}");
    // One of them is the paper.
    assert!(places("rect", " y=").len() > 3, "{drawing}");
    assert!(dot(ring.topology(), ring.layout(), &[], "").contains("layout=neato"));
    // One layer only of those that have more.
    let (_, tree) = figure_2();
    assert_eq!(ShapedTopology::from(tree).layout(), Layout::Layers);
}

#[test]
fn links_that_contradict_each_other_make_no_topology() {
    let (_, topology) = mesh_of(2, 1);
    let (nodes, links) = (topology.nodes(), topology.links());
    let twice = [links, &links[..1]].concat();
    let error = Topology::new(nodes.to_vec(), twice, &Default::default()).unwrap_err();
    assert_eq!(error.to_string(), "port 1 of N0.0 has two links");
    let mut reversed = nodes.to_vec();
    reversed.reverse();
    let error = Topology::new(reversed, Vec::new(), &Default::default()).unwrap_err();
    assert_eq!(error.to_string(), "host N1.0 comes after a switch");
}
