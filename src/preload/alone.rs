//! What this process has of MPI's for itself.

use mpi::ffi::MPI_Comm;
use multicast::mpi::{Link, Progress};

/// What is there until MPI is finalised.
#[derive(Clone, Copy)]
pub struct Alone {
    /// A communicator of this process alone whose errors are returned.
    pub comm: MPI_Comm,
    /// Lets MPI make progress.
    pub progress: Progress,
}

impl Alone {
    /// That of a communicator of this process alone, which stays until MPI is finalised.
    pub fn of(link: &Link) -> Self {
        Alone { comm: link.comm(), progress: link.progress() }
    }
}
