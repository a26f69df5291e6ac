//! What a device and a process have room for, with adapters that have less than SoftRoCE.

use crate::needs;
use crate::support::{Folder, run, text, verbcast};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const MESSAGE: &[u8] = &[7; 300_000];

/// What is preloaded to imitate adapters, built beside the command.
fn library() -> Option<String> {
    needs::devices()?;
    let folder = Path::new(env!("CARGO_BIN_EXE_verbcast")).parent().unwrap();
    let library = folder.join("libverbcast_adapters.so");
    if !library.is_file() {
        needs::missing(format!(
            "{} is missing: cargo build -p verbcast-adapters",
            library.display()
        ));
        return None;
    }
    Some(library.to_str().unwrap().to_owned())
}

/// A copy to as many ranks, all on one device of an imitated adapter.
fn copy(folder: &Folder, library: &str, adapter: &str, ranks: u32) -> Command {
    let device = needs::devices().unwrap().remove(0);
    fs::write(folder.path("src"), MESSAGE).unwrap();
    let mut command = verbcast();
    command.current_dir(folder.path("")).env("TMPDIR", folder.path(""));
    command.args(["copy", "src", "dst.{rank}", "--json", "--device", &device]);
    command.args(["--ranks", &ranks.to_string()]);
    command.env("VERBCAST_ADAPTER", adapter).env("LD_PRELOAD", library);
    command.env("VERBCAST_ADAPTER_STATE", folder.path("adapter"));
    command
}

fn is_copied(folder: &Folder, output: &Output, ranks: u32) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    for rank in 1..ranks {
        assert!(fs::read(folder.path(&format!("dst.{rank}"))).unwrap() == MESSAGE, "rank {rank}");
    }
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn more_ranks_than_a_group_takes_go_without_multicast() {
    let Some(library) = library() else { return };
    for (ranks, multicasts) in [(4, false), (3, true)] {
        let folder = Folder::new();
        let mut copy = copy(&folder, &library, "rxe,max_mcast_qp_attach=3", ranks);
        let output = run(copy.env("VERBCAST_NODES", "flat"));
        let summary = is_copied(&folder, &output, ranks);
        let packets = summary["packets_multicast"].as_u64().unwrap();
        assert_eq!(packets > 0, multicasts, "{ranks} ranks");
    }
}

#[test]
fn more_ranks_than_a_group_takes_share_memory() {
    let Some(library) = library() else { return };
    for (nodes, ranks, share) in [("auto", 4, true), ("shared:2", 4, true), ("flat", 3, false)] {
        let folder = Folder::new();
        let mut copy = copy(&folder, &library, "rxe,max_mcast_qp_attach=3", ranks);
        let output = run(copy.env("VERBCAST_NODES", nodes).env("VERBCAST_LOG", "debug"));
        let summary = is_copied(&folder, &output, ranks);
        assert!(summary["packets_multicast"].as_u64().unwrap() > 0, "{nodes}, {ranks} ranks");
        let said = text(&output.stderr);
        assert!(!said.contains("without multicast"), "{said}");
        let shares = |line: &str| {
            let (_, taken) = line.split_once(" node_received=")?;
            Some(!taken.starts_with("0 "))
        };
        let shared: Vec<bool> = said.lines().filter_map(shares).collect();
        assert_eq!(shared.len(), ranks as usize, "{said}");
        assert_eq!(shared.contains(&true), share, "{nodes}, {ranks} ranks: {said}");
    }
}

#[test]
fn queues_that_do_not_fit_are_refused_by_name() {
    let Some(library) = library() else { return };
    for (limit, setting) in [
        ("max_qp_wr", "VERBCAST_RECEIVE_DEPTH"),
        ("max_srq_wr", "VERBCAST_RELIABLE_RECEIVE_DEPTH"),
        ("max_cqe", "VERBCAST_RECEIVE_DEPTH"),
    ] {
        let folder = Folder::new();
        let output = run(&mut copy(&folder, &library, &format!("rxe,{limit}=16"), 2));
        let said = text(&output.stderr);
        assert!(
            !output.status.success() && said.contains(limit) && said.contains(setting),
            "{said}"
        );
    }
}

#[test]
fn any_inline_limit_will_do() {
    let Some(library) = library() else { return };
    for inline in [0, 50] {
        let folder = Folder::new();
        let output = run(&mut copy(&folder, &library, &format!("rxe,max_inline={inline}"), 2));
        is_copied(&folder, &output, 2);
    }
}

/// Root may exceed the limit unless it gives up the capability.
#[test]
fn too_little_locked_memory_is_refused_with_what_to_do() {
    let Some(library) = library() else { return };
    let folder = Folder::new();
    let plain = copy(&folder, &library, "rxe", 2);
    let mut command = Command::new("prlimit");
    command.args(["--memlock=65536:65536", "setpriv", "--bounding-set=-ipc_lock"]);
    command.arg(plain.get_program()).args(plain.get_args()).current_dir(folder.path(""));
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = run(&mut command);
    let said = text(&output.stderr);
    let names = ["RLIMIT_MEMLOCK", "65536 bytes", "ulimit -l unlimited"];
    assert!(!output.status.success() && names.iter().all(|name| said.contains(name)), "{said}");
}

#[test]
fn more_rails_than_ports_are_refused() {
    let Some(devices) = needs::devices() else { return };
    if devices.len() > 1 {
        return needs::skip("there are more ports");
    }
    let folder = Folder::new();
    fs::write(folder.path("src"), MESSAGE).unwrap();
    let mut copy = verbcast();
    copy.args(["copy", "src", "dst.{rank}", "--ranks", "2"]).current_dir(folder.path(""));
    let output = run(copy.env("VERBCAST_RAILS", "2"));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("2 rails need as many ports") && said.contains("there are 1"), "{said}");
    assert!(!Path::new(&folder.path("dst.1")).exists());
    let named = run(copy.args(["--device", &devices[0]]));
    let said = text(&named.stderr);
    assert!(said.contains("2 rails need 2 devices, and 1 named"), "{said}");
}
