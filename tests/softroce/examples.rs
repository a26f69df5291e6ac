//! The examples that need no MPI, each as some processes of this machine.

use crate::needs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const RANKS: usize = 3;

/// What an example's ranks print, by rank.
fn run(name: &str, device: &str) -> Vec<String> {
    // Cargo builds examples beside the folder of the tests.
    let tests = std::env::current_exe().unwrap();
    let example = tests.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(example.exists(), "{} is not built: cargo build --examples", example.display());
    let socket: PathBuf = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
    let started: Vec<_> = (0..RANKS)
        .map(|rank| {
            Command::new(&example)
                .env("VERBCAST_RANK", rank.to_string())
                .env("VERBCAST_SIZE", RANKS.to_string())
                .env("VERBCAST_RENDEZVOUS", format!("unix:{}", socket.display()))
                .env("VERBCAST_DEVICE", device)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let outputs = started.into_iter().map(|process| {
        let output = process.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    });
    outputs.collect()
}

#[test]
fn hello_greets_every_rank() {
    let Some(devices) = needs::devices() else { return };
    for (rank, text) in run("hello", &devices[0]).iter().enumerate() {
        assert_eq!(*text, format!("rank {rank} of {RANKS}: hello\n"));
    }
}

#[test]
fn nonblocking_computes_the_same_everywhere() {
    let Some(devices) = needs::devices() else { return };
    let texts = run("nonblocking", &devices[0]);
    let sums: Vec<_> = texts.iter().map(|text| text.split_once(": ").unwrap().1).collect();
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{texts:?}");
}

#[test]
fn tokio_waits_for_a_message() {
    let Some(devices) = needs::devices() else { return };
    for (rank, text) in run("with_tokio", &devices[0]).iter().enumerate() {
        assert!(text.ends_with(&format!("rank {rank}: from rank 0\n")), "{text}");
    }
}
