//! The end of a communicator: which rank failed, and how.

use crate::rank::Rank;

/// A rank failed, and with it the communicator; every rank learns the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rank}: {reason}")]
pub struct Failure {
    /// The rank that failed.
    pub rank: Rank,
    /// What happened, in words.
    pub reason: String,
}
