//! Rings and trees follow the hosts, however the ranks are numbered.

use super::{Folder, lines};

/// Copies the file to four ranks that Slurm deals out to two hosts in turn, each of which tells its neighbours.
const SCRIPT: &str = r#"
export VERBCAST_LOG=debug
srun -N 2 --ntasks-per-node=2 -m cyclic --kill-on-bad-exit verbcast copy data.bin '/tmp/places.{rank}' 2>&1 || exit
srun -N 2 bash -c 'for copy in /tmp/places.*; do echo "$copy $(sha256sum <$copy)"; rm $copy; done'
"#;

/// The ranks get the file, and each has these neighbours.
#[track_caller]
fn assert_neighbours(algorithm: &str, places: &str, neighbours: [&str; 4]) {
    let environment = format!("export VERBCAST_ALGORITHM={algorithm} VERBCAST_PLACES={places}");
    assert_neighbours_with("places", &environment, neighbours);
}

/// The same, after some lines of the script, in a folder of this name.
#[track_caller]
fn assert_neighbours_with(name: &str, environment: &str, neighbours: [&str; 4]) {
    let Some(folder) = Folder::with_file(name, 1_000_000) else { return };
    let output = folder.run(&format!("{environment}\n{SCRIPT}"), &[]);
    let (said, sum) = (lines(&output), folder.sum());
    assert!(output.status.success(), "{said}");
    for (rank, neighbours) in neighbours.iter().enumerate() {
        let copy = format!("/tmp/places.{rank} {sum}");
        assert!(rank == 0 || said.contains(&copy), "rank {rank}, {sum}:\n{said}");
        let is_place = |line: &&str| line.contains("place on the ring");
        let of_rank = |line: &&str| line.contains(&format!("rank={rank} "));
        let told = said.lines().filter(is_place).find(of_rank);
        assert!(told.is_some_and(|line| line.contains(neighbours)), "rank {rank}: {told:?}");
    }
}

#[test]
fn neighbours_are_on_one_host() {
    let neighbours = [
        "on host 0 of 2, after rank 3 on host 1, before rank 2 on this host",
        "on host 1 of 2, after rank 2 on host 0, before rank 3 on this host",
        "on host 0 of 2, after rank 0 on this host, before rank 1 on host 1",
        "on host 1 of 2, after rank 1 on this host, before rank 0 on host 0",
    ];
    for algorithm in ["chain", "binomial"] {
        assert_neighbours(algorithm, "hosts", neighbours);
    }
}

#[test]
fn neighbours_are_by_number_where_that_is_asked_for() {
    let neighbours = [
        "on host 0 of 2, after rank 3 on host 1, before rank 1 on host 1",
        "on host 1 of 2, after rank 0 on host 0, before rank 2 on host 0",
        "on host 0 of 2, after rank 1 on host 1, before rank 3 on host 1",
        "on host 1 of 2, after rank 2 on host 0, before rank 0 on host 0",
    ];
    assert_neighbours("chain", "numbers", neighbours);
}

/// Each host reads a file of its own, in which the other one is not.
#[test]
fn switches_are_those_that_each_host_has_told() {
    let environment = r#"
export VERBCAST_TOPOLOGY=/tmp/topology.conf
srun -N 2 bash -c 'echo "SwitchName=of-$(hostname) Nodes=$(hostname)" >/tmp/topology.conf' || exit
"#;
    let neighbours = [
        "on host 0 of 2 below switch of-node1, after rank 3 on host 1 below switch of-node2, before rank 2 on this host",
        "on host 1 of 2 below switch of-node2, after rank 2 on host 0 below switch of-node1, before rank 3 on this host",
        "on host 0 of 2 below switch of-node1, after rank 0 on this host, before rank 1 on host 1 below switch of-node2",
        "on host 1 of 2 below switch of-node2, after rank 1 on this host, before rank 0 on host 0 below switch of-node1",
    ];
    assert_neighbours_with("switches", environment, neighbours);
}
