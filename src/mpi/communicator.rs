//! An rsmpi communicator whose broadcasts go by multicast.

use super::{Error, Link, Member, Process, Way};
use crate::bootstrap::Bootstrap;
use crate::broadcast::{Config, ConfigError};
use mpi::topology;
use std::cell::RefCell;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use verbcast_core::driver::Statistics;
use verbcast_core::rank::Rank;

/// A communicator whose broadcasts go by multicast; in all else it is the one it was made from.
///
/// ```no_run
/// use mpi::traits::*;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let universe = mpi::initialize().ok_or("MPI does not start")?;
/// let world = verbcast::mpi::MulticastCommunicator::new(universe.world())?;
/// let mut parameters = vec![0.0; 1000];
/// world.process_at_rank(0).broadcast_into(&mut parameters)?;
/// world.barrier();
/// # Ok(())
/// # }
/// ```
///
/// All ranks make it and drop it, in the same order as their other collective calls. While a rank waits
/// in a broadcast, MPI makes progress too. If a program has several threads, only one at a time uses it.
///
/// There may be hundreds of them: those of a process share one device, its queues, buffers and connections
/// (an [`Endpoint`](crate::Endpoint)), until the process ends.
pub struct MulticastCommunicator<C> {
    /// Membership by multicast, or why broadcasts go by MPI.
    way: Result<RefCell<Member>, String>,
    comm: C,
}

impl<C: topology::Communicator> MulticastCommunicator<C> {
    /// Makes it from a communicator, configured by the environment's `VERBCAST_*` variables. Collective.
    ///
    /// Where a rank has no device, or the ranks cannot reach one another by multicast, all of them broadcast
    /// by MPI, and rank 0 warns of it, once.
    ///
    /// # Errors
    /// The same at every rank, if a variable cannot be read or differs between ranks where it must
    /// not; or if MPI fails, also because `comm` joins two groups.
    pub fn new(comm: C) -> Result<Self, Error> {
        Self::make(comm, Config::from_env().as_ref())
    }

    /// As [`new`](Self::new), with a configuration of the program's.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_config(comm: C, config: &Config) -> Result<Self, Error> {
        Self::make(comm, Ok(config))
    }

    fn make(comm: C, config: Result<&Config, &ConfigError>) -> Result<Self, Error> {
        // SAFETY: rsmpi has communicators only while MPI is initialised.
        let link = unsafe { Link::new(comm.as_raw()) }?;
        let warns = link.size() > 1 && link.rank() == Rank(0);
        let way = match Way::decide(link, config)? {
            Way::Multicast(member) => Ok(RefCell::new(*member)),
            Way::Mpi(why) => Err(why),
        };
        if let (Err(why), true) = (&way, warns) {
            warn(why);
        }
        Ok(MulticastCommunicator { way, comm })
    }

    /// A process, to broadcast from; it is the communicator's own in all else.
    ///
    /// # Panics
    /// If the communicator has no such rank.
    pub fn process_at_rank(&self, rank: topology::Rank) -> Process<'_> {
        let process = self.comm.process_at_rank(rank);
        Process::new(process, rank, self.way.as_ref().ok(), self.comm.as_raw())
    }

    /// This process, as [`process_at_rank`](Self::process_at_rank).
    pub fn this_process(&self) -> Process<'_> {
        self.process_at_rank(self.comm.rank())
    }

    /// Why broadcasts go by MPI; none if they go by multicast.
    pub fn by_mpi(&self) -> Option<String> {
        self.way.as_ref().err().cloned()
    }

    /// The counters so far; zero where broadcasts go by MPI.
    pub fn statistics(&self) -> Statistics {
        match &self.way {
            Ok(member) => member.borrow().broadcaster().statistics(),
            Err(_) => Statistics::default(),
        }
    }

    /// Returns when nothing is owed, by this rank or to it, for the broadcasts so far.
    ///
    /// # Errors
    /// If a rank failed.
    pub fn flush(&self) -> Result<(), Error> {
        match &self.way {
            Ok(member) => Ok(member.borrow_mut().broadcaster_mut().flush()?),
            Err(_) => Ok(()),
        }
    }

    /// Leaves in good order, and gives the communicator back. Collective.
    ///
    /// # Errors
    /// If a rank failed, or something is owed for longer than the configured timeout.
    pub fn close(self) -> Result<C, Error> {
        if let Ok(member) = self.way {
            member.into_inner().close()?;
        }
        Ok(self.comm)
    }
}

/// Warns that MPI does the broadcasts of several ranks: once for a process.
fn warn(why: &str) {
    static HAS_WARNED: AtomicBool = AtomicBool::new(false);
    if !HAS_WARNED.swap(true, Ordering::Relaxed) {
        eprintln!("verbcast: broadcasts go by MPI: {why}");
    }
}

impl<C> Deref for MulticastCommunicator<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.comm
    }
}

impl<C> fmt::Debug for MulticastCommunicator<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MulticastCommunicator").field("way", &self.way).finish_non_exhaustive()
    }
}
