//! `verbcast copy` over real verbs. Needs RDMA devices, named in `VERBCAST_TEST_DEVICES`.

use crate::needs;
use crate::support::{
    Folder, Running, check_death, children, children_of, has_ended, names, run, signal, spawn,
    text, until, verbcast,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const LARGE: u64 = 4 << 30;
/// So that what takes no space is sent all the same.
pub const WITHOUT_HOLES: [&str; 2] = ["--sparse", "never"];

/// The devices to use, with commas.
pub fn devices() -> Option<String> {
    Some(needs::devices()?.join(","))
}

/// `verbcast copy src DST --ranks N` in a folder of its own.
fn copy(folder: &Folder, devices: &str, dst: &str, ranks: u32) -> Command {
    let mut command = verbcast();
    command.current_dir(folder.path("")).env("TMPDIR", folder.path(""));
    command.args(["copy", "src", dst, "--device", devices, "--ranks", &ranks.to_string()]);
    command
}

fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let mut step = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..len).map(|_| step()).collect()
}

fn json(command: &mut Command) -> Value {
    let output = run(command.arg("--json"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A source too long to be copied before the test does something about it; it takes no space.
pub fn large_source(folder: &Folder) {
    File::create(folder.path("src")).unwrap().set_len(LARGE).unwrap();
}

/// Waits until data has arrived in every partial file.
pub fn until_data_flows(folder: &Folder, files: usize) {
    until("data", || {
        let has_data = |name: &String| {
            fs::metadata(folder.path(name)).is_ok_and(|metadata| metadata.len() > 0)
        };
        let partial = |name: &String| name.ends_with(".part");
        names(folder).iter().filter(|name| partial(name) && has_data(name)).count() == files
    });
}

#[test]
fn eight_ranks_get_the_file() {
    let Some(devices) = devices() else { return };
    let folder = Folder::new();
    let data = noise(3_000_001);
    fs::write(folder.path("src"), &data).unwrap();
    fs::set_permissions(folder.path("src"), fs::Permissions::from_mode(0o751)).unwrap();
    let summary = json(copy(&folder, &devices, "dst.{rank}", 8).args(["--chunk", "256K"]));
    for rank in 1..8 {
        let path = folder.path(&format!("dst.{rank}"));
        assert!(fs::read(&path).unwrap() == data, "rank {rank} has something else");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o751);
    }
    assert_eq!(names(&folder).len(), 8, "{:?}", names(&folder));
    assert_eq!(summary["bytes"], 3_000_001);
    assert_eq!(summary["ranks"].as_array().unwrap().len(), 8);
    let hosts: Vec<_> = summary["hosts"].as_object().unwrap().values().collect();
    assert_eq!(hosts, [&serde_json::json!([1, 2, 3, 4, 5, 6, 7])]);
    assert!(summary["packets_multicast"].as_u64() >= summary["packets_needed"].as_u64());
}

#[test]
fn the_summary_is_a_table() {
    let Some(devices) = devices() else { return };
    let folder = Folder::new();
    fs::write(folder.path("src"), noise(100_000)).unwrap();
    let output = run(&mut copy(&folder, &devices, "dst", 2));
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(shown.contains("SHA-256 ") && shown.contains("repaired"), "{shown}");
    assert!(shown.lines().any(|line| line.ends_with(": rank 1")), "no host has it:\n{shown}");
    assert!(shown.lines().last().unwrap().trim_start().starts_with("total"), "{shown}");
}

#[test]
fn tiny_files_are_files() {
    let Some(devices) = devices() else { return };
    for len in [0, 1] {
        let folder = Folder::new();
        fs::write(folder.path("src"), noise(len)).unwrap();
        fs::write(folder.path("dst.1"), b"something old").unwrap();
        let summary = json(&mut copy(&folder, &devices, "dst.{rank}", 4));
        assert_eq!(summary["bytes"], len);
        for rank in 1..4 {
            assert_eq!(fs::read(folder.path(&format!("dst.{rank}"))).unwrap(), noise(len));
        }
    }
}

#[test]
fn what_is_lost_is_repaired() {
    let Some(devices) = devices() else { return };
    let folder = Folder::new();
    let data = noise(2_000_000);
    fs::write(folder.path("src"), &data).unwrap();
    let faults = ["--fault", "loss=0.10,dup=0.02,reorder=0.05,seed=7"];
    let summary = json(copy(&folder, &devices, "dst.{rank}", 4).args(faults));
    assert!(summary["total"]["repaired"].as_u64().unwrap() > 0, "{summary}");
    for rank in 1..4 {
        assert!(fs::read(folder.path(&format!("dst.{rank}"))).unwrap() == data);
    }
}

#[test]
fn a_rank_that_is_killed_is_named_by_all() {
    let Some(devices) = devices() else { return };
    for algorithm in ["auto", "binomial"] {
        kill_a_rank(&devices, algorithm);
    }
}

fn kill_a_rank(devices: &str, algorithm: &str) {
    let folder = Folder::new();
    large_source(&folder);
    let mut command = copy(&folder, devices, "dst.{rank}", 4);
    command.args(WITHOUT_HOLES).args(["--timeout", "4"]).env("VERBCAST_ALGORITHM", algorithm);
    let launcher = spawn(&mut command);
    until_data_flows(&folder, 3);
    let ranks = children(&launcher);
    assert_eq!(ranks.len(), 4);
    signal(ranks[2], "KILL");
    check_death(&launcher.output(), 2);
    assert_eq!(names(&folder), ["src"]);
    assert!(ranks.into_iter().all(has_ended));
}

#[test]
fn ranks_end_with_their_launcher() {
    let Some(devices) = devices() else { return };
    for (name, status) in [("KILL", None), ("INT", Some(130)), ("TERM", Some(143))] {
        let folder = Folder::new();
        large_source(&folder);
        let launcher = spawn(copy(&folder, &devices, "dst.{rank}", 4).args(WITHOUT_HOLES));
        until_data_flows(&folder, 3);
        let ranks = children(&launcher);
        launcher.signal(name);
        assert_eq!(launcher.output().status.code(), status);
        until("the ranks to end", || ranks.iter().copied().all(has_ended));
        assert_eq!(names(&folder), ["src"], "after SIG{name}");
    }
}

/// A small file system, until it is dropped.
struct Small(PathBuf);

impl Small {
    fn mount(path: &Path) -> Small {
        let mut mount = Command::new("mount");
        let status = mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(path).status();
        let status = status.unwrap();
        assert!(status.success(), "cannot mount a small file system; the test needs root");
        Small(path.to_owned())
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_at_one_rank_is_everybodys_error() {
    let Some(devices) = devices() else { return };
    let folder = Folder::new();
    // The last chunk is shorter than the others.
    fs::write(folder.path("src"), noise((3 << 20) + 1)).unwrap();
    let target = |rank: u32| folder.path(&format!("d{rank}"));
    for rank in 1..5 {
        fs::create_dir(target(rank)).unwrap();
    }
    let small = Small::mount(&target(3));
    let mut command = copy(&folder, &devices, "d{rank}/dst", 5);
    let output = run(command.args(["--chunk", "64K"]));
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let expected = "ranks 0-4: rank 3: cannot write d3/dst: No space left on device";
    assert!(stderr.contains(expected), "{stderr}");
    let none_has_it = |line: &str| line.starts_with("error: ranks 1-4: not copied on ");
    assert!(stderr.lines().any(none_has_it), "{stderr}");
    for rank in 1..5 {
        assert_eq!(fs::read_dir(target(rank)).unwrap().count(), 0);
    }
    drop(small);
}

/// In the folder of one rank is another file system, to which nothing can be moved.
#[test]
fn what_cannot_get_its_place_is_found_before_data_flows() {
    let Some(devices) = devices() else { return };
    let folder = Folder::new();
    fs::create_dir_all(folder.path("src/inner")).unwrap();
    for name in ["src/first", "src/inner/second"] {
        fs::write(folder.path(name), noise(1000)).unwrap();
    }
    for rank in 1..3 {
        fs::create_dir_all(folder.path(&format!("dst.{rank}/inner"))).unwrap();
    }
    let small = Small::mount(&folder.path("dst.2/inner"));
    let output = run(copy(&folder, &devices, "dst.{rank}", 3).arg("--recursive"));
    drop(small);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("rank 2: cannot write into dst.2/inner: it is on another file"),
        "{said}"
    );
    for rank in 1..3 {
        let dst = folder.path(&format!("dst.{rank}"));
        assert_eq!(fs::read_dir(&dst).unwrap().count(), 1, "rank {rank} has something");
        assert_eq!(fs::read_dir(dst.join("inner")).unwrap().count(), 0, "rank {rank}");
    }
}

#[test]
fn a_source_that_shrinks_is_everybodys_error() {
    let Some(devices) = devices() else { return };
    let folder = Folder::new();
    large_source(&folder);
    let mut command = copy(&folder, &devices, "dst.{rank}", 3);
    let launcher = spawn(command.args(WITHOUT_HOLES).args(["--chunk", "64K"]));
    until_data_flows(&folder, 2);
    File::options().write(true).open(folder.path("src")).unwrap().set_len(1000).unwrap();
    let output = launcher.output();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let expected = format!("rank 0: src shrank while it was read: expected {LARGE} bytes, got ");
    assert!(stderr.contains(&expected), "{stderr}");
    assert!(stderr.starts_with("error: ranks 0-2: "), "{stderr}");
    assert_eq!(names(&folder), ["src"]);
}

#[test]
fn what_is_missing_is_named() {
    let Some(devices) = devices() else { return };
    let folder = Folder::new();
    fs::write(folder.path("src"), b"data").unwrap();
    for (devices, dst, expected) in [
        (devices.as_str(), "no/such/dst.{rank}", "the folder no/such does not exist"),
        ("nosuchdevice", "dst.{rank}", "nosuchdevice"),
    ] {
        let output = run(&mut copy(&folder, devices, dst, 4));
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("ranks 0-3: ") && stderr.contains(expected), "{stderr}");
        assert_eq!(names(&folder), ["src"]);
    }
}

/// All that is below a folder: the bytes of files, what links lead to, nothing for folders.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(folder.join(&inner)).unwrap() {
            let (path, name) =
                entry.map(|entry| (entry.path(), inner.join(entry.file_name()))).unwrap();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let bytes = match () {
                () if metadata.is_symlink() => {
                    Some(fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())
                }
                () if metadata.is_dir() => {
                    folders.push(name.clone());
                    None
                }
                // What is far into a sparse file is compared apart.
                () => {
                    Some(if metadata.len() < LARGE { fs::read(&path).unwrap() } else { Vec::new() })
                }
            };
            found.insert(name, bytes);
        }
    }
    found
}

#[test]
fn a_folder_comes_with_all_that_is_in_it() {
    let Some(devices) = devices() else { return };
    let folder = Folder::new();
    let src = folder.path("src");
    fs::create_dir_all(src.join("empty/inner")).unwrap();
    fs::create_dir(src.join("small")).unwrap();
    for number in 0..1000 {
        fs::write(src.join(format!("small/{number}")), noise(number % 64)).unwrap();
    }
    fs::write(src.join(OsStr::from_bytes(b"\xff\n")), noise(300_000)).unwrap();
    symlink("/etc/passwd", src.join("link")).unwrap();
    let sparse = File::create(src.join("sparse")).unwrap();
    sparse.set_len(LARGE + (1 << 30)).unwrap();
    sparse.write_all_at(b"far", LARGE + 5).unwrap();
    fs::create_dir(folder.path("dst.1")).unwrap();
    fs::write(folder.path("dst.1/old"), "stays").unwrap();
    let mut command = copy(&folder, &devices, "dst.{rank}", 8);
    let summary = json(command.args(["-r", "--verify", "--hash", "blake3", "--times"]));
    assert_eq!(summary["files"], 1002);
    let (all, packets) = (summary["bytes"].as_u64().unwrap(), &summary["packets_needed"]);
    assert!(all > LARGE && packets.as_u64().unwrap() < 1000, "many files, few packets: {packets}");
    let expected = contents(&src);
    for rank in 1..8 {
        let dst = folder.path(&format!("dst.{rank}"));
        if rank == 1 {
            assert_eq!(fs::read(dst.join("old")).unwrap(), b"stays");
            fs::remove_file(dst.join("old")).unwrap();
        }
        assert!(contents(&dst) == expected, "rank {rank}: {:?}", contents(&dst).keys());
        let copied = File::open(dst.join("sparse")).unwrap();
        let mut far = [0; 3];
        copied.read_exact_at(&mut far, LARGE + 5).unwrap();
        let (there, here) = (copied.metadata().unwrap(), sparse.metadata().unwrap());
        assert_eq!((&far, there.len()), (b"far", here.len()));
        assert!(there.blocks() < 1 << 12, "the holes take {} blocks", there.blocks());
        assert_eq!(there.modified().unwrap(), here.modified().unwrap());
    }
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 8, "nothing else is left");
}

#[test]
fn standard_input_is_copied_to_its_end() {
    let Some(devices) = devices() else { return };
    let folder = Folder::new();
    let data = noise(1_000_000);
    let mut command = verbcast();
    command.current_dir(folder.path("")).env("TMPDIR", folder.path(""));
    command.args([
        "copy",
        "-",
        "dst.{rank}",
        "--chunk",
        "256K",
        "--ranks",
        "3",
        "--device",
        &devices,
    ]);
    let input = command.stdin(Stdio::piped());
    let mut child = input.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&data[..600_000]).unwrap();
    // The first chunks come before there are others.
    until_data_flows(&folder, 2);
    stdin.write_all(&data[600_000..]).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    for rank in 1..3 {
        assert!(fs::read(folder.path(&format!("dst.{rank}"))).unwrap() == data, "rank {rank}");
    }
    // One whose input goes on for ever ends with its launcher all the same.
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take();
    let launcher = child.id();
    until("the ranks", || children_of(launcher).len() == 3);
    let ranks = children_of(launcher);
    signal(launcher, "KILL");
    child.wait().unwrap();
    until("the ranks to end", || ranks.iter().copied().all(has_ended));
    drop(stdin);
}

#[test]
fn standard_output_gets_what_is_copied() {
    let Some(devices) = devices() else { return };
    let folder = Folder::new();
    let data = noise(700_000);
    fs::write(folder.path("src"), &data).unwrap();
    let rendezvous = format!("unix:{}", folder.path("meet").display());
    let ranks: Vec<_> = (0..2)
        .map(|rank| {
            let mut command = verbcast();
            command.current_dir(folder.path("")).env("VERBCAST_RANK", rank.to_string());
            command.env("VERBCAST_SIZE", "2").env("VERBCAST_RENDEZVOUS", &rendezvous);
            spawn(command.args(["copy", "src", "-", "--device", &devices]))
        })
        .collect();
    // First of the one whose pipe is full before it ends.
    let mut outputs: Vec<_> = ranks.into_iter().rev().map(Running::output).collect();
    outputs.reverse();
    let said = text(&outputs[0].stderr);
    assert!(
        outputs.iter().all(|output| output.status.success()),
        "{said}{}",
        text(&outputs[1].stderr)
    );
    assert!(outputs[0].stdout.is_empty() && said.contains("SHA-256"), "{said}");
    assert!(outputs[1].stdout == data);
}

#[test]
fn a_copy_that_broke_off_is_resumed() {
    let Some(devices) = devices() else { return };
    let folder = Folder::new();
    let data = noise(64 << 20);
    fs::write(folder.path("src"), &data).unwrap();
    let command = || {
        let mut command = copy(&folder, &devices, "dst.{rank}", 3);
        command.args(["--resume", "--chunk", "128K"]);
        command
    };
    let launcher = spawn(command().args(["--timeout", "4"]));
    until_data_flows(&folder, 2);
    let ranks = children(&launcher);
    signal(ranks[2], "KILL");
    let output = launcher.output();
    check_death(&output, 2);
    let stderr = text(&output.stderr);
    assert!(stderr.contains("is kept in .dst.1.verbcast.part for --resume"), "{stderr}");
    assert_eq!(names(&folder), [".dst.1.verbcast.part", ".dst.2.verbcast.part", "src"]);
    // What is wrong there is found out, and sent again.
    let left = File::options().write(true).open(folder.path(".dst.1.verbcast.part")).unwrap();
    left.write_all_at(b"something else", 5).unwrap();
    let summary = json(&mut command());
    let resumed = summary["resumed_bytes"].as_u64().unwrap();
    assert!(resumed < 64 << 20, "{resumed}");
    let (sent, needed) =
        (summary["packets_multicast"].as_u64(), summary["packets_needed"].as_u64());
    assert!(sent >= needed, "{sent:?} {needed:?}");
    for rank in 1..3 {
        assert!(fs::read(folder.path(&format!("dst.{rank}"))).unwrap() == data, "rank {rank}");
    }
    assert_eq!(names(&folder), ["dst.1", "dst.2", "src"]);
    // All of it is there.
    for rank in 1..3 {
        let part = format!(".dst.{rank}.verbcast.part");
        fs::rename(folder.path(&format!("dst.{rank}")), folder.path(&part)).unwrap();
    }
    assert_eq!(json(&mut command())["resumed_bytes"], 64 << 20);
    assert_eq!(names(&folder), ["dst.1", "dst.2", "src"]);
}
