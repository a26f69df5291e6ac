//! `verbcast doctor` on devices: healthy as they are, and with one thing broken at a time.

use crate::needs;
use crate::support::{Folder, run, text, verbcast};
use serde_json::Value;
use std::fs;
use std::process::{Command, Output};

/// A command for these devices.
pub fn doctor(devices: &[String]) -> Command {
    let mut command = verbcast();
    command.args(["doctor", "--device", &devices.join(",")]);
    command
}

#[track_caller]
fn healthy(output: &Output) -> String {
    let stdout = text(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", text(&output.stderr));
    assert!(stdout.contains("\nhealthy, after "), "{stdout}");
    stdout
}

#[track_caller]
fn names(output: &Output, expected: &str) {
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{stdout}{}", text(&output.stderr));
    let (_, verdict) = stdout.split_once("something is wrong:\n").expect("a verdict");
    let first = verdict.lines().next().unwrap();
    assert!(first.contains(expected), "{verdict}");
    assert!(verdict.contains("what to do: "), "{verdict}");
}

#[test]
fn one_host_is_healthy() {
    let Some(devices) = needs::devices() else { return };
    let folder = Folder::new();
    let file = folder.path("report.json");
    let output = run(doctor(&devices[..1]).arg("--json").arg(&file));
    let stdout = healthy(&output);
    assert!(!stdout.contains("\n  -  "), "all is tried: {stdout}");
    let json: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(json["healthy"], true);
    let findings = json["report"]["hosts"][0]["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["outcome"] == "holds"));
}

#[test]
fn several_ranks_are_healthy() {
    let Some(devices) = needs::devices() else { return };
    let ranks = devices.len().max(3).to_string();
    let output = run(doctor(&devices).args(["--ranks", &ranks]));
    let stdout = healthy(&output);
    assert!(stdout.contains(&format!("{ranks} ranks together")), "{stdout}");
    assert!(stdout.contains("path-mtu             up to 4096 bytes"), "{stdout}");
}

/// Somebody else than root is bound by the limit on locked memory.
#[test]
fn too_little_locked_memory_is_named() {
    let Some(devices) = needs::devices() else { return };
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c"]);
    command.arg("ulimit -l 64 && exec \"$@\"").arg("bash");
    let doctor = doctor(&devices[..1]);
    command.arg(doctor.get_program()).args(doctor.get_args());
    names(&run(&mut command), "locked-memory (29): ");
}
