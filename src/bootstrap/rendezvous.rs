//! A star of sockets: rank 0 listens, the others connect, and everything goes through rank 0.

use super::assembly::Assembly;
use super::blobs::MAX_BLOB;
use super::hello::MAX_TOKEN;
use super::hub::Hub;
use super::leaf::Leaf;
use super::names::blame;
use super::socket::Listener;
use super::{Address, Bootstrap, BootstrapError};
use crate::rank::Rank;
use std::time::Duration;

/// What a process has to know of its job to find the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// This process's rank.
    pub rank: Rank,
    /// The number of ranks.
    pub size: u32,
    /// Where rank 0 listens. A single rank needs none.
    pub rendezvous: Option<Address>,
    /// The same text, of at most 256 bytes, at every rank of a job. It keeps jobs apart that
    /// happen to use the same address; it travels in the clear and is no protection from an
    /// eavesdropper. May be empty.
    pub token: String,
    /// Longest wait in one collective call.
    pub timeout: Duration,
}

impl Job {
    /// A job of one process.
    pub fn alone() -> Job {
        let timeout = Duration::from_secs(30);
        Job { rank: Rank(0), size: 1, rendezvous: None, token: String::new(), timeout }
    }

    pub(super) fn place(&self) -> String {
        self.rendezvous.as_ref().map_or_else(|| "nowhere".to_owned(), Address::to_string)
    }
}

/// A [`Bootstrap`] over TCP or Unix sockets.
///
/// Every wait is bounded by the job's timeout, with a few seconds more for rank 0 to tell the
/// others. After an error every later call returns the same error.
pub struct Rendezvous {
    rank: Rank,
    size: u32,
    state: Result<Role, BootstrapError>,
}

enum Role {
    Alone,
    Hub(Hub),
    Leaf(Leaf),
}

impl Rendezvous {
    /// Brings the ranks of a job together. Collective.
    ///
    /// # Errors
    /// If a rank does not appear in time, or leaves; if ranks disagree about the size or the
    /// token, or two have the same rank; if rank 0 cannot listen.
    pub fn join(job: &Job) -> Result<Rendezvous, BootstrapError> {
        let invalid = |what| Err(BootstrapError { rank: None, what });
        if job.rank.0 >= job.size {
            return invalid(format!("{} does not exist among {} ranks", job.rank, job.size));
        }
        if job.token.len() > MAX_TOKEN {
            return invalid(format!("the job token is longer than {MAX_TOKEN} bytes"));
        }
        let role = match (&job.rendezvous, job.rank) {
            _ if job.size == 1 => Role::Alone,
            (None, _) => {
                return invalid(format!("{} ranks need a rendezvous address", job.size));
            }
            (Some(address), Rank(0)) => {
                let listener = Listener::bind(address).map_err(|error| {
                    blame(&[Rank(0)], format!("cannot listen at {address}: {error}"))
                })?;
                Role::Hub(Hub::new(Assembly::wait(job, &listener)?, job.timeout))
            }
            (Some(address), _) => Role::Leaf(Leaf::join(job, address)?),
        };
        Ok(Rendezvous { rank: job.rank, size: job.size, state: Ok(role) })
    }
}

impl Bootstrap for Rendezvous {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn all_gather(&mut self, blob: &[u8]) -> Result<Vec<Vec<u8>>, BootstrapError> {
        let role = self.state.as_mut().map_err(|error| error.clone())?;
        let gathered = if blob.len() > MAX_BLOB {
            let what = format!("gave {} bytes, more than {MAX_BLOB}", blob.len());
            Err(blame(&[self.rank], what))
        } else {
            match role {
                Role::Alone => Ok(vec![blob.to_vec()]),
                Role::Hub(hub) => hub.all_gather(blob),
                Role::Leaf(leaf) => leaf.all_gather(blob),
            }
        };
        if let Err(error) = &gathered {
            self.state = Err(error.clone());
        }
        gathered
    }
}
