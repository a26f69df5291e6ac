//! Programs under a real `mpirun`, of Open MPI and of MPICH.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An MPI library, with which programs and the preloaded library were built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mpi {
    OpenMpi,
    Mpich,
}

pub const BOTH: [Mpi; 2] = [Mpi::OpenMpi, Mpi::Mpich];

impl Mpi {
    /// Where `ci/test` builds for it.
    pub fn folder(self) -> PathBuf {
        let name = match self {
            Mpi::OpenMpi => "openmpi",
            Mpi::Mpich => "mpich",
        };
        Path::new(env!("CARGO_MANIFEST_DIR")).join("target").join(name)
    }

    /// An rsmpi program.
    pub fn example(self, name: &str) -> PathBuf {
        self.folder().join("release/examples").join(name)
    }

    /// The launcher of `ranks` ranks, which are more than the cores; MPI's own messages go through memory,
    /// so that what is seen on the device is verbcast's.
    pub fn launcher(self, ranks: u32) -> Command {
        // A rank that hangs fails its test, and not all of them.
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "300"]);
        match self {
            Mpi::OpenMpi => {
                command.args(["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"]);
                command.args(["--mca", "pml", "ob1", "--mca", "btl", "self,vader"]);
                command.args(["--mca", "mpi_yield_when_idle", "1"]);
                command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
                command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            }
            Mpi::Mpich => {
                command.arg("mpiexec.mpich");
                command.env("UCX_TLS", "self,sm,tcp").env("FI_PROVIDER", "tcp");
            }
        }
        command.args(["-n", &ranks.to_string()]);
        command
    }
}

/// The MPI libraries whose programs have been built; a visible skip without them or without a device.
///
/// # Panics
/// If the environment promised a device.
pub fn available(programs: impl Fn(Mpi) -> PathBuf) -> Vec<Mpi> {
    let promised = std::env::var_os("VERBCAST_SOFTROCE_PROMISED").is_some();
    let has_device = std::env::var_os("VERBCAST_TEST_DEVICES").is_some();
    assert!(!promised || has_device, "SoftRoCE was promised, but VERBCAST_TEST_DEVICES is not set");
    if !has_device {
        println!("SKIPPED: no RDMA device (VERBCAST_TEST_DEVICES is not set)");
        return Vec::new();
    }
    let is_built = |mpi: &Mpi| {
        let path = programs(*mpi);
        let is_built = path.exists();
        assert!(!promised || is_built, "{} is not built; ci/test does", path.display());
        if !is_built {
            println!("SKIPPED: {} is not built", path.display());
        }
        is_built
    };
    BOTH.into_iter().filter(is_built).collect()
}

/// Runs a command to its end and shows what it wrote.
pub fn run(command: &mut Command) -> Output {
    println!("{command:?}");
    let output = command.output().unwrap();
    println!("{}{}", text(&output.stdout), text(&output.stderr));
    output
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
