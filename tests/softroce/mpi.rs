//! rsmpi programs under a real `mpirun`, with Open MPI and with MPICH.

use crate::mpirun::{Mpi, available, run, text};
use std::fs;
use std::process::Command;

fn exercise(mpi: Mpi, ranks: u32, what: &str) -> Command {
    let mut command = launcher(mpi, ranks);
    command.arg(mpi.example("exercise")).arg(what);
    command
}

fn launcher(mpi: Mpi, ranks: u32) -> Command {
    let mut command = mpi.launcher();
    command.args(["-n", &ranks.to_string()]);
    command
}

/// How many ranks say that all is as it should be.
fn fine(stdout: &str) -> usize {
    stdout.lines().filter(|line| line.starts_with("rank ") && line.ends_with(": fine")).count()
}

#[test]
fn buffers_of_all_forms_come_by_multicast() {
    let faults = [Some("loss=0.05,dup=0.02,reorder=0.02,seed=5"), None];
    for (mpi, faults) in available(|mpi| mpi.example("exercise")).into_iter().zip(faults) {
        let mut command = exercise(mpi, 4, "all");
        command.envs(faults.map(|faults| ("VERBCAST_FAULT", faults)));
        let output = run(&mut command);
        let stdout = text(&output.stdout);
        assert!(output.status.success() && fine(&stdout) == 4, "{mpi:?}");
        assert!(stdout.contains("by MPI: None"), "{mpi:?}");
        assert!(!stdout.contains("multicast packets: 0\n"), "{mpi:?}");
    }
}

#[test]
fn without_a_device_at_one_rank_all_broadcast_by_mpi() {
    for mpi in available(|mpi| mpi.example("exercise")) {
        let mut command = launcher(mpi, 4);
        let script = "if [ ${OMPI_COMM_WORLD_RANK-$PMI_RANK} = 2 ]; then export VERBCAST_DEVICE=none0; fi; \
                      exec \"$@\"";
        command.args(["sh", "-c", script, "sh"]).arg(mpi.example("exercise")).arg("all");
        let output = run(&mut command);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success() && fine(&stdout) == 4, "{mpi:?}");
        assert!(stdout.contains("by MPI: Some") && stdout.contains("none0"), "{mpi:?}");
        assert_eq!(stderr.matches("verbcast: broadcasts go by MPI: rank 2").count(), 1, "{mpi:?}");
    }
}

#[test]
fn another_length_is_an_error_at_every_rank() {
    for mpi in available(|mpi| mpi.example("exercise")) {
        let output = run(&mut exercise(mpi, 4, "mismatch"));
        let stdout = text(&output.stdout);
        assert!(output.status.success() && fine(&stdout) == 4, "{mpi:?}");
        assert_eq!(stdout.matches("(as seen by rank 1)").count(), 4, "named by all: {mpi:?}");
    }
}

#[test]
fn a_rank_that_dies_ends_the_job() {
    for mpi in available(|mpi| mpi.example("exercise")) {
        let output = run(&mut exercise(mpi, 4, "leave"));
        assert!(!output.status.success(), "{mpi:?}");
    }
}

#[test]
fn the_solver_comes_to_the_same_by_multicast_and_by_mpi() {
    for mpi in available(|mpi| mpi.example("solver")) {
        let solve = |device: Option<&str>| {
            let mut command = launcher(mpi, 4);
            command.arg(mpi.example("solver"));
            command.envs(device.map(|device| ("VERBCAST_DEVICE", device)));
            let output = run(&mut command);
            assert!(output.status.success(), "{mpi:?}");
            text(&output.stdout)
        };
        let (multicast, by_mpi) = (solve(None), solve(Some("none0")));
        assert_eq!(multicast.lines().next(), by_mpi.lines().next(), "{mpi:?}");
        assert!(multicast.contains("packets were multicast"), "{mpi:?}");
        assert!(by_mpi.contains("broadcast by MPI"), "{mpi:?}");
    }
}

#[test]
fn a_file_comes_to_every_rank() {
    for (mpi, len) in available(|mpi| mpi.example("model_file")).into_iter().zip([3_000_001, 0]) {
        let folder = std::env::temp_dir().join(format!("verbcast-model-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [from, to] = ["model.bin", "copy.{rank}"].map(|name| folder.join(name));
        let bytes: Vec<u8> = (0..len).map(|at| (at * 31 + at / 251) as u8).collect();
        fs::write(&from, &bytes).unwrap();
        let mut command = launcher(mpi, 4);
        let output = run(command.arg(mpi.example("model_file")).arg(&from).arg(&to));
        assert!(output.status.success(), "{mpi:?}, {len} bytes");
        assert!(text(&output.stdout).contains("by multicast"), "{mpi:?}");
        for rank in 1..4 {
            let copy = folder.join(format!("copy.{rank}"));
            assert!(fs::read(copy).unwrap() == bytes, "{mpi:?}, {len} bytes at rank {rank}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
