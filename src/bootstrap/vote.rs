//! A vote: a step that every rank takes on its own succeeds for all or fails for all.

use super::{Bootstrap, BootstrapError};
use std::fmt;
use verbcast_core::rank::Rank;
use verbcast_core::wire::{Ballot, WireError};

/// Why a collective step did not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VoteError {
    /// These ranks could not take the step, and this is what each of them says.
    Refused(Vec<(Rank, String)>),
    /// The vote itself failed.
    Bootstrap(BootstrapError),
}

impl fmt::Display for VoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VoteError::Refused(refusals) => {
                let (rank, what) = &refusals[0];
                write!(f, "{rank}: {what}")?;
                match refusals.len() - 1 {
                    0 => Ok(()),
                    1 => f.write_str(" (and 1 more rank failed)"),
                    others => write!(f, " (and {others} more ranks failed)"),
                }
            }
            VoteError::Bootstrap(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for VoteError {}

/// Exchanges the outcome of a step that every rank has just taken, with a blob from each.
///
/// # Errors
/// The same [`VoteError::Refused`] on all ranks if any rank's `outcome` is an error.
pub fn vote(
    bootstrap: &mut dyn Bootstrap,
    outcome: Result<&[u8], &str>,
) -> Result<Vec<Vec<u8>>, VoteError> {
    let ballots = bootstrap.all_gather(&Ballot::emit(outcome)).map_err(VoteError::Bootstrap)?;
    let mut blobs = Vec::with_capacity(ballots.len());
    let mut refusals = Vec::new();
    for (rank, ballot) in (0..).map(Rank).zip(ballots) {
        match Ballot::parse(&ballot) {
            Ok(Ballot::Blob(blob)) => blobs.push(blob),
            Ok(Ballot::Refusal(what)) => refusals.push((rank, what)),
            Err(error) => refusals.push((rank, unreadable(error))),
        }
    }
    if refusals.is_empty() { Ok(blobs) } else { Err(VoteError::Refused(refusals)) }
}

/// Reads the blobs of all ranks; a rank whose blob cannot be read is named.
///
/// # Errors
/// [`VoteError::Refused`], of those ranks.
pub(crate) fn read_all<T>(
    blobs: &[Vec<u8>],
    read: impl Fn(&[u8]) -> Result<T, WireError>,
) -> Result<Vec<T>, VoteError> {
    let mut values = Vec::with_capacity(blobs.len());
    let mut refusals = Vec::new();
    for (rank, blob) in (0..).map(Rank).zip(blobs) {
        match read(blob) {
            Ok(value) => values.push(value),
            Err(error) => refusals.push((rank, unreadable(error))),
        }
    }
    if refusals.is_empty() { Ok(values) } else { Err(VoteError::Refused(refusals)) }
}

fn unreadable(error: WireError) -> String {
    format!("sent what cannot be read: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers with this rank's blob followed by prepared ones.
    struct Others(Vec<Vec<u8>>);

    impl Bootstrap for Others {
        fn rank(&self) -> Rank {
            Rank(0)
        }

        fn size(&self) -> u32 {
            self.0.len() as u32 + 1
        }

        fn all_gather(&mut self, blob: &[u8]) -> Result<Vec<Vec<u8>>, BootstrapError> {
            Ok([vec![blob.to_vec()], self.0.clone()].concat())
        }
    }

    #[test]
    fn one_refusal_is_everybodys() {
        let mut others =
            Others(vec![Ballot::emit(Ok(b"yes")), Ballot::emit(Err("no device")), vec![]]);
        let error = vote(&mut others, Ok(b"mine")).unwrap_err();
        assert_eq!(error.to_string(), "rank 2: no device (and 1 more rank failed)");
    }

    #[test]
    fn agreement_brings_the_blobs() {
        let mut others = Others(vec![Ballot::emit(Ok(b"yes"))]);
        assert_eq!(vote(&mut others, Ok(b"mine")).unwrap(), [&b"mine"[..], b"yes"]);
    }
}
