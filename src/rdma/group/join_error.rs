//! Why a group was not joined, and whether to try again.

/// Why a group was not joined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// It may go right later, for instance when the subnet administrator has time.
    #[error("{0}")]
    NotYet(String),
    /// It cannot go right as things are set up.
    #[error("{0}")]
    Never(String),
}
