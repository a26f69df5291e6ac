//! Runs the command in a folder of its own, and never waits for ever.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

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

/// The command, in an environment that speaks of no job.
pub fn verbcast() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_verbcast"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let foreign = ["VERBCAST_", "OMPI_", "PMI_", "PMIX_", "SLURM_"];
        if foreign.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(&*name);
        }
    }
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
