//! The commands in the book that need a device.

use crate::book::bash;
use crate::needs;
use crate::pages;
use crate::support::{Folder, run, text};
use std::fs;

#[test]
fn commands_that_need_a_device_run() {
    let Some(devices) = needs::devices() else { return };
    let blocks = pages::blocks(&["sh", "device"]);
    assert!(!blocks.is_empty());
    for block in blocks {
        let folder = Folder::new();
        fs::write(folder.path("SRC"), "something to copy\n".repeat(50_000)).unwrap();
        let output = run(bash(&folder, &block.text).env("VERBCAST_DEVICE", devices.join(",")));
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{}: {}\n{stdout}{stderr}", block.place, block.text);
    }
}
