//! The options of `verbcast doctor`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args)]
pub struct DoctorArgs {
    /// Start this many processes (ranks) on this host, 2 to 64, which also try what several need. Without it, this
    /// process is one rank of a job if the environment says so (srun, mpirun, VERBCAST_RANK), and alone otherwise
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=64))]
    pub ranks: Option<u32>,
    /// Try these RDMA devices, separated by commas; rank R tries the R-th of them, in turn, and with
    /// VERBCAST_RAILS=N the first of the N from the (R x N)-th on [default: the one that would be used]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub device: Vec<String>,
    /// Write everything to this file too, as JSON, to be sent to verbcast's developers: GUIDs, addresses and host
    /// names are replaced
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// What a second process of the doctor does for the first
    #[arg(long, value_name = "TASK", hide = true)]
    pub assist: Option<Assist>,
}

/// What a second process does for the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Assist {
    /// Receives in a group.
    Listen,
    /// Is the peer of a connection.
    Answer,
}

impl Assist {
    pub fn name(self) -> &'static str {
        match self {
            Assist::Listen => "listen",
            Assist::Answer => "answer",
        }
    }
}

pub const HELP: &str = "\
Examples:
  This host alone:
    verbcast doctor

  Four hosts of a Slurm job, and a file to send:
    srun -N 4 --ntasks-per-node=1 verbcast doctor --json doctor.json

Tries what verbcast assumes of an adapter and its fabric, each assumption by the number that it has in the book's page \
\"Conformance\", says what was expected and what came, and what to do where that is not the same. It ends within two \
minutes and changes nothing on the system.

Exit status: 0 if all is well, 1 if something is wrong, 2 if the command line is wrong.";
