//! Runs the command in a folder of its own, and never waits for ever.

#![allow(dead_code, reason = "each test file uses its own part")]

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Nothing may take longer, however busy the machine is.
pub const HANG: Duration = Duration::from_secs(120);

/// A folder that is removed with everything in it.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("verbcast-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.0.clone() } else { self.0.join(name) }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Everything in a folder, sorted.
pub fn names(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(folder.path("")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The command, in an environment that speaks of no job. Its ranks use devices although they share a host.
pub fn verbcast() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_verbcast"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let foreign = ["VERBCAST_", "OMPI_", "PMI_", "PMIX_", "SLURM_"];
        if foreign.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(&*name);
        }
    }
    command.env("VERBCAST_NODES", "flat");
    command.stdin(Stdio::null());
    command
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A process that is killed if it does not end.
pub struct Running {
    child: Child,
}

pub fn spawn(command: &mut Command) -> Running {
    Running { child: command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap() }
}

pub fn run(command: &mut Command) -> Output {
    spawn(command).output()
}

impl Running {
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, name: &str) {
        signal(self.id(), name);
    }

    pub fn output(self) -> Output {
        let id = self.id();
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(self.child.wait_with_output()));
        match receiver.recv_timeout(HANG) {
            Ok(output) => output.unwrap(),
            Err(_) => {
                signal(id, "KILL");
                panic!("the command did not end within {HANG:?}");
            }
        }
    }
}

/// Sends a signal to a process that a test has started.
pub fn signal(id: u32, name: &str) {
    let id = id.to_string();
    assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
}

/// Waits for something that the command does.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < HANG, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The processes that a launcher has started, by rank.
pub fn children(launcher: &Running) -> Vec<u32> {
    children_of(launcher.id())
}

/// The same by the launcher's number.
pub fn children_of(launcher: u32) -> Vec<u32> {
    let parent = format!("\nPPid:\t{launcher}\n");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap() {
        let path = entry.unwrap().path();
        let Some(id) = path.file_name().and_then(|id| id.to_str()?.parse().ok()) else { continue };
        if !fs::read_to_string(path.join("status")).is_ok_and(|status| status.contains(&parent)) {
            continue;
        }
        let variables = fs::read(path.join("environ")).unwrap_or_default();
        let rank = variables.split(|&byte| byte == 0).find_map(|variable| {
            text(variable).strip_prefix("VERBCAST_RANK=")?.parse::<u32>().ok()
        });
        found.extend(rank.map(|rank| (rank, id)));
    }
    found.sort_unstable();
    found.into_iter().map(|(_, id)| id).collect()
}

pub fn has_ended(id: u32) -> bool {
    fs::read_to_string(format!("/proc/{id}/status")).map_or(true, |s| s.contains("State:\tZ"))
}

/// Checks that the command failed because a rank was killed, and that all others say so, in time.
pub fn check_death(output: &Output, rank: u32) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let (killed, name) =
        (format!("rank {rank} was killed by signal 9 (SIGKILL)"), format!("rank {rank}"));
    assert!(stderr.contains(&killed), "{stderr}");
    // The others' own words, whoever says them.
    let is_about_others =
        |line: &&str| !line.contains("signal 9") && !line.contains(": not copied on ");
    let others: Vec<&str> = stderr.lines().filter(is_about_others).collect();
    assert!(!others.is_empty() && others.iter().all(|line| line.contains(&name)), "{stderr}");
    assert!(!stderr.contains("did not end"), "{stderr}");
}

/// A subcommand that says all that it has to say in one go.
#[derive(Clone, Copy)]
pub struct Subcommand(pub &'static str);

impl Subcommand {
    /// What comes of it with arguments that have no spaces in them.
    pub fn output(self, args: &str) -> Output {
        run(verbcast().arg(self.0).args(args.split_whitespace()))
    }

    /// What it prints when it succeeds, which is nothing on stderr.
    #[track_caller]
    pub fn printed(self, args: &str) -> String {
        let output = self.output(args);
        assert!(output.status.success(), "{args}: {}", text(&output.stderr));
        assert!(output.stderr.is_empty(), "{args}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The same as JSON.
    #[track_caller]
    pub fn json(self, args: &str) -> Value {
        serde_json::from_str(&self.printed(&format!("{args} --json"))).unwrap()
    }

    /// Checks how it fails, and that it says so; with wrong arguments, status 2, it prints nothing.
    #[track_caller]
    pub fn refused(self, args: &str, status: i32, says: &str) {
        let output = self.output(args);
        assert_eq!(output.status.code(), Some(status), "{args}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(says), "{args}: {}", text(&output.stderr));
        assert!(status != 2 || output.stdout.is_empty(), "{args}");
    }
}
