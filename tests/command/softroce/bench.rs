//! `verbcast bench` and `verbcast tune` over real verbs: that everything is measured, not how long it
//! takes. Needs RDMA devices, named in `VERBCAST_TEST_DEVICES`.

use crate::needs;
use crate::support::{
    Folder, Running, check_death, children, has_ended, run, signal, spawn, text, until, verbcast,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use verbcast_core::protocol::choice::Table;

const ALGORITHMS: [&str; 11] = [
    "raw",
    "bare",
    "two-stage",
    "two-stage-on-demand",
    "window",
    "co-root",
    "aggregate",
    "basic",
    "binomial",
    "chain",
    "scatter-allgather",
];
const LATENCY: &str =
    "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations";
const RATE: &str = "# Size                  MB/s        Messages/s  Iterations";

/// A benchmark's tables and its file.
struct Outcome {
    tables: String,
    json: Value,
    folder: Folder,
}

/// Has three ranks measure something, in a folder.
fn among_three(folder: &Folder, devices: &str, args: &str) -> Command {
    let mut command = verbcast();
    command.current_dir(folder.path("")).args(args.split(' '));
    command.args(["--ranks", "3", "--device", devices, "--iterations", "3", "--warmup", "1"]);
    command
}

/// Runs a benchmark among three ranks; none if there is no device.
fn bench(args: &str) -> Option<Outcome> {
    let devices = needs::devices()?.join(",");
    let folder = Folder::new();
    let mut command = among_three(&folder, &devices, &format!("bench {args}"));
    let output = run(command.args(["--json", "results.json"]));
    assert!(output.status.success(), "{args}: {}", text(&output.stderr));
    let file = fs::read_to_string(folder.path("results.json")).unwrap();
    let json = serde_json::from_str(&file).unwrap();
    Some(Outcome { tables: text(&output.stdout), json, folder })
}

impl Outcome {
    fn points(&self) -> &Vec<Value> {
        self.json["points"].as_array().unwrap()
    }

    /// What the points have under a name, each once.
    fn all(&self, name: &str) -> BTreeSet<String> {
        let values = self.points().iter().map(|point| point[name].to_string());
        values.map(|value| value.trim_matches('"').to_owned()).collect()
    }

    /// Every table has this header, and rows of numbers that begin with these.
    fn check_tables(&self, header: &str, firsts: &[&str], figures: usize) {
        let tables: Vec<&str> = self.tables.split("\n\n").skip(1).collect();
        for table in &tables {
            let lines: Vec<&str> = table.lines().collect();
            assert!(lines[0].starts_with("# verbcast "), "{table}");
            assert!(lines[2].starts_with(header), "{table}");
            let rows = lines[3..].iter().filter(|line| !line.starts_with('#'));
            let rows: Vec<Vec<&str>> = rows.map(|line| line.split_whitespace().collect()).collect();
            let found: Vec<&str> = rows.iter().map(|row| row[0]).collect();
            assert_eq!(found, firsts, "{table}");
            for row in rows {
                let numbers = row[..=figures].iter().filter(|cell| cell.parse::<f64>().is_ok());
                let may_be_lost = lines[1].starts_with("# raw,");
                assert!(may_be_lost || numbers.count() == figures + 1, "{table}");
                assert_eq!(
                    row.len(),
                    header.split("  ").filter(|name| !name.is_empty()).count() + 11
                );
            }
        }
        assert_eq!(tables.len() * firsts.len(), self.points().len(), "{}", self.tables);
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn latency_is_measured_by_three_methods_for_every_algorithm() {
    let args = format!("latency --sizes 8:8 --algorithms {}", ALGORITHMS.join(","));
    let Some(outcome) = bench(&args) else { return };
    outcome.check_tables(LATENCY, &["8"], 3);
    assert_eq!(outcome.all("algorithm"), set(&ALGORITHMS));
    assert_eq!(outcome.all("test"), set(&["acknowledge", "osu", "clock"]));
    assert_eq!((outcome.points().len(), outcome.all("ranks")), (3 * ALGORITHMS.len(), set(&["3"])));
    for method in ["(Liu 2004, section 6.2)", "(OSU)", "(Hoefler 2007, section 4.3)"] {
        assert_eq!(outcome.tables.matches(method).count(), ALGORITHMS.len());
    }
    for point in outcome.points().iter().filter(|point| point["algorithm"] != "raw") {
        let counts = point["histogram"].as_array().unwrap().iter();
        let times: u64 = counts.map(|pair| pair[1].as_u64().unwrap()).sum();
        // The root alone counts the acknowledgements.
        assert_eq!(times, if point["test"] == "acknowledge" { 3 } else { 9 }, "{point}");
        assert_eq!(point["lost_messages"], 0, "{point}");
    }
    let system = &outcome.json["system"];
    assert_eq!(system["devices"].as_array().unwrap().len(), 3);
    assert!(system["mtu"].as_u64() > Some(0) && system["kernel"].is_string());
    assert_eq!(outcome.json["configuration"]["is_validated"], true);
}

#[test]
fn contenders_differ_in_their_settings() {
    let names = ["window:ring=16,acknowledge=every:4", "raw:receive=128", "window"];
    let [deep, raw, plain] = names;
    let args =
        format!("throughput --sizes 8:8 --algorithms {plain} --contender {deep} --contender {raw}");
    let Some(outcome) = bench(&args) else { return };
    outcome.check_tables(RATE, &["8"], 2);
    assert_eq!(outcome.all("algorithm"), set(&names));
    for point in outcome.points() {
        let cpu = point["cpu"].as_array().unwrap();
        assert_eq!(cpu.len(), 3, "{point}");
        let used = |rank: &Value| rank["user"].as_u64().unwrap() + rank["system"].as_u64().unwrap();
        assert!(cpu.iter().all(|rank| used(rank) > 0), "{point}");
    }
    assert_eq!(outcome.tables.matches("# CPU time of each rank").count(), names.len());
}

/// Its data is compared before and after; a message of 4 MiB has more packets than there are receives.
#[test]
fn the_floor_sends_nothing_but_the_message() {
    let args = "throughput --sizes 4K:4M:32 --algorithms bare --root fixed:1";
    let Some(outcome) = bench(args) else { return };
    outcome.check_tables(RATE, &["4096", "131072", "4194304"], 2);
    let mtu = outcome.json["system"]["mtu"].as_u64().unwrap();
    for point in outcome.points() {
        let least = point["size"].as_u64().unwrap().div_ceil(mtu) * 3;
        let of = |name: &str| point["counters"][name].as_u64().unwrap();
        assert_eq!((of("multicast_sent"), of("multicast_received")), (least, 2 * least), "{point}");
        assert_eq!(point["lost_messages"], 0, "{point}");
    }
}

#[test]
fn throughput_is_measured_and_shown() {
    let args = "throughput --sizes 4K:16K --algorithms raw,two-stage,window,binomial --root rotate";
    let Some(outcome) = bench(args) else { return };
    outcome.check_tables(RATE, &["4096", "8192", "16384"], 2);
    for point in outcome.points().iter().filter(|point| point["algorithm"] != "raw") {
        assert!(point["seconds"].as_f64().unwrap() > 0.0, "{point}");
    }
    let mut command = verbcast();
    command.current_dir(outcome.folder.path("")).args(["report", "results.json", "-o", "out"]);
    let output = run(&mut command);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = fs::read_to_string(outcome.folder.path("out/index.html")).unwrap();
    assert!(page.contains("as Liu 2004, figure 8"));
}

#[test]
fn skew_delays_the_receivers() {
    let Some(outcome) = bench("skew --skews 0,300 --algorithms raw,aggregate,chain") else {
        return;
    };
    let header = "# Skew(us)   Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations";
    outcome.check_tables(header, &["0", "300"], 3);
    assert_eq!(outcome.all("skew"), set(&["0", "300000"]));
}

#[test]
fn scale_takes_the_first_ranks_and_all() {
    let args =
        "scale --methods clock --sizes 64:64 --algorithms raw,window,binomial --root fixed:1";
    let Some(outcome) = bench(args) else { return };
    let header = "# Ranks      Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations";
    outcome.check_tables(header, &["2", "3"], 3);
    for point in outcome.points() {
        let ranks = point["ranks"].as_u64().unwrap() as usize;
        assert_eq!(point["by_rank"].as_array().unwrap().len(), ranks);
    }
}

#[test]
fn what_raw_loses_is_counted_and_never_waited_for() {
    let args = "latency --methods osu --sizes 8:8 --algorithms raw,window --fault loss=1,seed=3";
    let Some(outcome) = bench(args) else { return };
    let of = |name: &str| outcome.points().iter().find(|point| point["algorithm"] == name).unwrap();
    assert_eq!(of("raw")["lost_messages"], 2 * 3, "three messages at two receivers");
    assert_eq!(of("raw")["counters"]["lost"], 2 * 3);
    assert_eq!(of("raw")["by_rank"][1], Value::Null);
    assert_eq!(of("window")["lost_messages"], 0);
    assert_eq!(of("window")["counters"]["repaired"], 2 * 3);
    assert_eq!(outcome.json["configuration"]["faults"]["loss"], 1.0);
}

#[test]
fn tune_writes_a_table_that_broadcasts_go_by() {
    let Some(devices) = needs::devices() else { return };
    let (devices, folder) = (devices.join(","), Folder::new());
    let args = "tune --sizes 8:64 --output table --json results.json";
    let output = run(&mut among_three(&folder, &devices, args));
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    let file = fs::read_to_string(folder.path("table")).unwrap();
    let table: Table = file.parse().unwrap();
    let head: Vec<&str> = file.lines().take_while(|line| line.starts_with('#')).collect();
    assert!(head[0].starts_with("# Measured by verbcast tune on 2"), "{file}");
    assert!(head[0].ends_with(", among 2, 3 ranks") && head[2].starts_with("# Linux "), "{file}");
    assert!(head[1].starts_with(&format!("# verbcast {}", env!("CARGO_PKG_VERSION"))), "{file}");
    let shown = text(&output.stdout);
    assert!(shown.starts_with(&file) && shown.contains("VERBCAST_CHOICE=table"), "{shown}");
    for ranks in [2, 3] {
        assert!(shown.contains(&format!("# {ranks} ranks, medians in microseconds")), "{shown}");
    }
    let results = fs::read_to_string(folder.path("results.json")).unwrap();
    let results: Value = serde_json::from_str(&results).unwrap();
    assert_eq!(results["points"].as_array().unwrap().len(), 6 * 4 * 2);

    let args = "bench latency --methods osu --sizes 8:8 --algorithms auto --json auto.json";
    let mut command = among_three(&folder, &devices, args);
    let output = run(command.env("VERBCAST_CHOICE", "table"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let results = fs::read_to_string(folder.path("auto.json")).unwrap();
    let results: Value = serde_json::from_str(&results).unwrap();
    let multicasts = results["points"][0]["counters"]["multicast_sent"].as_u64() > Some(0);
    assert_eq!(multicasts, !table.choose(8, 3).is_unicast(), "{file}");
}

/// How long a process has kept a CPU busy, in the kernel's ticks.
fn ticks(id: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    after_name.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// Waits until all four ranks are at work; their processes.
fn at_work(launcher: &Running) -> Vec<u32> {
    until("the ranks to work", || {
        let ranks = children(launcher);
        ranks.len() == 4 && ranks.iter().all(|id| ticks(*id) > 100)
    });
    children(launcher)
}

#[test]
fn a_rank_that_is_killed_is_named_by_all() {
    let Some(devices) = needs::devices() else { return };
    for algorithm in ["raw", "window"] {
        let folder = Folder::new();
        let mut command = verbcast();
        command.current_dir(folder.path("")).env("TMPDIR", folder.path(""));
        command.args(["bench", "latency", "--methods", "osu", "--sizes", "8:8", "--ranks", "4"]);
        command.args(["--device", &devices.join(","), "--algorithms", algorithm, "--timeout", "4"]);
        let launcher = spawn(command.args(["--iterations", "10000000", "--json", "results.json"]));
        let ranks = at_work(&launcher);
        signal(ranks[2], "KILL");
        check_death(&launcher.output(), 2);
        assert!(ranks.into_iter().all(has_ended));
        assert!(!folder.path("results.json").exists());
    }
}
