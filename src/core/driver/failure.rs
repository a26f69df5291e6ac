//! The end of a communicator: which rank failed, and how.

use crate::rank::Rank;
use std::sync::Arc;

/// A rank failed, and with it the communicator; every rank learns the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rank}{}: {reason}", place(host.as_deref()))]
#[non_exhaustive]
pub struct Failure {
    /// The rank that failed.
    pub rank: Rank,
    /// The name of its host, where ranks are on several.
    pub host: Option<Arc<str>>,
    /// What happened, in words.
    pub reason: String,
}

/// Where a rank is, in words.
fn place(host: Option<&str>) -> String {
    host.map(|host| format!(" on {host}")).unwrap_or_default()
}

impl Failure {
    pub(super) fn new(rank: Rank, reason: String) -> Failure {
        Failure { rank, host: None, reason }
    }

    /// The same, of a rank on this host.
    #[must_use]
    pub fn on(self, host: Option<Arc<str>>) -> Failure {
        Failure { host, ..self }
    }
}
