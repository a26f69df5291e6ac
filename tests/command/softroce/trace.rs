//! Timelines of a real job, and the page that is made of them. Needs RDMA devices, named in `VERBCAST_TEST_DEVICES`.

use super::copy::{WITHOUT_HOLES, devices, large_source, until_data_flows};
use crate::support::{Folder, check_death, children, run, signal, spawn, text, verbcast};
use serde_json::Value;
use std::fs;

/// What the page has of all ranks together.
fn merged(folder: &Folder) -> Value {
    let merged = fs::read_to_string(folder.path("page/trace.json")).unwrap();
    serde_json::from_str(&merged).unwrap()
}

/// Events of a name at a rank.
fn count(merged: &Value, name: &str, rank: u64) -> usize {
    let events = merged["traceEvents"].as_array().unwrap();
    let is_it = |event: &&Value| event["name"] == name && event["pid"] == rank;
    events.iter().filter(is_it).count()
}

/// Who fails because another rank died has told all of it.
#[test]
fn those_that_are_left_have_whole_timelines() {
    let Some(devices) = devices() else { return };
    let folder = Folder::new();
    large_source(&folder);
    let mut copy = verbcast();
    copy.current_dir(folder.path(""))
        .env("TMPDIR", folder.path(""))
        .env("VERBCAST_TRACE", "traces");
    copy.args(["copy", "src", "dst.{rank}", "--ranks", "4", "--device", &devices]);
    let launcher = spawn(copy.args(WITHOUT_HOLES).args(["--timeout", "4"]));
    until_data_flows(&folder, 3);
    signal(children(&launcher)[2], "KILL");
    check_death(&launcher.output(), 2);
    let output =
        run(verbcast().current_dir(folder.path("")).args(["trace", "traces", "-o", "page"]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let merged = merged(&folder);
    for rank in [0, 1, 3] {
        assert_eq!(count(&merged, "set_up", rank), 1, "rank {rank}");
        assert!(count(&merged, "operation", rank) > 0, "rank {rank}");
        assert_eq!(count(&merged, "left", rank), 1, "rank {rank}");
    }
}

#[test]
fn a_job_that_loses_packets_is_traced() {
    let Some(devices) = devices() else { return };
    let folder = Folder::new();
    fs::write(folder.path("src"), vec![7; 2_000_000]).unwrap();
    let mut copy = verbcast();
    copy.current_dir(folder.path("")).env("VERBCAST_TRACE", "traces");
    copy.args(["copy", "src", "dst.{rank}", "--ranks", "3", "--device", &devices]);
    let output = run(copy.args(["--fault", "loss=0.05,seed=1"]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output =
        run(verbcast().current_dir(folder.path("")).args(["trace", "traces", "-o", "page"]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(
        said.contains("of its datagrams; ") && said.contains("reads of what was missing"),
        "{said}"
    );
    let page = fs::read_to_string(folder.path("page/index.html")).unwrap();
    for rank in 0..3 {
        assert!(page.contains(&format!("rank {rank} on ")), "rank {rank}");
    }
    assert!(page.contains("They have one clock."));
    let merged = merged(&folder);
    let count = |name, rank| count(&merged, name, rank);
    for rank in 0..3 {
        assert_eq!(count("set_up", rank), 1, "rank {rank}");
        assert!(count("broadcast", rank) > 0, "rank {rank}");
        assert!(count("operation", rank) > 0 && count("left", rank) == 1, "rank {rank}");
    }
    assert!(count("repair", 1) + count("repair", 2) > 0, "losses are repaired");
    assert_eq!(fs::read_dir(folder.path("traces")).unwrap().count(), 3, "one for each rank");
}
