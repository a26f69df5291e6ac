//! `verbcast fabric program` on the real ibsim, beside the tools of infiniband-diags.

use crate::needs;
use crate::simulated_fabric::{Simulated, Tables, preloaded};
use crate::support::{Running, names, run, spawn, text, verbcast};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::Output;
use std::thread::sleep;
use std::time::Duration;
use verbcast_fabric::{Entries, FatTree, Mesh, Quality, Topology};

/// What the report says was, or would be, written.
fn reported(report: &Value) -> Tables {
    let mut tables = Tables::new();
    for block in report["blocks"].as_array().unwrap() {
        let guid = block["guid"].as_str().unwrap().trim_start_matches("0x");
        let guid = u64::from_str_radix(guid, 16).unwrap();
        for (mlid, ports) in block["ports"].as_object().unwrap() {
            let ports: Vec<u8> = serde_json::from_value(ports.clone()).unwrap();
            tables.entry((guid, mlid.parse().unwrap())).or_default().extend(ports);
        }
    }
    tables
}

/// What the library computes.
fn computed(topology: &Topology, tables: &[(u16, Entries)]) -> Tables {
    let mut expected = Tables::new();
    for (mlid, entries) in tables {
        for node in topology.switch_nodes() {
            let ports: Vec<u8> = entries.ports(topology.switch_index(node)).iter().collect();
            if !ports.is_empty() {
                expected.insert((topology.node(node).guid, *mlid), ports);
            }
        }
    }
    expected
}

/// Programs tables, reads them with another tool, follows them from each source to each member, and puts back
/// what was there.
fn program_and_restore(fabric: &str, members: &str, expected: impl Fn(&[u16]) -> Tables) {
    let Some(simulated) = Simulated::new(fabric) else { return };
    let before = simulated.dumped();
    let args = format!("--fabric {fabric} --group {members}");
    let planned = simulated.program(&args);
    assert_eq!((&planned["simulated"], &planned["written"]), (&true.into(), &false.into()));
    assert_eq!(simulated.dumped(), before, "a dry run writes nothing");

    let report = simulated.program(&format!("{args} --write --save saved"));
    assert_eq!(report["written"], true);
    assert_eq!(report["blocks"], planned["blocks"]);
    let tables = report["groups"][0]["tables"].as_array().unwrap();
    let mlids: Vec<u16> =
        tables.iter().map(|table| table["mlid"].as_u64().unwrap() as u16).collect();
    // The last of 32 blocks, of which none but the first is OpenSM's.
    assert_eq!(mlids[0], 0xc3e0);
    let written = simulated.dumped();
    assert_eq!(written, reported(&report));
    assert_eq!(written, expected(&mlids));

    let lids = simulated.lids();
    let names = |value: &Value| -> Vec<String> { serde_json::from_value(value.clone()).unwrap() };
    let members = names(&report["groups"][0]["members"]);
    let mut traced = 0;
    for (table, mlid) in tables.iter().zip(&mlids) {
        for source in names(&table["sources"]) {
            for member in members.iter().filter(|member| **member != source) {
                let args = format!("-m 0x{mlid:x} {} {}", lids[&source], lids[member]);
                let output = simulated.tool("ibtracert", &args);
                let said = text(&output.stdout);
                assert!(output.status.success(), "{source} to {member}: {}", text(&output.stderr));
                let last = said.lines().last().unwrap_or_default();
                assert!(
                    last.starts_with("To ca ") && last.contains(&format!("\"{member}\"")),
                    "{said}"
                );
                traced += 1;
            }
        }
    }
    assert_eq!(traced, members.len() * (members.len() - 1));

    let used = "its block is in use: ";
    simulated.refused(&format!("{args} --mlid 0xc3f0"), 1, used);
    simulated.refused(&format!("{args} --write --save saved"), 1, "saved: it is there already");
    let next = simulated.program(&format!("{args} --by-lid"));
    assert_eq!(next["groups"][0]["tables"][0]["mlid"], 0xc3c0, "the next block");

    let shown = simulated.program("--restore saved");
    assert_eq!(
        (&shown["written"], &shown["restored"]),
        (&false.into(), &report["blocks"].as_array().unwrap().len().into())
    );
    assert_eq!(simulated.dumped(), written);
    let restored = simulated.program("--restore saved --write");
    assert_eq!((&restored["restored"], &restored["unchanged"]), (&shown["restored"], &0.into()));
    assert_eq!(simulated.dumped(), before);
    let again = simulated.program("--restore saved --write");
    assert_eq!((&again["restored"], &again["unchanged"]), (&0.into(), &shown["restored"]));
}

fn cyclic(ports: u8, levels: u8, group: &[u32], mlids: &[u16]) -> Tables {
    let tree = FatTree::new(ports, levels).unwrap();
    let topology = tree.topology(Quality::default());
    let mut ways: Vec<u32> = Vec::new();
    for source in group {
        let way = tree.way(*source);
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    assert_eq!(ways.len(), mlids.len());
    let tables =
        mlids.iter().zip(ways).map(|(mlid, way)| (*mlid, tree.cyclic(&topology, group, way)));
    computed(&topology, &tables.collect::<Vec<_>>())
}

#[test]
fn cyclic_tables_of_ibft_4_2() {
    program_and_restore("fat-tree:4,2", "P00,P01,P20,P31", |mlids| {
        cyclic(4, 2, &[0, 1, 4, 7], mlids)
    });
}

#[test]
fn cyclic_tables_of_ibft_4_3() {
    let members = "P000,P001,P010,P011,P200,P211,P310";
    program_and_restore("fat-tree:4,3", members, |mlids| {
        assert_eq!(mlids, [0xc3e0, 0xc3e1, 0xc3e2, 0xc3e3]);
        cyclic(4, 3, &[0, 1, 2, 3, 8, 11, 14], mlids)
    });
}

#[test]
fn xy_tables_of_a_mesh() {
    program_and_restore("mesh:3,4", "N0.0,N0.3,N1.1,N2.2,N2.3", |mlids| {
        let mesh = Mesh::new(3, 4).unwrap();
        let topology = mesh.topology(Quality::default());
        let group: Vec<u32> =
            [(0, 0), (0, 3), (1, 1), (2, 2), (2, 3)].map(|(x, y)| mesh.host(x, y)).to_vec();
        // The rows in the order of the sources.
        let tables = mlids.iter().zip([0, 3, 1, 2]);
        let tables = tables.map(|(mlid, way)| (*mlid, mesh.xy_union(&topology, &group, way)));
        computed(&topology, &tables.collect::<Vec<_>>())
    });
}

#[test]
fn a_fabric_that_is_found_gets_the_tables_of_opensm() {
    let Some(simulated) = Simulated::new("fat-tree:4,2") else { return };
    let report = simulated.program("--group P00,P20 --group P01,P31 --mlid 0xc03f");
    assert_eq!(
        (&report["scheme"], &report["fabric"]),
        (&"opensm".into(), &"as it was found".into())
    );
    let mlids = [0, 1].map(|group| report["groups"][group]["tables"][0]["mlid"].clone());
    assert_eq!(mlids, [0xc03f, 0xc040]);
    let output = run(&mut simulated.command("--group P00,P20"));
    let shown = text(&output.stdout);
    assert!(shown.contains("nothing; --write would write 3 blocks:"), "{shown}");
    assert!(
        shown.contains("GUID 0x0000000000200002  block 31 position 0\n    0xc3e0  1 3\n"),
        "{shown}"
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(simulated) = Simulated::new("fat-tree:4,2") else { return };
    let file = |name, text: &str| fs::write(simulated.folder.path(name), text).unwrap();
    file("other", "{}");
    file("newer", r#"{"format":"verbcast multicast tables 2","changes":[]}"#);
    for (args, status, says) in [
        ("--restore other", 1, "other: missing field `format`"),
        ("--restore newer --write", 1, "newer: it does not begin as verbcast multicast tables 1"),
        ("--group P00,P20 --mlid 0xc01f", 1, "the block from 0xc000 is the subnet manager's"),
        ("--group P00,P20 --mlid 0xc400", 1, "which ends with 0xc3ff"),
        ("--group P00,P20 --mlid 0x1000", 2, "not between 0xc000 and 0xfffe"),
        ("--group P00,P20 --write", 2, "--save"),
        ("--fabric mesh:3,3 --group all", 1, "is not the fabric that was given: there is no "),
        (
            "--fabric fat-tree:4,2 --group P01,P20 --sources P01 --scheme literal",
            1,
            "literal from P01: ",
        ),
        ("--fabric fat-tree:4,2 --group X", 2, "there is no host X"),
        ("--restore none", 1, "none: No such file"),
        ("", 2, "--group"),
    ] {
        simulated.refused(args, status, says);
    }
    assert!(simulated.dumped().is_empty());
    assert!(!names(&simulated.folder).iter().any(|name| name.contains(".part")));
}

/// Without ibsim's library there is a real fabric, or none, and neither gets a packet; with it, but without
/// ibsim, there is nothing to talk to.
#[test]
fn only_a_simulated_fabric_is_talked_to() {
    let args = ["fabric", "program", "--group", "all", "--write", "--save", "/there/is/none"];
    let output = run(verbcast().args(args));
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.contains("umad_") || said.contains("is not one of ibsim's: nothing was sent"),
        "{said}"
    );
    let Some(preloaded) = preloaded() else {
        needs::missing("there is no libumad2sim.so");
        return;
    };
    let mut command = verbcast();
    command.args(args).env("LD_PRELOAD", preloaded).env("IBSIM_SOCKNAME", "verbcast-there-is-none");
    let output = run(&mut command);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}

/// A switch that is gone is named when what was there is to be put back, and the others are as before.
#[test]
fn a_switch_that_is_gone_is_named() {
    let Some(mut simulated) = Simulated::new("fat-tree:4,2") else { return };
    let args = "--fabric fat-tree:4,2 --group P00,P20,P31";
    let report = simulated.program(&format!("{args} --write --save saved"));
    let blocks = report["blocks"].as_array().unwrap().len();
    let console = simulated.ibsim.stdin.as_mut().unwrap();
    console.write_all(b"Unlink \"SW3-1\"\n").unwrap();
    let output = (0..100).find_map(|_| {
        sleep(Duration::from_millis(50));
        let output = run(&mut simulated.command("--restore saved"));
        (!output.status.success()).then_some(output)
    });
    let output = output.expect("the switch is gone");
    assert!(text(&output.stdout).contains("1 failed"), "{}", text(&output.stdout));
    let output = run(&mut simulated.command("--restore saved --write --json"));
    assert_eq!(output.status.code(), Some(1));
    let says = "SW3-1 (GUID 0x0000000000200005) block 31 position 0: the switch is not there";
    assert!(text(&output.stderr).contains(says), "{}", text(&output.stderr));
    let restored: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(restored["restored"], blocks - 1);
    assert!(simulated.dumped().is_empty());
    simulated.refused(args, 1, "is not the fabric that was given: there is no ");
}

/// Writes a group of everybody, and does something once it has begun to.
fn disturbed(simulated: &mut Simulated, disturb: impl FnOnce(&mut Simulated, &Running)) -> Output {
    let args = "--fabric fat-tree:8,3 --group all --write --save saved --retries 0";
    let running = spawn(&mut simulated.command(args));
    let saved = simulated.folder.path("saved");
    for _ in 0..60_000 {
        if saved.exists() {
            break;
        }
        sleep(Duration::from_millis(1));
    }
    disturb(simulated, &running);
    let output = running.output();
    assert!(fs::read_to_string(saved).unwrap().ends_with("]}\n"));
    output
}

/// The command may be faster than what disturbs it.
const ATTEMPTS: u32 = 5;

/// ibsim is killed while blocks are written: the end is soon, says where, and what to do.
#[test]
fn a_fabric_that_vanishes_ends_the_command() {
    for _ in 0..ATTEMPTS {
        let Some(mut simulated) = Simulated::new("fat-tree:8,3") else { return };
        let output = disturbed(&mut simulated, |simulated, _| simulated.ibsim.kill().unwrap());
        if output.status.success() {
            continue;
        }
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("MulticastForwardingTable block 31 position 0"), "{said}");
        assert!(said.contains("of 80 blocks may have been written; "), "{said}");
        return;
    }
    panic!("all blocks were written before ibsim was killed, {ATTEMPTS} times");
}

/// Whoever ends the command while it writes finds all as before.
#[test]
fn what_was_written_is_taken_back() {
    for _ in 0..ATTEMPTS {
        let Some(mut simulated) = Simulated::new("fat-tree:8,3") else { return };
        let output = disturbed(&mut simulated, |_, running| running.signal("TERM"));
        if output.status.success() {
            continue;
        }
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(": interrupted\n"), "{said}");
        let numbers = said.lines().find_map(|line| {
            let (touched, rest) = line.strip_prefix("error: ")?.split_once(" of 80 blocks may ")?;
            let (_, rest) = rest.split_once("; ")?;
            Some((touched.to_owned(), rest.split(' ').next()?.to_owned()))
        });
        let (touched, as_before) = numbers.unwrap();
        assert_eq!(touched, as_before, "{said}");
        assert!(simulated.dumped().is_empty());
        return;
    }
    panic!("all blocks were written before the command was to end, {ATTEMPTS} times");
}
