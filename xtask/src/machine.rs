//! The machine with SoftRoCE: `ci/softroce`, which runs commands in it.

use crate::section::{Run, Section};
use std::error::Error;
use std::process::{Command, Stdio};
use std::time::Duration;

/// To install and download what it needs, and to boot.
const START_LIMIT: Duration = Duration::from_secs(1500);
/// For `ci/softroce` to end a command whose time is up.
const MARGIN: Duration = Duration::from_secs(90);
/// What tells `ci/softroce` to use this machine's own devices.
const NATIVE: &str = "VERBCAST_SOFTROCE";

/// Which machine runs commands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    Virtual,
    /// This one, with its own rdma_rxe and one NIC.
    Native,
}

impl Machine {
    /// What `VERBCAST_SOFTROCE` asks for.
    pub fn asked_for() -> Machine {
        let is_native = std::env::var_os(NATIVE).is_some_and(|how| how == "native");
        if is_native { Machine::Native } else { Machine::Virtual }
    }

    fn softroce(self, verb: &str) -> Command {
        let mut command = Command::new("ci/softroce");
        command.arg(verb);
        if self == Machine::Virtual {
            command.env_remove(NATIVE);
        }
        command
    }

    /// `ci/softroce exec OPTION…`, for a program that may take so long.
    pub fn exec(self, options: &[&str], limit: Duration) -> Command {
        let mut command = self.softroce("exec");
        command.args(["--timeout", &limit.as_secs().to_string()]).args(options).arg("--");
        command
    }

    /// Longer than such a program.
    pub fn section_limit(limit: Duration) -> Duration {
        limit + MARGIN
    }
}

/// A machine that stays until this is dropped, so that it boots once for all that runs in it; one that ran before stays
/// on.
pub struct Kept(Option<Machine>);

impl Kept {
    /// # Errors
    /// If the run shall end.
    pub fn start(run: &mut Run, machine: Machine) -> Result<Option<Kept>, Box<dyn Error>> {
        let is_quiet = |command: &mut Command| command.stdout(Stdio::null()).status();
        if machine == Machine::Native || is_quiet(&mut machine.softroce("status"))?.success() {
            return Ok(Some(Kept(None)));
        }
        // Made first: the machine ends with it should the run end while it boots.
        let kept = Kept(Some(machine));
        let section = Section::new("softroce-start", START_LIMIT);
        let has_started = run.section(&section, &mut machine.softroce("start"))?;
        Ok(has_started.then_some(kept))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(machine) = self.0 {
            // One that cannot be stopped ends by itself.
            let _ = machine.softroce("stop").status();
        }
    }
}

/// Two hosts that stay until this is dropped.
pub struct Cluster(());

impl Cluster {
    /// # Errors
    /// If the run shall end.
    pub fn start(run: &mut Run) -> Result<Option<Cluster>, Box<dyn Error>> {
        let cluster = Cluster(());
        let section = Section::new("cluster-start", START_LIMIT);
        let has_started = run.section(&section, &mut Cluster::softroce("start"))?;
        Ok(has_started.then_some(cluster))
    }

    fn softroce(verb: &str) -> Command {
        let mut command = Machine::Virtual.softroce(verb);
        command.args(["--hosts", "2"]);
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Hosts that cannot be stopped end by themselves.
        let _ = Cluster::softroce("stop").status();
    }
}
