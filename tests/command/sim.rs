//! `verbcast sim`: what it prints, that a seed repeats it, and what it refuses.

use crate::support::Subcommand;
use serde_json::Value;

const SIM: Subcommand = Subcommand("sim");

/// Without what is measured, which differs from run to run.
fn repeatable(mut report: Value) -> Value {
    for name in ["wall_seconds", "events_per_second", "peak_memory_bytes"] {
        report["run"][name].take();
    }
    report
}

#[track_caller]
fn close(value: &Value, expected: f64, tolerance: f64) {
    let off = value.as_f64().unwrap() / expected - 1.0;
    assert!(off.abs() <= tolerance, "{value} is not about {expected}");
}

#[test]
fn the_table_has_the_simulation_the_model_and_the_run() {
    let table =
        SIM.printed("--ranks 100 --algorithm co-root --size 1K --loss 0.02 --skew 2.5 --seed 9");
    for expected in [
        "ranks                 100\n",
        "algorithm             co-root (window)\n",
        "size                  1024 bytes, fragments of up to 4048: 1\n",
        "loss                  0.02\n",
        "skew                  2.50 µs\n",
        "seed                  9\n",
        "latency, mean",
        "latency, p99",
        "the model assumes: nothing is lost, doubled or delayed",
        "The model for 100 ranks:",
        "optimal co-roots",
        "datagrams           10 sent",
        "events per second",
        "peak memory",
        "trace",
    ] {
        assert!(table.contains(expected), "no {expected:?} in:\n{table}");
    }
}

#[test]
fn json_has_everything_in_one_object() {
    let report = SIM.json("--ranks 16 --size 8K --operations 5 --loss 0.1 --option sync=random");
    let simulated = &report["simulated"];
    assert_eq!(simulated["algorithm"], "auto");
    assert_eq!(simulated["protocol"], "window");
    assert_eq!(simulated["size_bytes"], 8 << 10);
    assert_eq!(simulated["fragments"], 3);
    assert_eq!(simulated["loss_share"], 0.1);
    assert_eq!(simulated["options"]["sync"], "random");
    let latency = &report["latency"];
    let times = ["p50_ns", "p99_ns", "max_ns"].map(|name| latency[name].as_u64().unwrap());
    assert!(times[0] > 0 && times.is_sorted(), "{times:?}");
    assert!(latency["model_ns"].is_null() && latency["no_model"].is_string());
    assert_eq!(report["totals"]["multicast_sent"], 15);
    assert!(report["totals"]["repaired"].as_u64().unwrap() > 0);
    assert!(report["run"]["events"].as_u64().unwrap() > 0);
}

#[test]
fn a_seed_repeats_a_simulation_and_another_does_not() {
    let of = |seed: u64| {
        repeatable(
            SIM.json(&format!("--ranks 32 --loss 0.2 --skew 10 --root rotate --seed {seed}")),
        )
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1)["run"]["trace"], of(2)["run"]["trace"]);
}

#[test]
fn every_algorithm_runs() {
    for algorithm in [
        "auto",
        "two-stage",
        "two-stage-on-demand",
        "window",
        "co-root",
        "aggregate",
        "basic",
        "binomial",
        "chain",
        "scatter-allgather",
    ] {
        let report = SIM.json(&format!(
            "--ranks 12 --size 20000 --algorithm {algorithm} --loss 0.05 --duplicate 0.05 \
             --delay 0.05:100 --burst 0.01:0.3 --root fixed:11 --skew 20"
        ));
        assert_eq!(report["simulated"]["algorithm"], *algorithm);
        assert_eq!(report["simulated"]["root"], "fixed:11");
    }
}

#[test]
fn broadcasts_do_not_overlap_unless_asked_to() {
    for algorithm in ["two-stage", "window", "aggregate", "binomial", "chain", "scatter-allgather"]
    {
        let args = format!("--ranks 60 --size 50000 --algorithm {algorithm} --skew 500");
        assert_eq!(SIM.json(&args)["latency"]["overlapping"], false, "{algorithm}");
    }
    assert_eq!(SIM.json("--algorithm window --interval 0")["latency"]["overlapping"], true);
}

#[test]
fn at_1024_ranks_latencies_are_the_models() {
    let window =
        SIM.json("--ranks 1024 --algorithm window --option repair-tree=off --operations 3");
    let binomial = SIM.json("--ranks 1024 --algorithm binomial --operations 3");
    for report in [&window, &binomial] {
        close(&report["latency"]["ratio"], 1.0, 0.05);
        assert_eq!(report["latency"]["model_assumes"], Value::Array(Vec::new()));
    }
    // The paper's times for short messages, up to those of eight bytes and their header.
    let model = &window["model"];
    close(&model["single_root_ns"], 14_400.0, 0.01);
    close(&model["binomial_ns"], 70_000.0, 0.01);
    assert_eq!(model["optimal_co_roots"], 128);
    assert_eq!(window["latency"]["model_ns"], model["single_root_ns"]);
    assert_eq!(binomial["latency"]["model_ns"], model["binomial_ns"]);
}

#[test]
fn a_full_packet_has_its_bytes_in_the_model() {
    let full = SIM.json("--ranks 64 --algorithm window --option repair-tree=off --size 4048");
    close(&full["latency"]["ratio"], 1.0, 0.05);
    assert!(full["model"]["single_root_ns"].as_u64() > Some(20_000));
    assert!(SIM.json("--ranks 64 --algorithm window --size 4049")["model"].is_null());
}

#[test]
fn penalty_rounds_are_the_papers() {
    let report = SIM.json("--ranks 1000 --algorithm two-stage --loss 0.3 --operations 30");
    let rounds = &report["penalty_rounds"];
    close(&rounds["model_unbounded"], 0.3 / 0.7, 1e-9);
    close(&rounds["simulated"], rounds["model"].as_f64().unwrap(), 0.05);
    assert!(SIM.json("--algorithm two-stage")["penalty_rounds"].is_null());
}

#[test]
fn throughput_with_one_buffer_is_about_the_models() {
    // With one buffer each acknowledgement is processed, as the model has it; with many ranks that
    // outweighs the time on the wire, which the model leaves out.
    let report = SIM.json(
        "--ranks 1024 --algorithm co-root --operations 60 --interval 0 --option window=1 \
         --option credits=off --option repair=push --option repair-after=100000",
    );
    close(&report["throughput"]["ratio"], 1.0, 0.1);
    let apart = SIM.json("--ranks 256 --algorithm co-root");
    assert!(apart["throughput"]["simulated_per_second"].is_null());
}

#[test]
fn a_swarm_runs_well() {
    let report = SIM.json("--swarm 50 --seed 100");
    assert_eq!(report["seeds"], 50);
    assert_eq!(report["first_seed"], 100);
    assert!(report["failure"].is_null());
    assert!(SIM.printed("--swarm 50 --seed 100").contains("seeds: 50 from 100 on"));
}

#[test]
fn a_swarm_of_one_says_first_what_was_drawn() {
    let text = SIM.printed("--swarm 1 --seed 77");
    assert!(text.starts_with("seed 77: algorithm="), "{text}");
    let events = |seed: u64| SIM.json(&format!("--swarm 1 --seed {seed}"))["events"].take();
    assert_eq!(events(77), events(77));
}

#[test]
fn a_wrong_command_line_is_explained() {
    for (args, expected) in [
        ("--ranks 0", "'--ranks <N>'"),
        ("--ranks many", "'--ranks <N>'"),
        ("--algorithm fast", "algorithm=fast: expected auto, two-stage"),
        ("--size 5T", "unit 't'"),
        ("--size lots", "'--size <BYTES>'"),
        ("--operations 0", "'--operations <N>'"),
        ("--loss 1.5", "'--loss <SHARE>': not between 0 and 1"),
        ("--loss 0.00000001", "below one in a million"),
        ("--skew -3", "'-3'"),
        ("--skew soon", "not a number of microseconds"),
        ("--delay 0.1", "expected SHARE:MICROSECONDS"),
        ("--burst 0.1", "expected BEGINS:ENDS"),
        ("--root 3", "expected fixed:N or rotate"),
        ("--ranks 8 --root fixed:8", "--root fixed:8: there is no such rank among 8 ranks"),
        ("--option speed=11", "there is no option \"speed\"; there are in-flight"),
        ("--option window", "expected NAME=VALUE"),
        ("--option sync=often", "sync=often: expected none, random"),
        ("--option window=3", "--algorithm auto --option window=3: a window of 3 fragments"),
        ("--option repair-after=0", "--option repair-after=0: the timeouts must be above zero"),
        ("--ranks 1000000 --size 1G", "above --memory 4.0 GiB"),
        ("--ranks 64 --memory 100K", "above --memory 100.0 KiB"),
        (
            "--fabric mesh:150,150 --ranks 4 --operations 1 --memory 64M",
            "the tables of --fabric mesh:150,150 would take about 965.6 MiB",
        ),
        ("--ranks-per-host 2", "--fabric"),
        (
            "--fabric fat-tree:4,2 --ranks 8 --ranks-per-host 2 --ranks-per-node 4",
            "--ranks-per-node 4 needs as many --ranks-per-host, not 2",
        ),
        (
            "--fabric fat-tree:4,2 --ranks 17 --ranks-per-host 2",
            "--jobs 1 of --ranks 17 need 9 hosts, and fat-tree:4,2 has 8",
        ),
        ("--swarm 0", "'--swarm <N>'"),
        ("--swarm 10 --ranks 4", "'--swarm <N>' cannot be used with '--ranks <N>'"),
        ("--swarm 10 --seed 18446744073709551610", "not so many seeds"),
    ] {
        SIM.refused(args, 2, expected);
    }
}

#[test]
fn the_help_lists_every_option_and_field() {
    let help = SIM.printed("--help");
    for parameter in verbcast_core::protocol::options::Options::PARAMETERS {
        assert!(help.contains(parameter.name), "{parameter:?}");
    }
    let report = SIM.json("--ranks 100 --algorithm two-stage --loss 0.1");
    let window = SIM.json("--ranks 100 --algorithm window");
    for report in [report, window] {
        for (section, fields) in report.as_object().unwrap() {
            assert!(help.contains(section), "{section}");
            for name in fields.as_object().into_iter().flatten().map(|(name, _)| name) {
                let is_listed = help.contains(name) || section == "totals";
                assert!(is_listed, "{section}: {name}");
            }
        }
    }
}
