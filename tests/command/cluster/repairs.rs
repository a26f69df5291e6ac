//! From whom what was lost is read: the repair tree follows the hosts.

use super::{Folder, lines};
use crate::support::{run, text, verbcast};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// Copies the file to four ranks that Slurm deals out to two hosts in turn; each loses every fifth datagram.
const SCRIPT: &str = r#"
export VERBCAST_TRACE=traces VERBCAST_FAULT=loss=0.2,seed=1
srun -N 2 --ntasks-per-node=2 -m cyclic --kill-on-bad-exit verbcast copy data.bin '/tmp/reads.{rank}' 2>&1 || exit
srun -N 2 bash -c 'for copy in /tmp/reads.*; do echo "$copy $(sha256sum <$copy)"; rm $copy; done'
"#;

/// How often each rank has read from which other, in words.
fn reads(name: &str, environment: &str) -> Option<[BTreeMap<String, usize>; 4]> {
    let folder = Folder::with_file(name, 2_000_000)?;
    let output = folder.run(&format!("{environment}\n{SCRIPT}"), &[]);
    let (said, sum) = (lines(&output), folder.sum());
    assert!(output.status.success(), "{said}");
    for rank in 1..4 {
        assert!(said.contains(&format!("/tmp/reads.{rank} {sum}")), "rank {rank}, {sum}:\n{said}");
    }
    let mut trace = verbcast();
    let output = run(trace.current_dir(&folder.path).args(["trace", "traces", "-o", "page"]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let merged = fs::read_to_string(folder.path.join("page/trace.json")).unwrap();
    let merged: Value = serde_json::from_str(&merged).unwrap();
    let mut found: [BTreeMap<String, usize>; 4] = Default::default();
    for event in merged["traceEvents"].as_array().unwrap() {
        if event["name"] == "repair"
            && let Some(from) = event["args"]["from"].as_str()
        {
            *found[event["pid"].as_u64().unwrap() as usize].entry(from.to_owned()).or_default() +=
                1;
        }
    }
    Some(found)
}

/// Whether a rank has read, and from this one alone.
fn only(from: &str, reads: &BTreeMap<String, usize>) -> bool {
    reads.keys().eq([from])
}

/// Rank 2 is on the root's host; of the other one, rank 1 comes first. Its mate reads from afar what it does not get for long,
/// as happens where emulated hosts share their cores.
#[test]
fn what_a_host_lost_is_read_from_afar_by_one_rank_of_it() {
    let Some(found) = reads("tree", "") else { return };
    let [of_root, of_first, of_its_neighbour, of_mate] = &found;
    assert!(
        of_root.is_empty() && only("rank 0", of_first) && only("rank 0", of_its_neighbour),
        "{found:?}"
    );
    let (from_first, all) =
        (of_mate.get("rank 1").copied().unwrap_or(0), of_mate.values().sum::<usize>());
    assert!(from_first >= 10 && from_first * 4 >= all * 3, "{found:?}");
}

#[test]
fn without_the_tree_all_ranks_read_from_the_root() {
    let Some(found) = reads("no-tree", "export VERBCAST_REPAIR_TREE=off") else { return };
    assert!(
        found[0].is_empty() && found[1..].iter().all(|reads| only("rank 0", reads)),
        "{found:?}"
    );
}
