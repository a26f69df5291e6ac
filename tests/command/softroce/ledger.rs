//! What a broadcast asks of the device and how much it copies: counts, which do not depend on the machine, held against
//! limits that may be lowered but not raised. `ci/ledger` prints them.

use crate::needs;
use crate::support::{Folder, run, text, verbcast};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const RANKS: u32 = 4;
/// Bytes of a message.
const SIZE: u64 = 65536;
/// Broadcasts of a short run and of a longer one: what a run costs besides them is the same in both.
const SHORT: u64 = 20;
const LONG: u64 = 120;

/// What each rank has counted in a run.
struct Counted {
    ranks: Vec<Value>,
    mtu: u64,
}

/// What one broadcast costs.
struct Ledger {
    short: Counted,
    long: Counted,
}

impl Ledger {
    fn of(contender: &str, size: u64, counter: &Path, devices: &str) -> Ledger {
        let [short, long] =
            [SHORT, LONG].map(|count| count_run(contender, size, count, counter, devices));
        Ledger { short, long }
    }

    /// How often a rank has done something for one broadcast.
    fn each(&self, rank: usize, name: &str) -> f64 {
        let of = |run: &Counted| run.ranks[rank][name].as_f64().unwrap();
        (of(&self.long) - of(&self.short)) / (LONG - SHORT) as f64
    }
}

/// Broadcasts back to back, with every request counted.
fn count_run(contender: &str, size: u64, count: u64, counter: &Path, devices: &str) -> Counted {
    let folder = Folder::new();
    let mut command = verbcast();
    command.args([
        "bench",
        "throughput",
        "--warmup",
        "0",
        "--validate",
        "off",
        "--device",
        devices,
    ]);
    command.args(["--ranks", &RANKS.to_string(), "--iterations", &count.to_string()]);
    command.args(["--contender", contender, "--sizes", &format!("{size}:{size}")]);
    command.arg("--json").arg(folder.path("results.json"));
    command.env("LD_PRELOAD", counter).env("COUNT_VERBS", folder.path("counts"));
    let output = run(command.env("VERBCAST_WAIT", "yield"));
    assert!(output.status.success(), "{contender}: {}", text(&output.stderr));
    let read = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(folder.path(name)).unwrap()).unwrap()
    };
    let results = read("results.json");
    Counted {
        ranks: (0..RANKS).map(|rank| read(&format!("counts.{rank}"))).collect(),
        mtu: results["system"]["mtu"].as_u64().unwrap(),
    }
}

/// The library that counts, which this builds.
fn build(folder: &Folder) -> Option<PathBuf> {
    let (from, to) = ("../../ci/guest/count_verbs.c", folder.path("count_verbs.so"));
    let mut command = Command::new("cc");
    command.args(["-O2", "-shared", "-fPIC", "-fno-builtin", "-o"]).arg(&to);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(from)).arg("-ldl");
    match command.output() {
        Ok(output) => assert!(output.status.success(), "{}", text(&output.stderr)),
        Err(_) => {
            needs::missing("there is no cc");
            return None;
        }
    }
    Some(to)
}

/// Bytes copied for one broadcast, over the message's.
fn copied(ledger: &Ledger, rank: usize) -> f64 {
    ledger.each(rank, "copied_bytes") / SIZE as f64
}

/// Two set-ups differ by a few probes and words.
const SLACK: f64 = 0.2;

fn at_most(what: &str, found: f64, limit: f64) {
    println!("{what}: {found:.2}, of {limit} at most");
    assert!(found <= limit + SLACK, "{what}: {found:.2}, of {limit} at most");
}

#[test]
fn the_floor_asks_for_nothing_but_the_messages_packets() {
    let Some(devices) = needs::devices() else { return };
    let folder = Folder::new();
    let Some(counter) = build(&folder) else { return };
    let devices = devices.join(",");

    let bare = Ledger::of("bare", SIZE, &counter, &devices);
    let least = SIZE.div_ceil(bare.long.mtu) as f64;
    at_most("bare, multicasts", bare.each(0, "multicasts"), least);
    at_most("bare, doorbells of the root", bare.each(0, "send_doorbells"), least / 8.0);
    at_most("bare, copied at the root", copied(&bare, 0), 0.0);
    at_most("bare, copied at a leaf", copied(&bare, 1), 0.0);
}

/// The root runs ahead of the leaves, which keep what is early where it was received.
#[test]
fn a_leaf_copies_each_byte_once_and_the_root_into_its_ring() {
    let Some(devices) = needs::devices() else { return };
    let folder = Folder::new();
    let Some(counter) = build(&folder) else { return };
    let window = Ledger::of("window", SIZE, &counter, &devices.join(","));
    at_most("window, copied at the root", copied(&window, 0), 1.0);
    for leaf in 1..RANKS as usize {
        at_most("window, copied at a leaf", copied(&window, leaf), 1.0);
    }
}
