//! What the scripts in `ci` do by themselves.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Less than the program would run.
const PATIENCE: Duration = Duration::from_secs(60);

/// A job in which a program has a process group of its own, as `timeout` and MPI's launchers make them, and hears nothing
/// of a request to end.
#[test]
fn what_is_cancelled_ends_with_all_of_its_process_groups() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/ci/guest/session.sh");
    let stubborn = "trap '' TERM; echo begun; while :; do sleep 1; done";
    let job = format!("echo $$; timeout -k 1 100 bash -c \"{stubborn}\" & wait");
    let mut launcher = Command::new("setsid")
        .args(["--wait", "bash", "-c", &job])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(launcher.stdout.take().unwrap()).lines();
    let leader = lines.next().unwrap().unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "begun");
    let left = || Command::new("pgrep").args(["--session", &leader]).output().unwrap().stdout;
    assert!(left().split(|byte| *byte == b'\n').count() > 3, "leader, timeout and its program");
    let end = format!(". {script}; end_session {leader}");
    Command::new("bash").args(["-c", &end]).status().unwrap();
    launcher.wait().unwrap();
    // What is killed is gone once it has run again.
    let begun = Instant::now();
    while !left().is_empty() {
        let left = String::from_utf8_lossy(&left()).into_owned();
        assert!(begun.elapsed() < PATIENCE, "left behind: {left}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
