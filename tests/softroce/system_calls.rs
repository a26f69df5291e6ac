//! Which system calls a broadcast makes, on a device.

use crate::needs;
use crate::ranks;
use crate::variants::{Variant, config};
use std::collections::BTreeMap;
use std::process::Command;
use std::time::Instant;
use std::{env, fs, process};
use verbcast::broadcast::Broadcaster;
use verbcast::rdma::Waiting;
use verbcast_core::rank::Rank;

/// Broadcasts of a short run; a long one has as many more. They are many, as two set-ups differ by a few tens of
/// `futex`: that many times ranks that find one another at a lock.
const SHORT: usize = 150;
const MORE: usize = 1200;
/// Broadcasts for which a call may be made once, by what happens now and then: a wait that grows long asks
/// whether others live. And every second each rank looks at the device's events.
const SELDOM: usize = 20;
/// What tells the other process how many broadcasts it makes, and by which variant.
const COUNT: &str = "VERBCAST_TEST_BROADCASTS";
const WHICH: &str = "VERBCAST_TEST_VARIANT";

const VARIANTS: [Variant; 3] =
    [&[("algorithm", "two-stage")], &[("algorithm", "window")], &[("algorithm", "binomial")]];

/// What the traced process does; by itself it makes a few broadcasts.
#[test]
fn two_ranks_broadcast_in_the_polling_path() {
    let Some(devices) = needs::devices() else { return };
    let number = |name| env::var(name).ok().and_then(|value| value.parse::<usize>().ok());
    let (count, which) = (number(COUNT).unwrap_or(10), number(WHICH).unwrap_or(0));
    let mut config = config(&devices, VARIANTS[which], None);
    config.device.waiting = Waiting::Spin;
    ranks::run(2, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
        for op in 0..count {
            let root = Rank(op as u32 % 2);
            let mut message = [0; 8];
            if broadcaster.rank() == root {
                message = (op as u64).to_le_bytes();
            }
            broadcaster.broadcast_into(root, &mut message).unwrap();
            assert_eq!(u64::from_le_bytes(message), op as u64);
        }
        broadcaster.close().unwrap();
    });
}

/// What a process has done.
struct Traced {
    /// System calls by name.
    calls: BTreeMap<String, usize>,
    seconds: usize,
}

/// What a process does that makes so many broadcasts.
fn trace(which: usize, broadcasts: usize) -> Traced {
    let table = env::temp_dir().join(format!("verbcast-calls-{}", process::id()));
    let mut command = Command::new("strace");
    command.args(["-f", "-c", "-o"]).arg(&table).arg(env::current_exe().unwrap());
    command.args(["--exact", "system_calls::two_ranks_broadcast_in_the_polling_path"]);
    let began = Instant::now();
    let output =
        command.env(COUNT, broadcasts.to_string()).env(WHICH, which.to_string()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let text = fs::read_to_string(&table).unwrap();
    fs::remove_file(&table).unwrap();
    // Share of time, seconds, microseconds a call, calls, perhaps errors, name.
    let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let named = rows.filter_map(|row| match row[..] {
        [_, _, _, calls, .., name] if name != "total" => {
            Some((name.to_owned(), calls.parse().ok()?))
        }
        _ => None,
    });
    Traced { calls: named.collect(), seconds: began.elapsed().as_secs() as usize }
}

/// rxe's provider rings its doorbell by writing to the device's file; adapters have a register for that.
#[test]
fn a_broadcast_makes_no_system_call_but_that_of_the_doorbell() {
    if needs::devices().is_none() {
        return;
    }
    if Command::new("strace").arg("--version").output().is_err() {
        needs::missing("there is no strace");
        return;
    }
    for (which, variant) in VARIANTS.iter().enumerate() {
        let [short, long] = [SHORT, SHORT + MORE].map(|count| trace(which, count));
        let more = |name: &str| {
            let of = |traced: &Traced| traced.calls.get(name).copied().unwrap_or(0);
            of(&long).saturating_sub(of(&short))
        };
        let seldom = MORE / SELDOM + 2 * long.seconds;
        println!("{variant:?}: {} writes in {MORE} broadcasts", more("write"));
        // The set-up takes a few more or fewer, of these as of others.
        assert!(more("write") + seldom >= MORE, "{variant:?}: {:?}", long.calls);
        for name in long.calls.keys().filter(|name| *name != "write") {
            let count = more(name);
            assert!(count < seldom, "{variant:?}: {count} more {name} in {MORE} broadcasts");
        }
    }
}
