//! `verbcast fabric`: what it prints and refuses, and the real OpenSM's tables.

use crate::needs;
use crate::support;
use crate::support::{Folder, Subcommand, names, run, text, verbcast};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use verbcast_fabric::{FatTree, Quality};

const FABRIC: Subcommand = Subcommand("fabric");

#[test]
fn show_counts_what_is_there() {
    let shown = FABRIC.json("show --fabric fat-tree:8,3");
    assert_eq!((&shown["hosts"], &shown["switches"]), (&128.into(), &80.into()));
    assert_eq!((&shown["longest_path"], &shown["lmc"]), (&5.into(), &4.into()));
    assert_eq!(shown["switches_by_height"]["3"], 16);
    let table = FABRIC.printed("show --fabric mesh:4,3");
    assert!(
        table.contains("12 with hosts") && table.contains("longest path  6 switches"),
        "{table}"
    );
}

/// Figure 6 of Zhou, Lin and Chung 2007, with its numbering.
#[test]
fn trace_follows_a_packet() {
    let args = "trace --fabric fat-tree:4,3 --from P000 --to P200 --numbering paper";
    let traced = FABRIC.json(args);
    assert_eq!(traced["lid"], 33);
    let left: Vec<u64> = traced["hops"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hop| hop["left"].as_u64().unwrap())
        .collect();
    assert_eq!(left, [3, 3, 3, 1, 1]);
    assert!(FABRIC.printed(args).contains("SW20-2       in by port 3, out by port 1"));
    // Hosts by number, and another routing.
    let traced = FABRIC.json("trace --fabric mesh:3,3 --from 0 --to 8 --routing minhop");
    assert_eq!(traced["hops"].as_array().unwrap().len(), 5);
}

#[test]
fn trace_checks_a_multicast() {
    let table =
        FABRIC.printed("trace --fabric fat-tree:4,3 --from P000 --group P200,P201,P210,P211");
    let verdict = "each member gets one copy and nobody else any: 10 links, at most 5 switches\n";
    assert!(table.ends_with(verdict), "{table}");
    for scheme in ["opensm", "omnipath", "omnipath-pruned", "xy"] {
        let args = format!("trace --fabric mesh:4,3 --from N0.0 --group all --scheme {scheme}");
        assert_eq!(FABRIC.json(&args)["links"], 23, "{scheme}");
    }
    let looping = "trace --fabric fat-tree:4,2 --from P01 --group P00,P20 --scheme literal";
    FABRIC.refused(looping, 1, "a copy comes back to SW1-0 by port 1");
}

#[test]
fn tables_are_those_of_the_library() {
    let tree = FatTree::new(4, 2).unwrap();
    let topology = tree.topology(Quality::default());
    let shown = FABRIC.json("tables --fabric fat-tree:4,2 --group P00,P20");
    let tables = shown["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 2);
    for (way, table) in (0..).zip(tables) {
        assert_eq!(table["mlid"], 0xc000 + way);
        let entries = tree.cyclic(&topology, &[0, 4], way);
        for switch in topology.switch_nodes() {
            let ports: Vec<u8> = entries.ports(topology.switch_index(switch)).iter().collect();
            assert_eq!(table["ports"][tree.name(switch)], serde_json::to_value(ports).unwrap());
        }
    }
    let one = FABRIC.json("tables --fabric fat-tree:4,2 --switch SW0-1");
    assert_eq!(one["ports"].as_object().unwrap().len(), 1);
    assert_eq!((&one["ports"]["SW0-1"]["2"], &one["owners"]["2"]), (&1.into(), &"P00".into()));
}

#[test]
fn mlids_are_counted_for_each_scheme() {
    let counted = FABRIC.json("mlids --fabric fat-tree:8,2");
    let of = |name: &str| {
        let schemes = counted["schemes"].as_array().unwrap();
        schemes.iter().find(|scheme| scheme["scheme"] == name).unwrap().clone()
    };
    assert_eq!((&of("cyclic")["mlids"], &of("opensm")["mlids"]), (&4.into(), &1.into()));
    // The packets of all hosts go through one root, or spread over all four.
    let busiest = ["cyclic", "opensm"].map(|name| of(name)["busiest_link"].as_u64().unwrap());
    assert_eq!(busiest, [7, 28]);
    let near = FABRIC.json("mlids --fabric fat-tree:8,2 --group 0,1,2 --sources 1");
    assert_eq!((&near["members"], &near["schemes"][0]["mlids"]), (&3.into(), &1.into()));
}

/// A thousand hosts that all send to one another: counted by the ways, not by the sources.
#[test]
fn mlids_of_a_large_fabric_are_counted() {
    let counted = FABRIC.json("mlids --fabric fat-tree:16,3");
    let mlids = counted["schemes"].as_array().unwrap().iter().map(|scheme| &scheme["mlids"]);
    assert_eq!(mlids.collect::<Vec<_>>(), [64, 1, 1, 1]);
    // Senders that are no members share the one tree that has them all.
    let outside = FABRIC.json("mlids --fabric fat-tree:4,3 --group P000,P300 --sources P100,P200");
    let pruned = outside["schemes"].as_array().unwrap().iter().map(|scheme| &scheme["mlids"]);
    assert_eq!(pruned.collect::<Vec<_>>()[1..], [1, 1, 1]);
}

/// OpenSM's trees and the pruned ones have only whom they are made for.
#[test]
fn tables_name_those_whose_packets_they_take() {
    let args = "tables --fabric fat-tree:4,2 --group P00,P20 --scheme";
    for scheme in ["opensm", "omnipath-pruned"] {
        let printed = FABRIC.printed(&format!("{args} {scheme}"));
        assert!(printed.contains("MLID 0xc000, from P00 P20\n"), "{printed}");
        let printed = FABRIC.printed(&format!("{args} {scheme} --sources P30"));
        assert!(printed.contains("from P30\n") && printed.contains("SW3-1"), "{printed}");
    }
    let printed = FABRIC.printed(&format!("{args} omnipath"));
    assert!(printed.contains("from everybody"), "{printed}");
    FABRIC.refused(
        "trace --fabric fat-tree:4,2 --from P10 --group P00,P20 --scheme opensm",
        2,
        "P10 sends, and is not in --group",
    );
    FABRIC.printed("trace --fabric fat-tree:4,2 --from P10 --group P00,P20 --scheme omnipath");
}

#[test]
fn files_are_written_whole_and_read_again() {
    let folder = Folder::new();
    let path = |name: &str| folder.path(name).display().to_string();
    FABRIC.printed(&format!("netlist --fabric fat-tree:4,3 -o {}", path("net")));
    let shown = FABRIC.json(&format!("show --fabric file:{}", path("net")));
    assert_eq!((&shown["hosts"], &shown["longest_path"]), (&16.into(), &5.into()));
    FABRIC.printed(&format!(
        "svg --fabric file:{} --from P000 --group P311 -o {}",
        path("net"),
        path("a.svg")
    ));
    let drawing = fs::read_to_string(folder.path("a.svg")).unwrap();
    assert!(drawing.ends_with("</svg>\n"));
    let title = format!("<title>file:{}, opensm, P000 to P000 P311</title>", path("net"));
    assert!(drawing.contains(&title), "{drawing}");
    assert_eq!(names(&folder), ["a.svg", "net"]);
    let wrong = "svg --fabric fat-tree:4,2 --from P01 --group P00,P20 --scheme literal";
    let title =
        "fat-tree:4,2, literal, P01 to P00 P20: a copy comes back to SW1-0 by port 1</text>";
    let drawing = FABRIC.printed(wrong);
    assert!(drawing.contains(title), "{drawing}");
    let many = FABRIC.printed("svg --fabric mesh:3,3 --from N0.0 --group all");
    assert!(many.contains(">mesh:3,3, xy, N0.0 to 9 hosts</text>"), "{many}");
    let graph = FABRIC.printed("dot --fabric mesh:2,2 --from N0.0 --group N1.1");
    assert_eq!(graph.matches("penwidth").count(), 4);
    fs::write(folder.path("bad"), "Switch 2 \"a\n").unwrap();
    FABRIC.refused(
        &format!("show --fabric file:{}", path("bad")),
        1,
        "bad: line 1: expected Switch, Ca or Rt",
    );
    FABRIC.refused(&format!("svg --fabric mesh:2,2 -o {}", path("no/such")), 1, "cannot write");
}

/// A slow link of a netlist is not taken for one of 100 Gbit/s.
#[test]
fn netlists_say_how_fast_links_are() {
    let netlist = recordings().join("two-ports.net");
    let shown = FABRIC.json(&format!("show --fabric file:{}", netlist.display()));
    let rates = shown["qualities"].as_array().unwrap().iter().map(|of| &of["rate_mbps"]);
    assert_eq!(rates.collect::<Vec<_>>(), [2_500, 100_000]);
    let printed = FABRIC.printed(&format!("show --fabric file:{}", netlist.display()));
    assert!(printed.contains("2.5 Gbit/s in 1 lane, MTU"), "{printed}");
}

#[test]
fn wrong_command_lines_are_refused() {
    for (args, says) in [
        ("show --fabric torus:3,3", "expected fat-tree:M,N, mesh:M,N or file:PATH"),
        ("show --fabric fat-tree:5,3", "an even number of ports, not 5"),
        (
            "trace --fabric mesh:2,2 --from X --to 1",
            "there is no host X: give a name or a number from 0 to 3",
        ),
        ("trace --fabric mesh:2,2 --from 0 --to 4", "there is no host 4"),
        ("trace --fabric mesh:2,2 --from 0", "--to"),
        (
            "trace --fabric mesh:2,2 --from 0 --group 1 --scheme cyclic",
            "--scheme cyclic: this fabric does not have the shape",
        ),
        ("tables --fabric mesh:2,2 --switch N0.0", "there is no switch N0.0"),
        ("check --fabric mesh:2,2 --engine dor --roots SW0.0", "--roots: only updn has roots"),
        ("tables --fabric mesh:2,2 --roots SW0.0", "--roots: only updn has roots"),
        ("tables --fabric mesh:2,2 --routing updn --roots x", "--roots: there is no switch x"),
        ("check --fabric mesh:2,2 --groups 901", "901 is not in 0..=900"),
    ] {
        FABRIC.refused(args, 2, says);
    }
    FABRIC.refused("show --fabric file:/there/is/none", 1, "/there/is/none: ");
    // Two roots beside which no path goes up and then down.
    FABRIC.refused(
        "trace --fabric mesh:4,4 --from N0.0 --to N3.3 --routing updn --roots SW1.1,SW2.2",
        1,
        "SW0.0 has no entry for the LID",
    );
    FABRIC.refused("tables --fabric fat-tree:16,3", 1, "try --routing d-mod-k, which has one");
    let folder = Folder::new();
    fs::write(folder.path("empty"), "Switch 2 \"a\"\n").unwrap();
    let empty = format!("trace --fabric file:{} --from 0 --to 0", folder.path("empty").display());
    FABRIC.refused(&empty, 2, "the fabric has no host with a link");
}

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/fabric")
}

/// The real programs, if they are installed.
#[test]
fn the_tables_are_those_of_the_real_opensm() {
    let checks = [
        "--fabric fat-tree:4,2 --engine minhop",
        "--fabric fat-tree:4,3 --engine updn --shuffle",
        "--fabric fat-tree:6,2 --engine ftree --shuffle --seed 2",
        "--fabric fat-tree:8,2 --engine minhop --shuffle --seed 3",
        "--fabric mesh:4,3 --engine dor --shuffle --seed 4 --port-order 1,3,2,4,5",
        "--fabric mesh:3,5 --engine minhop --shuffle --seed 5 --port-order 3,2",
        "--fabric mesh:4,3 --engine updn --roots SW1.1,SW3.2 --shuffle --seed 7",
    ];
    let folder = Folder::new();
    // Leaves with fewer hosts than others; adapters of two ports, without GUIDs.
    let netlist = |name: &str| format!("--fabric file:{}", recordings().join(name).display());
    let netlists = [
        format!("{} --engine ftree --shuffle --seed 6", netlist("three-levels-unequal.net")),
        format!("{} --groups 30", netlist("two-ports.net")),
    ];
    for check in checks.into_iter().chain(netlists.iter().map(String::as_str)) {
        let mut command = verbcast();
        command.args(["fabric", "check", "--json"]).args(check.split_whitespace());
        let output = run(command.env("TMPDIR", folder.path("")));
        let complaint = text(&output.stderr);
        if complaint.contains("the check cannot run") {
            needs::missing(complaint);
            return;
        }
        assert!(output.status.success(), "{check}: {complaint}{}", text(&output.stdout));
        let report: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
        assert_eq!(report["multicast"]["different"], 0);
        assert!(report["multicast"]["entries"].as_u64() >= Some(60));
        assert_eq!(report["unicast"]["different"], 0);
        assert!(report["unicast"]["entries"].as_u64() >= Some(12));
        // Nothing is left behind.
        assert!(names(&folder).is_empty());
    }
}

/// A check that is asked to end ends its programs and removes its folder.
#[test]
fn a_check_that_is_interrupted_leaves_nothing_behind() {
    let folder = Folder::new();
    let mut command = verbcast();
    command.args(["fabric", "check", "--fabric", "fat-tree:8,3", "--groups", "900"]);
    let running = support::spawn(command.env("TMPDIR", folder.path("")));
    while names(&folder).is_empty() {
        let id = running.id().to_string();
        if !Path::new("/proc").join(&id).join("fd").is_dir() || has_ended(&id) {
            needs::missing(text(&running.output().stderr));
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    running.signal("TERM");
    // Programs that the check has started have this in their environment.
    let mark = format!("verbcast-fabric-{}-", running.id());
    let output = running.output();
    assert!(!is_in_an_environment(&mark), "a program is left behind");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("interrupted"), "{}", text(&output.stderr));
    assert!(names(&folder).is_empty());
}

/// Whether a process is one that nobody has waited for yet.
fn has_ended(id: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_none_or(|rest| rest.starts_with('Z') || rest.is_empty())
}

/// Whether any process has the text in its environment.
fn is_in_an_environment(text: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter_map(|process| fs::read(process.path().join("environ")).ok())
        .any(|bytes| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
}
