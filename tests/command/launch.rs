//! The command without a device: what it refuses, how it says so, and that it leaves nothing.

use crate::support::{Folder, names, run, spawn, text, until, verbcast};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

fn refused(output: &Output, status: i32, expected: &str) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{stderr}");
    assert!(stderr.contains(expected), "expected {expected:?} in:\n{stderr}");
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
}

/// The command with a source in a folder of its own.
fn prepare() -> (Folder, Command) {
    let folder = Folder::new();
    fs::write(folder.path("src"), b"some bytes").unwrap();
    let mut command = verbcast();
    command.current_dir(folder.path(""));
    // So that it fails in the same way where there is a device.
    command.env("VERBCAST_DEVICE", "nosuchdevice").env("TMPDIR", folder.path(""));
    (folder, command)
}

#[test]
fn a_wrong_command_line_is_explained() {
    for (args, expected) in [
        (&["copy", "src", "dst", "--ranks", "1"][..], "'--ranks <N>'"),
        (&["copy", "src", "dst", "--ranks", "3"], "put {rank} into DST"),
        (&["copy", "src", "dst", "--ranks", "2", "--timeout", "-1"], "-1"),
        (&["copy", "src", "dst", "--ranks", "2", "--timeout", "soon"], "not a number of seconds"),
        (&["copy", "src", "dst", "--ranks", "2", "--chunk", "0"], "not between 1 byte and 1G"),
        (&["copy", "src", "dst", "--ranks", "2", "--chunk", "5T"], "unit 't'"),
        (&["copy", "src", "dst", "--ranks", "2", "--fault", "loss=2"], "loss=2"),
        (&["copy", "src", "", "--ranks", "2"], "DST is empty"),
        (&["copy", "src", "-", "--ranks", "2"], "have one standard output together"),
        (&["copy", "-", "dst/", "--ranks", "2"], "DST must name a file"),
        (&["copy", "-", "src", "dst/", "--ranks", "2"], "must be the only one"),
        (&["copy", "-", "dst", "--resume", "--ranks", "2"], "cannot be read again"),
        (&["copy", "src", "-", "--verify"], "cannot be read back"),
        (&["copy", "src", "src", "-"], "use tar for more"),
        (&["copy", "src", "dst", "--verify", "--hash", "none"], "need a hash"),
        (&["copy", "src", "dst"], "how many ranks?"),
        (&["copy", "src"], "<DST>"),
        (&["frobnicate"], "frobnicate"),
    ] {
        let (folder, mut command) = prepare();
        refused(&run(command.args(args)), 2, expected);
        assert_eq!(names(&folder), ["src"]);
    }
}

#[test]
fn the_algorithm_mpi_says_what_it_needs() {
    let has_mpi = cfg!(feature = "mpi");
    let without_launcher = if has_mpi { "mpirun -n N" } else { "--features mpi" };
    let with_ranks = if has_mpi { "without --ranks" } else { "built without MPI" };
    for (args, expected) in [
        (&["bench", "latency", "--algorithms", "raw,mpi"][..], without_launcher),
        (&["bench", "skew", "--algorithms", "mpi", "--ranks", "2"], with_ranks),
        (
            &["bench", "latency", "--algorithms", "mpy", "--ranks", "2"],
            "there are raw, bare, mpi, auto,",
        ),
        (&["tune", "-o", "table", "--algorithms", "mpi", "--ranks", "2"], "mpi"),
    ] {
        let (folder, mut command) = prepare();
        refused(&run(command.args(args)), 2, expected);
        assert_eq!(names(&folder), ["src"]);
    }
    // A launcher that is not MPI's starts ranks, but no MPI.
    let (_folder, mut command) = prepare();
    command.args(["bench", "latency", "--algorithms", "mpi"]).env("VERBCAST_RANK", "0");
    refused(&run(command.env("VERBCAST_SIZE", "2")), 2, without_launcher);
}

#[test]
fn a_wrong_environment_is_named() {
    for (variable, value, expected) in [
        ("VERBCAST_RANK", "x", "VERBCAST_RANK is 'x'"),
        ("VERBCAST_SIZE", "2", "VERBCAST_RANK is not set"),
        ("VERBCAST_TIMEOUT", "soon", "VERBCAST_TIMEOUT=soon"),
    ] {
        let (_folder, mut command) = prepare();
        refused(&run(command.args(["copy", "src", "dst"]).env(variable, value)), 2, expected);
    }
    let (_folder, mut command) = prepare();
    command.args(["copy", "src", "dst"]).env("VERBCAST_RANK", "0").env("VERBCAST_SIZE", "2");
    refused(&run(&mut command), 2, "VERBCAST_RENDEZVOUS is not set");
}

#[test]
fn help_is_help() {
    for args in [&["--help"][..], &["copy", "--help"], &["info", "--help"], &["--version"]] {
        let output = run(verbcast().args(args));
        assert!(output.status.success());
        assert!(!output.stdout.is_empty() && output.stderr.is_empty());
    }
}

/// Whoever adds an algorithm tells those who may ask for it.
#[test]
fn help_names_every_algorithm() {
    for words in [&["bench", "latency"][..], &["sim"], &["tune"]] {
        let help = text(&verbcast().args(words).arg("--help").output().unwrap().stdout);
        for (name, _) in verbcast_core::protocol::choice::Algorithm::NAMES {
            let mut named = help.split([' ', ',', '\n', ']']);
            assert!(named.any(|word| word == name), "verbcast {} --help: {name}", words.join(" "));
        }
    }
}

#[test]
fn info_is_helpful_whatever_there_is() {
    let output = run(verbcast().arg("info"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.contains("rdma link add") || shown.contains("would use"), "{shown}");
    let output = run(verbcast().args(["info", "--json"]));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["devices"].is_array() && json["reason"].is_string(), "{json}");
}

/// The folder with a topology file of these lines, and its path.
fn topology(lines: &str) -> (Folder, String) {
    let folder = Folder::new();
    let path = folder.path("topology.conf");
    fs::write(&path, lines).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

#[test]
fn info_shows_the_switches_above_this_host() {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = name.trim();
    let lines = format!("SwitchName=s7 Nodes={host}\nSwitchName=top Switches=s[7-7] # all\n");
    for (lines, shown, switches) in [
        (
            lines,
            "is below these switches, from the top down: top, s7\n".to_owned(),
            json!(["top", "s7"]),
        ),
        ("SwitchName=s7\n".to_owned(), "is not in ".to_owned(), json!([])),
    ] {
        let (_folder, path) = topology(&lines);
        let output = run(verbcast().arg("info").env("VERBCAST_TOPOLOGY", &path));
        assert!(output.status.success(), "{}", text(&output.stderr));
        let told = text(&output.stdout);
        assert!(told.contains(&format!("{host} {shown}")), "{told}");
        let output = run(verbcast().args(["info", "--json"]).env("VERBCAST_TOPOLOGY", &path));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["switches"], switches);
    }
    let output = run(verbcast().args(["info", "--json"]));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["switches"].is_null(), "{json}");
}

#[test]
fn a_wrong_topology_file_is_named_with_its_line() {
    for (lines, expected) in [
        (
            "SwitchName=a Nodes=n[1-3]\n#\nSwitchName=b Nodes=n3\n",
            "line 3: host n3 is below switch a on line 1 already",
        ),
        ("SwitchName=a\nSwitchName=a\n", "line 2: switch a is on line 1 already"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "is below itself"),
        ("SwitchName=a Switches=b\n", "line 1: there is no line SwitchName=b"),
        ("SwitchName=a Nodes=n[1-\n", "line 1: a bracket in the list"),
        ("SwitchName=a Nodes=n[1-9999999]\n", "line 1: the list stands for more than 65536 names"),
        ("BlockName=a Nodes=n1\n", "line 1: expected SwitchName="),
        ("\u{0}\u{1}\u{2}", "line 1: expected KEY=VALUE"),
    ] {
        let (_folder, path) = topology(lines);
        let (_source, mut command) = prepare();
        command.args(["copy", "src", "dst.{rank}", "--ranks", "2"]).env("VERBCAST_TOPOLOGY", &path);
        let output = run(&mut command);
        refused(&output, 2, &format!("VERBCAST_TOPOLOGY={path}: line "));
        refused(&output, 2, expected);
        refused(&run(verbcast().arg("info").env("VERBCAST_TOPOLOGY", &path)), 2, expected);
    }
    let (folder, _) = topology("");
    for (path, expected) in
        [(folder.path("nosuch"), "No such file"), (folder.path(""), "Is a directory")]
    {
        refused(&run(verbcast().arg("info").env("VERBCAST_TOPOLOGY", path)), 2, expected);
    }
}

#[test]
fn what_one_rank_cannot_do_is_told_once_for_all() {
    for (src, dst, expected) in [
        ("nosuch", "dst.{rank}", "ranks 0-3: rank 0: cannot read nosuch: No such file"),
        (
            "/dev/null",
            "dst.{rank}",
            "ranks 0-3: rank 0: cannot copy /dev/null: it is not a regular",
        ),
        (".", "dst.{rank}", "ranks 0-3: rank 0: cannot copy .: it is a folder (-r copies folders)"),
        ("src", "d{rank}/dst", "rank 1: cannot write d1/dst: the folder d1 does not exist; and 2"),
        ("src", "dst.{rank}", "nosuchdevice"),
    ] {
        let (folder, mut command) = prepare();
        let output = run(command.args(["copy", src, dst, "--ranks", "4"]));
        let expected = match fs::read_dir("/sys/class/infiniband").map(Iterator::count) {
            Ok(1..) => expected,
            _ if expected == "nosuchdevice" => "there is no RDMA device on this host",
            _ => expected,
        };
        refused(&output, 1, expected);
        assert_eq!(text(&output.stderr).lines().count(), 1);
        assert_eq!(names(&folder), ["src"]);
    }
}

#[test]
fn a_folder_without_permission_is_named() {
    let (folder, mut command) = prepare();
    for rank in 1..4 {
        fs::create_dir(folder.path(&format!("d{rank}"))).unwrap();
    }
    // A file in place of a folder stops even root, whom permissions do not.
    fs::remove_dir(folder.path("d2")).unwrap();
    fs::write(folder.path("d2"), b"").unwrap();
    let output = run(command.args(["copy", "src", "d{rank}/dst", "--ranks", "4"]));
    refused(&output, 1, "ranks 0-3: rank 2: cannot create d2/.dst.verbcast-");
    for rank in [1, 3] {
        assert_eq!(fs::read_dir(folder.path(&format!("d{rank}"))).unwrap().count(), 0);
    }
}

#[test]
fn an_existing_destination_stays_after_a_failure() {
    let (folder, mut command) = prepare();
    fs::write(folder.path("dst"), b"old").unwrap();
    fs::set_permissions(folder.path("dst"), fs::Permissions::from_mode(0o640)).unwrap();
    let output = run(command.args(["copy", "src", "dst", "--ranks", "2"]));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read(folder.path("dst")).unwrap(), b"old");
    assert_eq!(names(&folder), ["dst", "src"]);
}

#[test]
fn a_rank_that_never_appears_is_named() {
    let (folder, mut command) = prepare();
    let rendezvous = format!("unix:{}", folder.path("meet").display());
    command.env("VERBCAST_SIZE", "3").env("VERBCAST_RENDEZVOUS", &rendezvous);
    command.args(["copy", "src", "dst", "--timeout", "2"]);
    let second = spawn(command.env("VERBCAST_RANK", "2"));
    let first = spawn(command.env("VERBCAST_RANK", "0"));
    for rank in [first, second] {
        let expected = format!("error: rank 1 did not appear at {rendezvous} within 2 s");
        refused(&rank.output(), 1, &expected);
    }
    assert_eq!(names(&folder), ["src"]);
}

#[test]
fn writers_of_one_file_on_one_host_are_found_without_a_launcher() {
    let (folder, mut command) = prepare();
    let rendezvous = format!("unix:{}", folder.path("meet").display());
    command.env("VERBCAST_SIZE", "3").env("VERBCAST_RENDEZVOUS", &rendezvous);
    command.args(["copy", "src", "dst"]);
    let ranks: Vec<_> =
        (0..3).map(|rank| spawn(command.env("VERBCAST_RANK", rank.to_string()))).collect();
    for rank in ranks {
        let expected = "ranks 1 and 2 are on the same host and would all write dst";
        refused(&rank.output(), 1, expected);
    }
}

#[test]
fn a_rank_ends_when_it_is_asked_to() {
    let (folder, mut command) = prepare();
    let rendezvous = format!("unix:{}", folder.path("meet").display());
    command.env("VERBCAST_SIZE", "2").env("VERBCAST_RENDEZVOUS", &rendezvous);
    command.env("VERBCAST_RANK", "0").args(["copy", "src", "dst", "--timeout", "600"]);
    let rank = spawn(&mut command);
    until("the rendezvous", || folder.path("meet").exists());
    rank.signal("TERM");
    assert_eq!(rank.output().status.code(), Some(143));
}

/// As `nohup` starts programs.
#[test]
fn what_a_rank_ignored_from_the_start_does_not_end_it() {
    let (folder, mut command) = prepare();
    let rendezvous = format!("unix:{}", folder.path("meet").display());
    command.env("VERBCAST_SIZE", "2").env("VERBCAST_RENDEZVOUS", &rendezvous);
    command.env("VERBCAST_RANK", "0").args(["copy", "src", "dst", "--timeout", "600"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).current_dir(folder.path(""));
    shell.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let rank = spawn(&mut shell);
    until("the rendezvous", || folder.path("meet").exists());
    rank.signal("HUP");
    rank.signal("TERM");
    assert_eq!(rank.output().status.code(), Some(143));
}
