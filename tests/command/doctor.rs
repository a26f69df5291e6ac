//! `verbcast doctor` where there is no device. What needs one is in `softroce`.

use crate::needs;
use crate::support::{Folder, run, text, verbcast};
use serde_json::Value;
use std::fs;

/// A name that no device has, so that the machine's own do not count.
const NONE: &str = "nosuchdevice0";

#[test]
fn without_a_device_that_is_named() {
    let folder = Folder::new();
    let file = folder.path("report.json");
    let mut command = verbcast();
    command.args(["doctor", "--device", NONE, "--json"]).arg(&file);
    let output = run(&mut command);
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{stdout}{}", text(&output.stderr));
    assert!(stdout.contains("nothing was tried: "), "{stdout}");
    assert!(stdout.contains("RDMA device"), "{stdout}");
    assert!(stdout.contains("send this file"), "{stdout}");
    let json: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!((&json["format"], &json["healthy"]), (&"verbcast doctor 1".into(), &false.into()));
    let host = json["report"]["hosts"][0]["host"]["name"].as_str().unwrap();
    assert!(host.starts_with('#'), "{host} is a host's name");
}

#[test]
fn several_ranks_without_a_device_say_so_once() {
    let mut command = verbcast();
    command.args(["doctor", "--device", NONE, "--ranks", "3"]);
    let output = run(&mut command);
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{stdout}{}", text(&output.stderr));
    assert_eq!(stdout.matches("nothing was tried").count(), 1, "{stdout}");
    assert!(stdout.contains("between ranks: join-by-address (1): rank 0 ("), "{stdout}");
}

#[test]
fn a_wrong_command_line_is_refused() {
    for args in [&["doctor", "--ranks", "1"][..], &["doctor", "--json", "/nowhere/at/all.json"]] {
        let output = run(verbcast().args(args));
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
    }
}

/// `info` says what nobody has tried.
#[test]
fn a_device_is_verified_or_not() {
    if needs::devices().is_none() {
        return;
    }
    let output = run(verbcast().arg("info"));
    let stdout = text(&output.stdout);
    assert!(stdout.contains("verified          on SoftRoCE adapters"), "{stdout}");
}
