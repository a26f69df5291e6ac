//! `cargo xtask test`: all checks, in sections.

use crate::aside::Aside;
use crate::machine::{Cluster, Kept, Machine};
use crate::nextest::{self, Known, cargo};
use crate::section::{Results, Run, Section};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// The eight NICs of the tests in tests/wire. Each reordered packet of a long RC message makes rxe send the rest again,
/// so that much reordering takes very long.
const WIRE: [&str; 4] = ["--nics", "8", "--netem", "loss 5% duplicate 2% delay 500us reorder 5%"];

/// Which parts are checked; all if none is named.
#[derive(clap::Args)]
pub struct Parts {
    /// Scripts, formatting, lints, documentation, and that mutations can be applied
    #[arg(long)]
    style: bool,
    /// Tests that need no device
    #[arg(long)]
    host: bool,
    /// What needs no MPI library, compiled for aarch64, and the bindings' tests under an emulator
    #[arg(long)]
    aarch64: bool,
    /// Both MPI libraries: lints, unit tests, and what the device tests run
    #[arg(long)]
    mpi: bool,
    /// Tests on one device of SoftRoCE. Those of MPI programs need what --mpi builds
    #[arg(long)]
    device: bool,
    /// Tests on a lossy wire of eight devices of SoftRoCE
    #[arg(long)]
    wire: bool,
    /// Tests on two hosts, each a machine of its own with SoftRoCE
    #[arg(long)]
    cluster: bool,
}

impl Parts {
    fn are_all(&self) -> bool {
        let some = [self.style, self.host, self.aarch64, self.mpi, self.device, self.wire];
        !(some.contains(&true) || self.cluster)
    }
}

/// How much is tested.
#[derive(Clone, Copy)]
struct Scale {
    /// Every option with long messages and among more ranks, MPICH's own tests, and the limits of the ledger.
    is_all: bool,
}

impl Scale {
    fn asked_for() -> Scale {
        Scale { is_all: std::env::var_os("VERBCAST_TEST_ALL").is_some_and(|all| !all.is_empty()) }
    }

    fn section_limit(self) -> Duration {
        if self.is_all { 240 * MINUTE } else { 40 * MINUTE }
    }

    /// For all tests that share a number of NICs.
    fn device_limit(self) -> Duration {
        if self.is_all { 300 * MINUTE } else { 45 * MINUTE }
    }

    /// The profiles for one device and for the wire.
    fn profiles(self) -> [&'static str; 2] {
        if self.is_all { ["softroce-all", "wire-all"] } else { ["softroce", "wire"] }
    }
}

/// Runs the checks and says how they came out.
///
/// # Errors
/// If they cannot be run, or somebody wants them to end.
pub fn run(parts: &Parts) -> Result<ExitCode, Box<dyn Error>> {
    nextest::need()?;
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    need_plain_path(root)?;
    std::env::set_current_dir(root)?;
    let (all, scale) = (parts.are_all(), Scale::asked_for());
    let mut run = Run::new(PathBuf::from("target/ci"))?;
    // Tests on devices leave processors idle, which these get; without a device they come last.
    let mut aside = Jobs::default();
    if all || parts.style {
        check_style(&mut run, scale, &mut aside)?;
    }
    if all || parts.host {
        test_host(&mut run, scale, &mut aside)?;
    }
    if all || parts.aarch64 {
        let section = Section::new("aarch64", scale.section_limit());
        aside.push((section, Command::new("ci/aarch64")));
    }
    if all || parts.mpi {
        build_with_mpi(&mut run, scale, &mut aside)?;
    }
    if all || parts.device || parts.wire {
        test_devices(&mut run, scale, all || parts.device, all || parts.wire, &mut aside)?;
    }
    for (section, command) in &mut aside {
        run.section(section, command)?;
    }
    // A machine that others use makes no others.
    if (all && Machine::asked_for() == Machine::Virtual) || parts.cluster {
        test_cluster(&mut run, scale)?;
    }
    run.finish()
}

/// Scripts in machines with SoftRoCE, and QEMU's options, take blanks and commas for ends.
fn need_plain_path(root: &str) -> Result<(), String> {
    match root.contains(|character: char| character.is_whitespace() || character == ',') {
        true => Err(format!("the path of the clone may not contain blanks or commas: {root}")),
        false => Ok(()),
    }
}

/// Sections that change nothing that others need, and say nothing of time.
type Jobs = Vec<(Section<'static>, Command)>;

fn check_style(run: &mut Run, scale: Scale, aside: &mut Jobs) -> Result<(), Box<dyn Error>> {
    let limit = scale.section_limit();
    let mut shellcheck = Command::new("shellcheck");
    shellcheck.args(["-x", "-P", "."]).args(scripts(Path::new("."))?);
    run.section(&Section::new("shellcheck", limit), &mut shellcheck)?;
    run.section(&Section::new("fmt", limit), cargo().args(["fmt", "--all", "--check"]))?;
    let mut mutations = Command::new("ci/mutations");
    mutations.arg("--check");
    let mut clippy = cargo();
    clippy.args(["clippy", "--workspace", "--exclude", "verbcast-preload", "--all-targets"]);
    clippy.args(["--", "-D", "warnings"]);
    let mut doc = cargo();
    doc.args(["doc", "--no-deps", "--workspace", "--exclude", "verbcast-preload"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    for (name, command) in [("mutations", mutations), ("clippy", clippy), ("doc", doc)] {
        aside.push((Section::new(name, limit), command));
    }
    Ok(())
}

/// The files of the repository that a shell runs, or another script of one.
fn scripts(root: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let output = git.output()?;
    if !output.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let files = String::from_utf8(output.stdout)?;
    let is_script = |file: &&str| {
        // What is not text is no script, and neither is what was removed and not committed yet.
        let text = fs::read_to_string(root.join(file)).unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let is_run = first.starts_with("#!") && first.ends_with("sh");
        is_run || first.starts_with("# shellcheck shell=")
    };
    Ok(files.split_terminator('\0').filter(is_script).map(str::to_owned).collect())
}

fn test_host(run: &mut Run, scale: Scale, aside: &mut Jobs) -> Result<(), Box<dyn Error>> {
    let limit = scale.section_limit();
    let mut tests = nextest::here("host", scale.is_all);
    // The swarm of simulations gets other seeds with every commit.
    tests.env("VERBCAST_SWARM_SEED", commit());
    let section = Section::new("host", limit).with_results(Results::Nextest("host"));
    run.section(&section, &mut tests)?;
    let mut examples = cargo();
    examples.args(["test", "--doc", "--workspace", "--exclude", "verbcast-preload"]);
    let section = Section::new("doctests", limit).with_results(Results::Libtest);
    run.section(&section, &mut examples)?;
    let explore = Section::new("exploration", limit).with_results(Results::Nextest("exploration"));
    aside.push((explore, nextest::here("exploration", scale.is_all)));
    let mut fuzz = Command::new("ci/search");
    fuzz.arg("fuzz");
    aside.push((Section::new("fuzz", limit), fuzz));
    Ok(())
}

/// The commit's name, or 0 where there is none.
fn commit() -> String {
    let output = Command::new("git").args(["rev-parse", "HEAD"]).output();
    let name = output.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    name.map_or_else(|| "0".into(), |name| String::from_utf8_lossy(&name).trim().to_owned())
}

/// Both MPI libraries, the feature mpi, and what is preloaded under MPI programs.
fn build_with_mpi(run: &mut Run, scale: Scale, aside: &mut Jobs) -> Result<(), Box<dyn Error>> {
    let limit = scale.section_limit();
    aside.push((Section::new("mpi-lint", limit), mpi("lint")));
    for verb in ["units", "build", "programs"] {
        let results = if verb == "units" { Results::Libtest } else { Results::Status };
        let name = format!("mpi-{verb}");
        let section = Section::new(&name, limit).with_results(results);
        run.section(&section, &mut mpi(verb))?;
    }
    Ok(())
}

/// `ci/mpi`, whose builds are for tests: what optimises as for users takes minutes for each program.
fn mpi(verb: &str) -> Command {
    let mut command = Command::new("ci/mpi");
    command.arg(verb);
    command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
    command.env("CARGO_PROFILE_RELEASE_LTO", "off");
    command.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    command
}

fn test_devices(
    run: &mut Run,
    scale: Scale,
    with_one: bool,
    with_wire: bool,
    aside: &mut Jobs,
) -> Result<(), Box<dyn Error>> {
    let known = Known::under(run.folder());
    let build = Section::new("build-tests", scale.section_limit()).with_output(&known.binaries);
    let adapters = Section::new("build-adapters", scale.section_limit());
    let mut build_adapters = cargo();
    build_adapters.args(["build", "--package", "verbcast-adapters"]);
    let describe = Section::new("metadata", MINUTE).with_output(&known.metadata);
    if !run.section(&build, &mut Known::list_binaries())?
        || !run.section(&adapters, &mut build_adapters)?
        || !run.section(&describe, &mut Known::describe_workspace())?
    {
        return Ok(());
    }
    let mut kept = None;
    let mut begun = None;
    let [one, wire] = scale.profiles();
    let parts = [
        (with_one, Machine::asked_for(), one, &[][..]),
        // A machine that others use should not get a wire's routing rules.
        (with_wire, Machine::Virtual, wire, &WIRE[..]),
    ];
    for (is_wanted, machine, profile, options) in parts {
        if !is_wanted {
            continue;
        }
        if kept.is_none() {
            kept = Kept::start(run, machine)?;
        }
        if kept.is_none() {
            run.fail(profile, "there is no machine with SoftRoCE");
            continue;
        }
        // Begun when the machine is up: one that boots on busy processors may mistake the time.
        if begun.is_none() {
            begun = Some(Aside::begin(run, std::mem::take(aside))?);
        }
        let limit = scale.device_limit();
        let section = Section::new(profile, Machine::section_limit(limit));
        let section = section.with_results(Results::Nextest(profile)).promised();
        let mut command = machine.exec(options, limit);
        if machine == Machine::Virtual {
            command.args(nextest::lean());
        }
        run.section(&section, command.args(known.there(profile, scale.is_all)?))?;
        if profile == one && scale.is_all {
            let section = Section::new("mpi-suite", scale.section_limit());
            run.section(&section, Command::new("ci/mpi").arg("suite"))?;
            let section = Section::new("ledger", scale.section_limit());
            run.section(&section, Command::new("ci/ledger").arg("--quick"))?;
        }
        if machine == Machine::Native {
            kept = None;
        }
    }
    drop(kept);
    match begun {
        Some(aside) => aside.join(run),
        None => Ok(()),
    }
}

fn test_cluster(run: &mut Run, scale: Scale) -> Result<(), Box<dyn Error>> {
    let Some(_cluster) = Cluster::start(run)? else { return Ok(()) };
    let mut tests = nextest::here("cluster", scale.is_all);
    tests.env("VERBCAST_CLUSTER", "1");
    let section = Section::new("cluster", scale.section_limit());
    let section = section.with_results(Results::Nextest("cluster")).promised();
    run.section(&section, &mut tests).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_a_blank_or_a_comma_is_refused() {
        assert_eq!(need_plain_path("/home/me/verbcast-1.0"), Ok(()));
        for path in ["/home/me/my clone", "/home/me/a,b"] {
            assert!(need_plain_path(path).unwrap_err().ends_with(path));
        }
    }

    #[test]
    fn every_script_is_checked_wherever_it_is() {
        let all = scripts(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))).unwrap();
        for script in [".ci/run", "ci/test", "ci/lib/say.sh", "ci/guest/agent.sh", "sys/regenerate"]
        {
            assert!(all.iter().any(|one| one == script), "{script} is not in {all:?}");
        }
        for other in ["Cargo.toml", "ci/lib/ledger.jq", "ci/mutations.d/scripts.txt"] {
            assert!(!all.iter().any(|one| one == other), "{other} is none");
        }
    }
}
