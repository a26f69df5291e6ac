//! The end of a communicator: which rank failed, and how.

use crate::rank::Rank;
use crate::wire::{FailureKind, Notice};
use std::sync::Arc;

/// A rank failed, and with it the communicator; every rank learns the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rank}{}: {reason}", place(host.as_deref()))]
#[non_exhaustive]
pub struct Failure {
    /// The rank that failed.
    pub rank: Rank,
    /// What is wrong with it.
    pub kind: FailureKind,
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
    pub(super) fn new(rank: Rank, kind: FailureKind, reason: String) -> Failure {
        Failure { rank, kind, host: None, reason }
    }

    /// What other ranks are told of it.
    pub(super) fn notice(&self) -> Notice {
        Notice { rank: self.rank, kind: self.kind, reason: self.reason.clone() }
    }

    /// The same, of a rank on this host.
    #[must_use]
    pub fn on(self, host: Option<Arc<str>>) -> Failure {
        Failure { host, ..self }
    }
}
