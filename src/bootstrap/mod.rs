//! How the ranks of a communicator find one another before there is a transport.
//!
//! [`Environment`] reads from the environment which rank a process is, [`Star`] brings the
//! ranks together over sockets, and [`vote()`] takes a step for all or for none.

mod address;
mod assembly;
mod counted;
mod descriptors;
mod environment;
mod guest;
mod hub;
mod leaf;
mod limits;
mod link;
mod names;
mod secret;
mod slurm;
mod socket;
mod star;
mod token_file;
mod turned_away;
mod vote;
mod watch;

pub use address::{Address, AddressError};
pub use counted::{Asked, Counted};
pub use environment::{Environment, EnvironmentError};
pub use names::name_ranks;
pub use secret::Secret;
pub use star::Star;
pub use vote::{VoteError, count_votes, vote};
#[cfg(feature = "verbs")]
pub(crate) use vote::{exchange, read_all};

use std::fmt;
use verbcast_core::rank::Rank;
use verbcast_core::wire::Refusal;

/// A slow but reliable way to exchange small blobs among all ranks. Used when a communicator is
/// made and ended, never per broadcast. All calls are collective and bounded in time.
pub trait Bootstrap {
    /// This process's rank.
    fn rank(&self) -> Rank;

    /// The number of ranks.
    fn size(&self) -> u32;

    /// Gives `blob` to every rank and returns everybody's, by rank.
    ///
    /// # Errors
    /// If a rank does not take part in time, or left.
    fn all_gather(&mut self, blob: &[u8]) -> Result<Vec<Vec<u8>>, BootstrapError>;

    /// What only the ranks of the job know, from which the keys of [authentication codes](crate::Settings::mac) follow.
    /// By default that is [nothing](Secret::none): what is gathered is kept from strangers, or they can find those keys.
    ///
    /// # Errors
    /// If strangers can read what is gathered and there is no secret: a phrase to put behind this rank's name.
    fn secret(&self) -> Result<Secret, String> {
        Ok(Secret::none())
    }

    /// Returns when every rank has called it.
    ///
    /// # Errors
    /// If a rank does not take part in time, or left.
    fn barrier(&mut self) -> Result<(), BootstrapError> {
        self.all_gather(&[]).map(drop)
    }
}

impl<B: Bootstrap + ?Sized> Bootstrap for &mut B {
    fn rank(&self) -> Rank {
        (**self).rank()
    }

    fn size(&self) -> u32 {
        (**self).size()
    }

    fn all_gather(&mut self, blob: &[u8]) -> Result<Vec<Vec<u8>>, BootstrapError> {
        (**self).all_gather(blob)
    }

    fn secret(&self) -> Result<Secret, String> {
        (**self).secret()
    }

    fn barrier(&mut self) -> Result<(), BootstrapError> {
        (**self).barrier()
    }
}

/// The ranks could not be brought together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootstrapError {
    /// The rank that is missing or failed, where it is known.
    pub rank: Option<Rank>,
    /// What happened, and where; goes on after the name of the rank where there is one.
    pub what: String,
}

impl fmt::Display for BootstrapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rank {
            Some(rank) => write!(f, "{rank} {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for BootstrapError {}

impl From<Refusal> for BootstrapError {
    fn from(Refusal { rank, what }: Refusal) -> Self {
        BootstrapError { rank, what }
    }
}

impl From<&BootstrapError> for Refusal {
    fn from(BootstrapError { rank, what }: &BootstrapError) -> Self {
        Refusal { rank: *rank, what: what.clone() }
    }
}
