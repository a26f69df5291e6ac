//! Ranks of several hosts, each with a kernel and a clock of its own, on a cluster that `ci/softroce --hosts` makes.
//! `VERBCAST_CLUSTER` says that there may be one.

mod benchmarks;
mod clocks;
mod failures;
mod launchers;
mod places;
mod repairs;
mod slurm;
mod survivors;

use crate::needs;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// Seconds after which a command on the hosts is ended.
const LIMIT: &str = "300";

/// A folder that all hosts see, with a file to copy.
struct Folder {
    path: PathBuf,
}

impl Folder {
    /// With a file of so many bytes. `None` if there may be no cluster.
    fn with_file(name: &str, len: usize) -> Option<Folder> {
        if env::var_os("VERBCAST_CLUSTER").is_none() {
            needs::skip("VERBCAST_CLUSTER is not set");
            return None;
        }
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cluster-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        let bytes: Vec<u8> = (0..len as u64).map(|at| (at * at / 7 + at) as u8).collect();
        fs::write(path.join("data.bin"), bytes).unwrap();
        Some(Folder { path })
    }

    fn file(&self) -> PathBuf {
        self.path.join("data.bin")
    }

    /// The SHA-256 of the file and a dash, as `sha256sum` prints it of what it reads from its input.
    fn sum(&self) -> String {
        let file = fs::File::open(self.file()).unwrap();
        let output = Command::new("sha256sum").stdin(file).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// Runs a script of bash in this folder on the first of two hosts, with the command `verbcast` at hand.
    fn run(&self, script: &str, arguments: &[&OsStr]) -> Output {
        let command = Path::new(env!("CARGO_BIN_EXE_verbcast")).parent().unwrap();
        let script =
            format!("cd {} && PATH={}:$PATH\n{script}", self.path.display(), command.display());
        let mut exec = softroce(&["--hosts", "2", "exec", "--timeout", LIMIT, "--", "bash", "-c"]);
        let output = exec.arg(script).arg("script").args(arguments).output().unwrap();
        println!("{}", lines(&output));
        output
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn softroce(arguments: &[&str]) -> Command {
    let mut command = Command::new(Path::new(REPOSITORY).join("ci/softroce"));
    command.args(arguments).current_dir(REPOSITORY);
    command
}

/// The lines that ranks have said, and those of `ci/softroce` behind them.
fn lines(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
