//! What can go wrong with a broadcast.

use super::ConfigError;
use crate::bootstrap::VoteError;
use std::time::Duration;
use verbcast_core::driver::Failure;
use verbcast_core::protocol::StartError;
use verbcast_core::rank::Rank;

/// What can go wrong with a broadcast. Its text says everything; [`source`](std::error::Error::source) is for
/// programs that want to tell causes apart.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting makes no sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The communicator could not be made; every rank gets the same.
    #[error(transparent)]
    Setup(#[from] VoteError),
    /// The call cannot be made.
    #[error(transparent)]
    Call(#[from] StartError),
    /// The broadcast was started by another broadcaster than the one that was to wait for it.
    #[error("the broadcast was started by another broadcaster")]
    OtherBroadcaster,
    /// The message of the broadcast was taken before.
    #[error("the message of the broadcast was taken before")]
    AlreadyTaken,
    /// A rank failed; every rank gets the same.
    #[error(transparent)]
    Failed(Failure),
    /// What this rank owes its neighbours, or they owe it, was not exchanged.
    #[error("{rank}: ring neighbours are alive but have not participated for {after:?}")]
    Timeout {
        /// This rank.
        rank: Rank,
        /// How long it has tried.
        after: Duration,
    },
}

impl Error {
    /// True if the only problem is that the in-flight limit was reached: some broadcasts must complete first.
    pub fn is_too_many(&self) -> bool {
        matches!(self, Error::Call(StartError::TooManyInFlight(_)))
    }
}
