//! Timelines of a real job, and the page that is made of them. Needs RDMA devices, named in `VERBCAST_TEST_DEVICES`.

use super::copy::devices;
use crate::support::{Folder, run, text, verbcast};
use serde_json::Value;
use std::fs;

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
    let merged = fs::read_to_string(folder.path("page/trace.json")).unwrap();
    let merged: Value = serde_json::from_str(&merged).unwrap();
    let events = merged["traceEvents"].as_array().unwrap();
    let count = |name: &str, rank: u64| {
        let is_it = |event: &&Value| event["name"] == name && event["pid"] == rank;
        events.iter().filter(is_it).count()
    };
    for rank in 0..3 {
        assert_eq!(count("set_up", rank), 1, "rank {rank}");
        assert!(count("broadcast", rank) > 0, "rank {rank}");
        assert!(count("operation", rank) > 0 && count("left", rank) == 1, "rank {rank}");
    }
    assert!(count("repair", 1) + count("repair", 2) > 0, "losses are repaired");
    assert_eq!(fs::read_dir(folder.path("traces")).unwrap().count(), 3, "one for each rank");
}
