//! ibsim and OpenSM as processes that end with the check, however it ends.

use crate::failure::Failure;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a program that was asked to end may take before it is killed.
const FAREWELL: Duration = Duration::from_secs(2);
/// Between two looks at something that is waited for.
pub const GLANCE: Duration = Duration::from_millis(20);

/// A folder of one's own that is removed with everything in it.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Result<Folder, Failure> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("verbcast-fabric-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path)
            .map_err(|error| Failure::new(format!("cannot make {}: {error}", path.display())))?;
        Ok(Folder(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is in the system's temporary folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A program under `timeout`, which ends it after `limit` even if this process is killed.
pub struct Program {
    name: &'static str,
    process: Child,
    output: PathBuf,
}

impl Program {
    /// Starts `name`, its output in a file of the folder.
    pub fn start<S: AsRef<OsStr>>(
        name: &'static str,
        limit: Duration,
        folder: &Folder,
        arguments: &[S],
        environment: &[(&str, &OsStr)],
    ) -> Result<Program, Failure> {
        let output = folder.path().join(format!("{name}.out"));
        let cannot = |error| Failure::new(format!("cannot start {name}: {error}"));
        let file = File::create(&output).map_err(cannot)?;
        let both = file.try_clone().map_err(cannot)?;
        let mut command = Command::new("timeout");
        command.args(["-k", "2", &limit.as_secs().max(1).to_string(), "env"]);
        for (variable, value) in environment {
            let mut setting = (*variable).to_owned() + "=";
            setting.push_str(&value.to_string_lossy());
            command.arg(setting);
        }
        command.arg(name).args(arguments).stdin(Stdio::null()).stdout(file).stderr(both);
        // A group of its own, so that all of it can be ended.
        command.current_dir(folder.path()).process_group(0);
        let process = command.spawn().map_err(cannot)?;
        Ok(Program { name, process, output })
    }

    /// An error with the end of what it has printed, if it has ended.
    pub fn check(&mut self) -> Result<(), Failure> {
        match self.process.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => {
                let printed = fs::read(&self.output).unwrap_or_default();
                let printed = String::from_utf8_lossy(&printed);
                let last: Vec<&str> = printed.lines().rev().take(3).collect();
                let last: Vec<&str> = last.into_iter().rev().collect();
                let why = format!("{} ended ({status}): {}", self.name, last.join(" / "));
                Err(Failure::new(why))
            }
            Err(error) => Err(Failure::new(format!("{}: {error}", self.name))),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.process);
        let _ = kill_process_group(group, Signal::TERM);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let deadline = Instant::now() + FAREWELL;
        while matches!(waitid(WaitId::Pid(group), options), Ok(None)) && Instant::now() < deadline {
            sleep(GLANCE);
        }
        // `timeout` may have ended before what it started. As long as it has not been waited for, the
        // group's number is nobody else's.
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.process.wait();
    }
}
