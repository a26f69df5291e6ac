//! `verbcast tune` without a device: what it refuses, and that it leaves nothing.

use crate::support::{Folder, Subcommand, names, run, text, verbcast};

#[test]
fn a_wrong_command_line_is_explained() {
    for (args, says) in [
        ("--ranks 3", "--output <FILE>"),
        ("--ranks 3 -o /nowhere/table", "--output /nowhere/table: not a file in a folder"),
        ("--ranks 3 -o t --json /nowhere/results", "--json /nowhere/results: not a file"),
        ("--ranks 3 -o t --algorithms raw", "there is no algorithm \"raw\""),
        ("--ranks 3 -o t --counts 4", "--counts 4: not between 2 and the number of ranks, 3"),
        ("--ranks 3 -o t --method throughput", "expected acknowledge, osu or clock"),
        ("--ranks 3 -o t --margin 100", "expected a number from 0 to below 100"),
        ("-o t", "how many ranks?"),
    ] {
        Subcommand("tune").refused(args, 2, says);
    }
}

#[test]
fn a_failure_leaves_no_table() {
    let folder = Folder::new();
    let mut command = verbcast();
    command.current_dir(folder.path("")).env("TMPDIR", folder.path(""));
    let output =
        run(command.args(["tune", "--ranks", "3", "--device", "nosuchdevice", "-o", "table"]));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("error: ranks 0-2: "), "{}", text(&output.stderr));
    assert!(names(&folder).is_empty());
}
