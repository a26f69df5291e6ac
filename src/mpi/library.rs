//! The MPI library itself, for what is to be compared with it.

use super::{Link, MpiError};
use crate::bootstrap::Bootstrap;
use mpi::Threading;
use mpi::environment::{Universe, initialize_with_threading, library_version};
use mpi::ffi;
use mpi::traits::{AsRaw, Communicator};
use std::ffi::c_int;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use verbcast_core::rank::Rank;

/// MPI, started by this process; the thread that has started it is the only one that calls it.
///
/// MPI can be started once in a process. If this is dropped, MPI is not finalised, as that would wait for ranks
/// which may have failed; the process has to end then, at which its launcher ends the others.
/// [`finish`](Self::finish) finalises it.
pub struct Library {
    universe: ManuallyDrop<Universe>,
    /// Stays in its thread.
    thread: PhantomData<*const ()>,
}

impl Library {
    /// Starts MPI. Collective over the ranks that its launcher has started. If MPI fails, it ends the job.
    ///
    /// `None` if this process has started it before.
    pub fn start() -> Option<Self> {
        let (universe, _) = initialize_with_threading(Threading::Funneled)?;
        Some(Library { universe: ManuallyDrop::new(universe), thread: PhantomData })
    }

    /// This process's rank among all that MPI knows of.
    pub fn rank(&self) -> Rank {
        Rank(self.universe.world().rank().unsigned_abs())
    }

    /// The number of ranks that MPI knows of; 1 where no launcher of this MPI library has started the process.
    pub fn size(&self) -> u32 {
        self.universe.world().size().unsigned_abs()
    }

    /// MPI's own broadcasts among the first `size` ranks, of which this is one, or all if there are fewer.
    /// Collective over these.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn broadcasts_among(&self, size: u32) -> Result<OwnBroadcast<'_>, MpiError> {
        let world = self.universe.world();
        // SAFETY: MPI is initialised, and has so many ranks.
        let link = unsafe { Link::of_first(size.min(self.size()), world.as_raw()) }?;
        Ok(OwnBroadcast { link: ManuallyDrop::new(link), library: PhantomData })
    }

    /// Finalises MPI. Collective over all ranks.
    pub fn finish(self) {
        drop(ManuallyDrop::into_inner(self.universe));
    }

    /// The library's name and version, as `Open MPI v4.1.4`.
    pub fn version() -> String {
        short(&library_version().unwrap_or_default())
    }
}

/// The beginning of what a library says of its version, which may go on for pages.
fn short(version: &str) -> String {
    let line = version.lines().next().unwrap_or_default();
    let beginning = line.split(',').next().unwrap_or_default();
    let words = beginning.split_whitespace().filter(|word| *word != "Version:");
    words.collect::<Vec<_>>().join(" ")
}

/// MPI's own broadcasts, on a communicator of their own.
///
/// Its calls wait for ranks that have not come yet as MPI does: for ever, unless MPI or its launcher
/// notices that one has failed. So if this is dropped, the communicator stays; [`close`](Self::close) frees it.
pub struct OwnBroadcast<'a> {
    link: ManuallyDrop<Link>,
    /// Not beyond the end of MPI.
    library: PhantomData<&'a Library>,
}

impl OwnBroadcast<'_> {
    /// `MPI_Bcast` of a message from `root`. Collective.
    ///
    /// # Errors
    /// If MPI fails, or the message is longer than it can count.
    pub fn broadcast(&mut self, root: Rank, message: &mut [u8]) -> Result<(), MpiError> {
        let code = ffi::MPI_ERR_COUNT as c_int;
        let len = c_int::try_from(message.len());
        let len = len.map_err(|_| MpiError { call: "MPI_Bcast", code })?;
        let (buffer, root) = (message.as_mut_ptr().cast(), root.0 as c_int);
        // SAFETY: the communicator exists, and the message has so many bytes.
        let code =
            unsafe { ffi::PMPI_Bcast(buffer, len, ffi::RSMPI_UINT8_T, root, self.link.comm()) };
        MpiError::check("MPI_Bcast", code)
    }

    /// Returns when every rank has called it, and so has all that was broadcast before. Collective.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn barrier(&mut self) -> Result<(), MpiError> {
        // SAFETY: the communicator exists.
        let code = unsafe { ffi::PMPI_Barrier(self.link.comm()) };
        MpiError::check("MPI_Barrier", code)
    }

    /// Lets MPI do what others may wait for, without waiting.
    pub fn progress(&mut self) {
        self.link.progress().run();
    }

    /// Whether all ranks share one node's memory. Collective.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn is_one_node(&self) -> Result<bool, MpiError> {
        self.link.is_one_node()
    }

    /// This process's rank.
    pub fn rank(&self) -> Rank {
        self.link.rank()
    }

    /// Frees the communicator. Collective.
    pub fn close(self) {
        drop(ManuallyDrop::into_inner(self.link));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_said_in_short() {
        for (said, expected) in [
            ("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev", "Open MPI v4.1.4"),
            ("MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7", "MPICH 4.0.2"),
            ("", ""),
        ] {
            assert_eq!(short(said), expected);
        }
    }
}
