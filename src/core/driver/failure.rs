//! The end of a communicator: which rank failed, and how.

use crate::rank::Rank;
use std::fmt;

/// A rank failed, and with it the communicator; every rank learns the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The rank that failed.
    pub rank: Rank,
    /// What happened, in words.
    pub reason: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rank, self.reason)
    }
}

impl std::error::Error for Failure {}
