//! A star of sockets: rank 0 listens, the others connect, and everything goes through rank 0.

use super::assembly::Assembly;
use super::hub::Hub;
use super::leaf::Leaf;
use super::limits::{MAX_BLOB, MAX_TOKEN};
use super::names::blame;
use super::secret::Secret;
use super::socket::Listener;
use super::{Address, Bootstrap, BootstrapError, Environment};
use std::time::Duration;
use verbcast_core::rank::Rank;

/// What this process knows of its job, and its patience.
pub(super) struct Job {
    pub(super) rank: Rank,
    pub(super) size: u32,
    pub(super) rendezvous: Option<Address>,
    pub(super) secret: Secret,
    pub(super) timeout: Duration,
}

impl Job {
    pub(super) fn place(&self) -> String {
        self.rendezvous.as_ref().map_or_else(|| "nowhere".to_owned(), Address::to_string)
    }
}

/// A [`Bootstrap`] over TCP or Unix sockets.
///
/// Every wait is bounded by the timeout given to [`join`](Star::join), with a few seconds more for rank 0 to tell the
/// others. After an error every later call returns the same error.
pub struct Star {
    rank: Rank,
    size: u32,
    /// The job's token, if that is a secret.
    secret: Option<Secret>,
    state: Result<Role, BootstrapError>,
}

enum Role {
    Alone,
    Hub(Hub),
    Leaf(Leaf),
}

impl Star {
    /// Brings the ranks of a job together. Collective.
    ///
    /// # Errors
    /// If a rank does not appear in time, or leaves; if ranks disagree about the size or the
    /// token, or two have the same rank; if rank 0 cannot listen.
    pub fn join(environment: &Environment, timeout: Duration) -> Result<Star, BootstrapError> {
        let Environment { rank, size, rendezvous, token } = environment.clone();
        let of_job = Secret::of_token(&token);
        let secret = Secret::new(token.as_bytes());
        let job = &Job { rank, size, rendezvous, secret, timeout };
        let invalid = |what| Err(BootstrapError { rank: None, what });
        if job.rank.0 >= job.size {
            return invalid(format!("{} does not exist among {} ranks", job.rank, job.size));
        }
        if token.len() > MAX_TOKEN {
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
        Ok(Star { rank: job.rank, size: job.size, secret: of_job, state: Ok(role) })
    }
}

impl Star {
    /// At rank 0: starts the time anew in which the others wait for it in an exchange. For rank 0 to call now and then,
    /// where it works for long before it takes part. Does nothing at another rank.
    pub fn postpone(&mut self) {
        if let Ok(Role::Hub(hub)) = &mut self.state {
            hub.postpone();
        }
    }

    /// Gives `blob` to rank 0, which judges everybody's, by rank; every rank gets its verdict. Collective. For what is long
    /// and only rank 0 has to see: it sends the verdict to each rank, and not all blobs.
    ///
    /// # Errors
    /// If a rank does not take part in time, or left; or if the blob is too long. Rank 0 judges within the timeout.
    pub fn judge(
        &mut self,
        blob: &[u8],
        judge: impl FnOnce(Vec<Vec<u8>>) -> Vec<u8>,
    ) -> Result<Vec<u8>, BootstrapError> {
        self.exchange(blob, |role| match role {
            Role::Alone => Ok(judge(vec![blob.to_vec()])),
            Role::Hub(hub) => hub.judge(blob, judge),
            Role::Leaf(leaf) => leaf.judge(blob),
        })
    }

    /// A step of all; after one that fails there is no other.
    fn exchange<T>(
        &mut self,
        blob: &[u8],
        step: impl FnOnce(&mut Role) -> Result<T, BootstrapError>,
    ) -> Result<T, BootstrapError> {
        let role = self.state.as_mut().map_err(|error| error.clone())?;
        let outcome = if blob.len() > MAX_BLOB {
            let what = format!("gave {} bytes, more than {MAX_BLOB}", blob.len());
            Err(blame(&[self.rank], what))
        } else {
            step(role)
        };
        if let Err(error) = &outcome {
            self.state = Err(error.clone());
        }
        outcome
    }
}

impl Bootstrap for Star {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn secret(&self) -> Result<Secret, String> {
        match &self.secret {
            Some(secret) => Ok(secret.clone()),
            None if self.size == 1 => Ok(Secret::none()),
            None => Err("has no secret for authentication codes (VERBCAST_MAC=on), but a token that can be guessed: set \
                         VERBCAST_TOKEN or VERBCAST_TOKEN_FILE at every rank"
                .to_owned()),
        }
    }

    fn all_gather(&mut self, blob: &[u8]) -> Result<Vec<Vec<u8>>, BootstrapError> {
        self.exchange(blob, |role| match role {
            Role::Alone => Ok(vec![blob.to_vec()]),
            Role::Hub(hub) => hub.all_gather(blob),
            Role::Leaf(leaf) => leaf.all_gather(blob),
        })
    }
}
