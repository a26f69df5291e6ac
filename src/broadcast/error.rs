//! What can go wrong with a broadcast.

use super::ConfigError;
use crate::bootstrap::VoteError;
use std::fmt;
use std::time::Duration;
use verbcast_core::driver::Failure;
use verbcast_core::protocol::StartError;
use verbcast_core::rank::Rank;

/// What can go wrong with a broadcast.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A setting makes no sense.
    Config(String),
    /// The communicator could not be made; every rank gets the same.
    Setup(VoteError),
    /// The call cannot be made.
    Call(StartError),
    /// The broadcast was started by another broadcaster than the one that was to wait for it.
    OtherBroadcaster,
    /// The message of the broadcast was taken before.
    AlreadyTaken,
    /// A rank failed; every rank gets the same.
    Failed(Failure),
    /// What this rank owes its neighbours, or they owe it, was not exchanged.
    Timeout {
        /// This rank.
        rank: Rank,
        /// How long it has tried.
        after: Duration,
    },
}

impl Error {
    /// Whether no more was wrong than that as many broadcasts are in flight as may be: some must complete first.
    pub fn is_too_many(&self) -> bool {
        matches!(self, Error::Call(StartError::TooManyInFlight(_)))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Config(what) => f.write_str(what),
            Error::Setup(error) => error.fmt(f),
            Error::Call(error) => error.fmt(f),
            Error::OtherBroadcaster => {
                f.write_str("the broadcast was started by another broadcaster")
            }
            Error::AlreadyTaken => f.write_str("the message of the broadcast was taken before"),
            Error::Failed(failure) => failure.fmt(f),
            Error::Timeout { rank, after } => {
                write!(
                    f,
                    "{rank}: its neighbours on the ring are alive, but do not take part for {after:?}"
                )
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<VoteError> for Error {
    fn from(error: VoteError) -> Self {
        Error::Setup(error)
    }
}

impl From<StartError> for Error {
    fn from(error: StartError) -> Self {
        Error::Call(error)
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Error::Config(error.to_string())
    }
}
