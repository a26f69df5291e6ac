//! Programs under a real `mpirun`, of Open MPI and of MPICH.

#![allow(dead_code, reason = "each test uses a part of it")]

use crate::needs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Seconds for a program; longer is a hang, which fails its test, and not all of them.
const LIMIT: &str = "280";

/// An MPI library, with which programs and the preloaded library were built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mpi {
    Open,
    Mpich,
}

pub const BOTH: [Mpi; 2] = [Mpi::Open, Mpi::Mpich];

/// Ranks outnumber cores, and components that look for other hardware take long to start.
const OPEN_MPI: &[&str] = &[
    "--oversubscribe",
    "--bind-to",
    "none",
    "--mca",
    "mpi_yield_when_idle",
    "1",
    "--mca",
    "pml",
    "ob1",
    "--mca",
    "btl_vader_single_copy_mechanism",
    "none",
    "--mca",
    "osc",
    "sm",
    "--mca",
    "coll",
    "basic,libnbc,self,inter,tuned",
];

impl Mpi {
    /// The name that its tools and folders end with.
    pub fn name(self) -> &'static str {
        match self {
            Mpi::Open => "openmpi",
            Mpi::Mpich => "mpich",
        }
    }

    /// Where all is built.
    pub fn target() -> PathBuf {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let repository = here.ancestors().find(|folder| folder.join("ci").is_dir()).unwrap();
        repository.join("target")
    }

    /// An rsmpi program.
    pub fn example(self, name: &str) -> PathBuf {
        Self::target().join(self.name()).join("release/examples").join(name)
    }

    /// The command, with this library's broadcast among its algorithms.
    pub fn command(self) -> PathBuf {
        Self::target().join(self.name()).join("release/verbcast")
    }

    /// What its ranks preload so that those that wait yield, as ranks outnumber cores. Open MPI does so by an option.
    pub fn yielding() -> PathBuf {
        Self::target().join("mpi-tests/mpich/yield.so")
    }

    /// Its launcher, within the time limit. MPI's own messages go through memory, so that what is seen on
    /// the device is verbcast's.
    pub fn launcher(self) -> Command {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", LIMIT]);
        match self {
            Mpi::Open => {
                command.arg("mpirun.openmpi").args(OPEN_MPI);
                // A variable, so that a test can have another way.
                command.env("OMPI_MCA_btl", "self,vader");
                command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
                command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            }
            Mpi::Mpich => {
                command.arg("mpiexec.mpich");
                // On SoftRoCE, UCX drops its own datagrams.
                command.env("UCX_TLS", "posix,sysv,self");
                command.arg("-genv").arg("LD_PRELOAD").arg(Self::yielding());
            }
        }
        command
    }
}

/// The MPI libraries whose programs have been built; a visible skip without them or without a device.
///
/// # Panics
/// If the environment promised what is missing.
pub fn available(programs: impl Fn(Mpi) -> PathBuf) -> Vec<Mpi> {
    if needs::devices().is_none() {
        return Vec::new();
    }
    let is_built = |mpi: &Mpi| {
        let path = programs(*mpi);
        let is_built = path.exists();
        if !is_built {
            needs::missing(format!("{} is not built; ci/mpi builds it", path.display()));
        }
        is_built
    };
    BOTH.into_iter().filter(is_built).collect()
}

/// Runs a command to its end and shows what it wrote.
///
/// # Panics
/// If it takes too long.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    println!("{command:?}: {}\n{}{}", output.status, text(&output.stdout), text(&output.stderr));
    // What `timeout` says; a launcher ends with 137 where a rank was killed.
    assert_ne!(output.status.code(), Some(124), "it hangs: {command:?}");
    output
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
