//! Which system calls a broadcast makes, on a device.

#![cfg(feature = "cli")]

mod command_support;
mod ranks;

use command_support::{Folder, run, text, verbcast};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

/// Broadcasts of a short run; a long one has as many more.
const SHORT: u64 = 150;
const MORE: u64 = 300;
/// Broadcasts for which a call may be made once, by what happens now and then: a wait that grows long asks
/// whether others live.
const SELDOM: u64 = 20;

/// The system calls of two ranks, by name, that make so many broadcasts and wait in the polling path.
fn calls(devices: &str, algorithm: &str, broadcasts: u64) -> BTreeMap<String, u64> {
    let folder = Folder::new();
    let plain = verbcast();
    let mut command = Command::new("strace");
    command.args(["-f", "-c", "-o"]).arg(folder.path("calls")).arg(plain.get_program());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.args(["bench", "latency", "--methods", "osu", "--sizes", "8:8", "--ranks", "2"]);
    command.args(["--validate", "off", "--warmup", "10", "--iterations", &broadcasts.to_string()]);
    command.args(["--device", devices, "--algorithms", algorithm]).env("VERBCAST_WAIT", "spin");
    let output = run(&mut command);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = fs::read_to_string(folder.path("calls")).unwrap();
    let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    // Share of time, seconds, microseconds a call, calls, perhaps errors, name.
    rows.filter_map(|row| match row[..] {
        [_, _, _, calls, .., name] if name != "total" => {
            Some((name.to_owned(), calls.parse().ok()?))
        }
        _ => None,
    })
    .collect()
}

/// rxe's provider rings its doorbell by writing to the device's file; adapters have a register for that.
#[test]
fn a_broadcast_makes_no_system_call_but_that_of_the_doorbell() {
    let Some(devices) = ranks::devices() else { return };
    if Command::new("strace").arg("--version").output().is_err() {
        println!("SKIPPED: there is no strace");
        return;
    }
    for algorithm in ["two-stage", "window", "binomial"] {
        let [short, long] =
            [SHORT, SHORT + MORE].map(|count| calls(&devices.join(","), algorithm, count));
        let more = |name: &str| {
            let of = |calls: &BTreeMap<String, u64>| calls.get(name).copied().unwrap_or(0);
            of(&long).saturating_sub(of(&short))
        };
        println!("{algorithm}: {} writes in {MORE} broadcasts", more("write"));
        assert!(more("write") >= MORE, "{algorithm}: {long:?}");
        for name in long.keys().filter(|name| *name != "write") {
            let count = more(name);
            assert!(count * SELDOM < MORE, "{algorithm}: {count} more {name} in {MORE} broadcasts");
        }
    }
}
