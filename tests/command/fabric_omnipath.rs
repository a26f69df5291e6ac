//! `verbcast fabric omnipath`: each rule of the Omni-Path fabric manager by a command.

use crate::book::bash;
use crate::pages;
use crate::support::{Folder, Subcommand, run, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

const FABRIC: Subcommand = Subcommand("fabric");

/// A row of switches with a host each; the last link between switches has one lane of 2.5 Gbit/s.
fn row(folder: &Folder, name: &str, slow: bool) -> String {
    let mut text = String::new();
    let speed = |at: u32| if slow && at == 3 { " w=1 s=1" } else { "" };
    for at in 0..5 {
        text += &format!("Hca 1 \"h{at}\"\n[1] \"s{at}\"[3]\n\nSwitch 3 \"s{at}\"\n");
        if at > 0 {
            text += &format!("[1] \"s{}\"[2]{}\n", at - 1, speed(at - 1));
        }
        if at < 4 {
            text += &format!("[2] \"s{}\"[1]{}\n", at + 1, speed(at));
        }
        text += &format!("[3] \"h{at}\"[1]\n\n");
    }
    let path = folder.path(name);
    fs::write(&path, text).unwrap();
    format!("file:{}", path.display())
}

fn blocks(report: &Value) -> Vec<u64> {
    let events = report["events"].as_array().unwrap();
    events.iter().map(|event| event["blocks"].as_u64().unwrap()).collect()
}

/// Sections 4.5.2.4 and 4.5.2.1: roots, what moves them, and what fails over.
#[test]
fn roots_are_selected_kept_and_moved() {
    let folder = Folder::new();
    let (even, slow) = (row(&folder, "even.net", false), row(&folder, "slow.net", true));
    let root =
        |args: &str| FABRIC.json(&format!("omnipath --fabric {args}"))["root"]["switch"].clone();
    assert_eq!(root(&even), "s2");
    // By the sum the slow link counts once for each side, by the worst it is all that counts.
    assert_eq!(root(&format!("{slow} --root-selection least-total-cost")), "s2");
    assert_eq!(root(&format!("{slow} --root-selection least-worst-case-cost")), "s3");
    // From 120 to 72 is a gain of 40 %.
    assert_eq!(root(&format!("{even} --current-root s0 --min-cost-improvement 41")), "s0");
    assert_eq!(root(&format!("{even} --current-root s0")), "s0");
    assert_eq!(root(&format!("{even} --current-root s0 --min-cost-improvement 40")), "s2");
    let moved = "--root-selection least-worst-case-cost --min-cost-improvement";
    for (percent, expected) in [(0, "s3"), (50, "s2")] {
        let args = format!("omnipath --fabric {even} fabric:{slow} {moved} {percent}");
        assert_eq!(FABRIC.json(&args)["events"][0]["root"], expected, "{percent}");
    }
    FABRIC.refused(
        &format!("omnipath --fabric {even} --current-root x"),
        2,
        "there is no switch x",
    );
    FABRIC.refused(
        &format!("omnipath --fabric {even} fabric:mesh:2,2"),
        2,
        "only links may differ",
    );
}

/// Section 4.5.2.1: by the links, or by one path with both the MTU and the rate.
#[test]
fn joins_are_checked_strictly_or_by_path() {
    let folder = Folder::new();
    let slow = row(&folder, "slow.net", true);
    let [a, b, far] = ["h0", "h1", "h4"].map(|host| format!("join:{host},0x1,rate=100"));
    FABRIC.refused(
        &format!("omnipath --fabric {slow} {a}"),
        1,
        "links between switches do not carry",
    );
    let relaxed = format!("omnipath --fabric {slow} --disable-strict-check {a} {b}");
    assert_eq!(FABRIC.json(&relaxed)["groups"][0]["members"], 2);
    FABRIC.refused(&format!("{relaxed} {far}"), 1, "no path from the port's switch has both");
    // Who has joined before is not told when the links change.
    let even = row(&folder, "even.net", false);
    let changed = format!("omnipath --fabric {even} join:all,0x1,rate=100 fabric:{slow}");
    FABRIC.refused(&changed, 1, "member h4 gets nothing");
    let small = format!("omnipath --fabric {slow} join:all,0x1,rate=2.5,mtu=4096");
    assert!(FABRIC.printed(&small).contains("5 members, each gets one copy"));
}

/// Section 4.5.2.5.
#[test]
fn trees_are_complete_or_pruned() {
    let joins = "join:N0.0,0x1 join:N4.0,0x1 join:N2.0,0x1,send-only leave:N0.0,0x1";
    let complete = FABRIC.json(&format!("omnipath --fabric mesh:5,1 {joins}"));
    assert_eq!(blocks(&complete), [5, 1, 0, 1]);
    let pruned = FABRIC.json(&format!("omnipath --fabric mesh:5,1 --pruning {joins}"));
    assert_eq!(blocks(&pruned), [1, 5, 0, 3]);
}

/// Section 4.5.2.2.
#[test]
fn multicast_lids_are_capped_and_shared() {
    let joins = |pkeys: &[u16]| -> String {
        let join = |(mgid, pkey)| format!(" join:0,{mgid},pkey={pkey}");
        (1..).zip(pkeys).map(join).collect()
    };
    let args = "omnipath --fabric mesh:2,1";
    let own = joins(&[1, 1, 2, 2]);
    FABRIC.refused(&format!("{args} --mlid-table-cap 3{own}"), 1, "all MLIDs up to MLIDTableCap");
    let used = |pool: &str| FABRIC.json(&format!("{args}{own} {pool}"))["mlids_in_use"].clone();
    assert_eq!(used(""), 4);
    assert_eq!(used("--mlid-share mask=0x0,value=0x0,max=3"), 3);
    assert_eq!(used("--mlid-share mask=0x0,value=0x0,max=4,per-pkey=1"), 2);
    // Other terms cannot share.
    FABRIC.refused(
        &format!("{args} --mlid-share mask=0x0,value=0x0,max=1{}", joins(&[1, 2])),
        1,
        "the pool has no MLID for this P_Key",
    );
    // Solicited-node groups share unless that is switched off.
    let node = |node: u32| format!(" join:0,ff12:601b:ffff::1:ff00:{node:x}");
    let nodes: String = (1..=501).map(node).collect();
    assert_eq!(FABRIC.json(&format!("{args}{nodes}"))["mlids_in_use"], 500);
    assert_eq!(FABRIC.json(&format!("{args}{nodes} --mlid-share none"))["mlids_in_use"], 501);
}

/// Section 4.5.2.3.
#[test]
fn groups_are_created_beforehand() {
    let args = "omnipath --fabric mesh:2,1 --multicast-group";
    let implied = FABRIC.json(&format!("{args} pkey=0x8001"));
    let mgids = implied["groups"].as_array().unwrap().iter().map(|group| group["mgid"].as_str());
    let mgids: Vec<&str> = mgids.map(Option::unwrap).collect();
    assert_eq!(mgids.len(), 8);
    assert!(mgids.contains(&"ff12:401b:8001::ffff:ffff") && mgids.contains(&"ff12:601b:8001::2"));
    let twice = FABRIC.json(&format!("{args} pkey=0x8001 --multicast-group pkey=0x1"));
    assert_eq!(twice["mlids_in_use"], 8);
    let other = format!("{args} mgid=0x5 --multicast-group mgid=0x5,mtu=1024");
    FABRIC.refused(&other, 1, "--multicast-group: ::5 is created twice, with different terms");
    // Whoever joins takes the terms that are there.
    let named = format!("{args} mgid=0x5,mtu=2048 join:0,0x5,non-member,mtu=4096");
    assert_eq!(FABRIC.json(&named)["groups"][0]["mtu"], 2048);
    FABRIC.refused(&format!("{args} mgid=0x5 join:0,0x5,pkey=0x8001"), 1, "another P_Key");
    FABRIC.refused("omnipath --fabric mesh:2,1 join:0,0x5,send-only", 1, "only a full member");
}

/// The book has an example of each rule, which shows each option, and does what the book says of it.
#[test]
fn every_rule_has_an_example_in_the_book() {
    let pages = pages::pages();
    let page = pages.iter().find(|page| page.name() == "docs/src/fabric.md").unwrap();
    let (blocks, _) = page.parts();
    let fabrics = blocks.iter().find(|block| block.text.contains("> slow")).unwrap();
    let folder = Folder::new();
    assert!(run(&mut bash(&folder, &fabrics.text)).status.success());
    let mut shown = BTreeSet::new();
    let mut rules = 0;
    for row in page.rows() {
        // A first cell that is empty is none.
        let [.., rule, cell] = row[..] else { continue };
        let examples: Vec<_> =
            pages::code(cell).filter(|code| code.contains("--fabric ")).collect();
        for example in &examples {
            let output = run(&mut bash(&folder, &format!("verbcast fabric omnipath {example}")));
            let fails = ["is refused", "fails"].map(|word| format!("`{example}` {word}"));
            let status = i32::from(fails.iter().any(|text| cell.contains(text)));
            assert_eq!(output.status.code(), Some(status), "{rule}: {}", text(&output.stderr));
            shown.extend(example.split(' ').filter(|word| word.starts_with("--")));
        }
        rules += usize::from(!examples.is_empty());
    }
    assert_eq!(rules, 12, "rules of section 4.5.2");
    let help = FABRIC.printed("omnipath --help");
    let options = help.lines().filter_map(|line| line.trim_start().split([' ', ',']).next());
    for option in options.filter(|word| word.starts_with("--")) {
        let is_of_all = ["--mtu", "--json"].contains(&option);
        assert!(is_of_all || shown.contains(option), "{option} is in no example");
    }
}
