//! Runs test programs with cargo-nextest, on the host and on the machine with SoftRoCE.

use quick_junit::Report;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// The packages with tests that need no MPI library.
const PACKAGES: [&str; 3] = ["--workspace", "--exclude", "verbcast-preload"];

pub fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The options that run the ignored tests too.
const WITH_IGNORED: [&str; 2] = ["--run-ignored", "all"];

/// All tests of a profile, here, with the ignored ones or without.
pub fn here(profile: &str, with_ignored: bool) -> Command {
    let mut command = cargo();
    command.args(["nextest", "run", "--profile", profile]).args(PACKAGES);
    if with_ignored {
        command.args(WITH_IGNORED);
    }
    command
}

/// Where programs are found in a virtual machine. What is on the host's own path would be looked for in the host's folders
/// first, with a request to the host for each.
const PATH_THERE: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// What starts each test. Nextest has folders of the host in this variable, in which every program that a test starts would
/// look for each of its libraries, again by a request for each.
const RUNNER: &str = "env -u LD_LIBRARY_PATH";

/// What another machine needs to know to run the tests that were built here, in two files.
pub struct Known {
    pub binaries: PathBuf,
    pub metadata: PathBuf,
}

impl Known {
    pub fn under(folder: &Path) -> Known {
        Known { binaries: folder.join("binaries.json"), metadata: folder.join("metadata.json") }
    }

    /// Builds the tests, and prints where they are.
    pub fn list_binaries() -> Command {
        let mut command = cargo();
        command.args(["nextest", "list", "--list-type", "binaries-only"]);
        command.args(["--message-format", "json"]).args(PACKAGES);
        command
    }

    pub fn describe_workspace() -> Command {
        let mut command = cargo();
        command.args(["metadata", "--format-version", "1"]);
        command
    }

    /// The arguments that run all tests of a profile there, with the ignored ones or without. One nextest runs in the
    /// machine: to enter it anew for each test would cost an emulated machine a job of its own for each.
    ///
    /// # Errors
    /// If nextest is nowhere.
    pub fn there(&self, profile: &str, with_ignored: bool) -> io::Result<Vec<PathBuf>> {
        let mut arguments = vec![program()?, "nextest".into(), "run".into()];
        arguments.extend(["--cargo-metadata".into(), self.metadata.clone()]);
        arguments.extend(["--binaries-metadata".into(), self.binaries.clone()]);
        arguments.extend(["--profile", profile].map(PathBuf::from));
        if with_ignored {
            arguments.extend(WITH_IGNORED.map(PathBuf::from));
        }
        Ok(arguments)
    }
}

/// What stands before such arguments in a virtual machine, whose programs look for nothing in folders of the host that they
/// do not need.
pub fn lean() -> [String; 3] {
    let machine = env::consts::ARCH.to_uppercase();
    let runner = format!("CARGO_TARGET_{machine}_UNKNOWN_LINUX_GNU_RUNNER={RUNNER}");
    ["env".into(), PATH_THERE.into(), runner]
}

/// Fails, and says what to do, if nextest is missing.
///
/// # Errors
/// If it is.
pub fn need() -> io::Result<()> {
    program().map(drop)
}

fn program() -> io::Result<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(home.map(|home| home.join("bin")));
    let found =
        folders.map(|folder| folder.join("cargo-nextest")).find(|program| program.is_file());
    found.ok_or_else(|| {
        let what = "cargo-nextest is missing; ci/test installs it, or: cargo install --locked cargo-nextest";
        io::Error::new(io::ErrorKind::NotFound, what)
    })
}

/// Where nextest leaves the report of a profile.
fn report_path(profile: &str) -> PathBuf {
    Path::new("target/nextest").join(profile).join("junit.xml")
}

/// Removes a former run's report, so that it is not taken for that of the next.
///
/// # Errors
/// If it cannot be removed.
pub fn forget_report(profile: &str) -> io::Result<()> {
    match fs::remove_file(report_path(profile)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The report of a run that has ended.
///
/// # Errors
/// If there is none.
pub fn report(profile: &str) -> Result<Report, Box<dyn Error>> {
    let path = report_path(profile);
    let text = fs::read_to_string(&path)
        .map_err(|error| format!("nextest left no report in {}: {error}", path.display()))?;
    Ok(Report::deserialize_from_str(&text)?)
}
