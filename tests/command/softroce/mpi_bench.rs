//! `verbcast bench` under a real `mpirun`, of Open MPI and of MPICH, with the library's own broadcast among what is
//! measured.

use crate::mpirun::{BOTH, Mpi, available, run, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

const RANKS: u32 = 3;

fn launcher(mpi: Mpi) -> Command {
    let mut command = mpi.launcher();
    command.args(["-n", &RANKS.to_string()]);
    command
}

/// What the benchmark writes with these arguments.
fn bench(mpi: Mpi, args: &str) -> Value {
    let name = format!("verbcast-bench-{}-{}.json", mpi.name(), std::process::id());
    let file = std::env::temp_dir().join(name);
    let mut command = launcher(mpi);
    command.arg(mpi.command()).args(args.split(' ')).args(["--iterations", "4", "--warmup", "1"]);
    let output = run(command.arg("--json").arg(&file));
    assert!(output.status.success(), "{mpi:?}");
    assert!(text(&output.stdout).contains("# mpi is "), "{mpi:?}");
    let json = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    fs::remove_file(file).unwrap();
    json
}

fn points(json: &Value) -> &Vec<Value> {
    json["points"].as_array().unwrap()
}

/// How many times a point has counted.
fn times(point: &Value) -> u64 {
    let counts = point["histogram"].as_array().unwrap().iter();
    counts.map(|pair| pair[1].as_u64().unwrap()).sum()
}

#[test]
fn the_librarys_broadcast_is_measured_beside_the_others() {
    for mpi in available(Mpi::command) {
        let args = "bench latency --sizes 8:8 --algorithms mpi,window --root rotate";
        let json = bench(mpi, args);
        let version = json["system"]["mpi"].as_str().unwrap();
        let name = if mpi == Mpi::Open { "Open MPI v" } else { "MPICH " };
        assert!(version.starts_with(name), "{version}");
        assert_eq!(json["configuration"]["is_validated"], true);
        assert_eq!(json["system"]["devices"].as_array().unwrap().len(), RANKS as usize);
        let found: BTreeSet<String> = points(&json)
            .iter()
            .map(|point| format!("{} {}", point["algorithm"], point["test"]).replace('"', ""))
            .collect();
        let expected = ["mpi", "window"].into_iter().flat_map(|algorithm| {
            ["acknowledge", "osu", "clock"].map(|test| format!("{algorithm} {test}"))
        });
        assert_eq!(found, expected.collect(), "{mpi:?}");
        for point in points(&json) {
            // The root alone counts the acknowledgements.
            let expected = if point["test"] == "acknowledge" { 4 } else { 4 * u64::from(RANKS) };
            assert_eq!(times(point), expected, "{mpi:?}: {point}");
            assert_eq!(point["lost_messages"], 0, "{mpi:?}: {point}");
            let multicasts = point["counters"]["multicast_sent"].as_u64() > Some(0);
            assert_eq!(multicasts, point["algorithm"] == "window", "{mpi:?}: {point}");
        }
    }
}

#[test]
fn long_messages_are_measured_among_the_first_ranks_and_all() {
    for mpi in available(Mpi::command) {
        let args =
            "bench scale --test throughput --counts 2,3 --sizes 100K:200K --algorithms mpi,window";
        let json = bench(mpi, args);
        assert_eq!(points(&json).len(), 2 * 2 * 2, "{mpi:?}");
        for point in points(&json) {
            assert!(point["seconds"].as_f64() > Some(0.0), "{mpi:?}: {point}");
            assert_eq!((&point["lost_messages"], &point["iterations"]), (&0.into(), &4.into()));
        }
        let ranks: BTreeSet<_> =
            points(&json).iter().map(|point| point["ranks"].as_u64()).collect();
        assert_eq!(ranks, BTreeSet::from([Some(2), Some(3)]), "{mpi:?}");
    }
}

/// Nothing else has made the connections of the ranks before they are in MPI, where they make none.
#[test]
fn the_librarys_broadcast_is_measured_alone() {
    for (mpi, root) in available(Mpi::command).into_iter().zip(["fixed:0", "rotate"]) {
        let args = "bench latency --sizes 8:8 --algorithms mpi --validate off --root";
        let json = bench(mpi, &format!("{args} {root}"));
        assert_eq!(points(&json).len(), 3, "{mpi:?}");
    }
}

#[test]
fn a_rank_that_is_killed_ends_the_benchmark() {
    for mpi in available(Mpi::command) {
        let mut command = launcher(mpi);
        // It has been at work for a second and a half of a processor's time.
        let script = "if [ ${OMPI_COMM_WORLD_RANK-$PMI_RANK} != 1 ]; then exec \"$@\"; fi; \"$@\" & \
                      until [ \"$(cut -d ' ' -f 14 /proc/$!/stat)\" -gt 150 ]; do sleep 0.1; done; \
                      kill -KILL $!; wait $!";
        command.args(["sh", "-c", script, "sh"]).arg(mpi.command());
        command.args("bench latency --sizes 8:8 --algorithms mpi --iterations 10000000".split(' '));
        let output = run(&mut command);
        let stdout = text(&output.stdout);
        assert!(!output.status.success() && !stdout.contains("# verbcast"), "{mpi:?}");
    }
}

#[test]
fn another_librarys_launcher_is_told_from_its_own() {
    if available(Mpi::command).len() < BOTH.len() {
        return;
    }
    for (launched_by, built_with) in [(Mpi::Open, Mpi::Mpich), (Mpi::Mpich, Mpi::Open)] {
        let mut command = launcher(launched_by);
        command.arg(built_with.command()).args(["bench", "latency", "--algorithms", "mpi"]);
        let output = run(&mut command);
        assert!(!output.status.success(), "{built_with:?} by {launched_by:?}");
        let stderr = text(&output.stderr);
        assert!(
            stderr.contains(&format!("sees 1 of {RANKS} ranks")),
            "{built_with:?} by {launched_by:?}"
        );
    }
}
