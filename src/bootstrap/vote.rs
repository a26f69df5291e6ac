//! A vote: a step that every rank takes on its own succeeds for all or fails for all.

use super::{Bootstrap, BootstrapError};
use verbcast_core::rank::Rank;
use verbcast_core::wire::{Ballot, WireError};

/// Why a collective step did not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VoteError {
    /// These ranks could not take the step, and this is what each of them says.
    #[error("{}", in_words(.0))]
    Refused(Vec<(Rank, String)>),
    /// The vote itself failed.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
}

/// Different reasons that an error tells at most.
const MAX_TOLD: usize = 3;

/// What the first ranks say that say something else, as what one rank met may be the reason of the others; and how many
/// others there are.
fn in_words(refusals: &[(Rank, String)]) -> String {
    let mut told: Vec<&(Rank, String)> = Vec::new();
    for refusal in refusals {
        if told.len() < MAX_TOLD && !told.iter().any(|(_, what)| *what == refusal.1) {
            told.push(refusal);
        }
    }
    let texts: Vec<_> = told.iter().map(|(rank, what)| format!("{rank}: {what}")).collect();
    let text = texts.join("; ");
    match refusals.len() - told.len() {
        0 => text,
        1 => format!("{text} (and 1 more rank failed)"),
        others => format!("{text} (and {others} more ranks failed)"),
    }
}

/// Exchanges the outcome of a step that every rank has just taken, with a blob from each.
///
/// # Errors
/// The same [`VoteError::Refused`] on all ranks if any rank's `outcome` is an error.
pub fn vote(
    bootstrap: &mut dyn Bootstrap,
    outcome: Result<&[u8], &str>,
) -> Result<Vec<Vec<u8>>, VoteError> {
    count_votes(&exchange(bootstrap, &Ballot::emit(outcome))?)
}

/// Exchanges ballots. When this begins and ends tells how far the clocks of hosts are apart.
pub(crate) fn exchange(
    bootstrap: &mut dyn Bootstrap,
    ballot: &[u8],
) -> Result<Vec<Vec<u8>>, BootstrapError> {
    tracing::debug_span!("round").in_scope(|| bootstrap.all_gather(ballot))
}

/// What came of a vote with these [ballots](Ballot), which were exchanged in another way.
///
/// # Errors
/// [`VoteError::Refused`] if any of them is a refusal.
pub fn count_votes(ballots: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, VoteError> {
    let mut blobs = Vec::with_capacity(ballots.len());
    let mut refusals = Vec::new();
    for (rank, ballot) in (0..).map(Rank).zip(ballots) {
        match Ballot::parse(ballot) {
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
#[cfg(feature = "verbs")]
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
        let mut others = Others(vec![Ballot::emit(Ok(b"yes")), Ballot::emit(Err("no device"))]);
        let error = vote(&mut others, Ok(b"mine")).unwrap_err();
        assert_eq!(error.to_string(), "rank 2: no device");
    }

    /// One rank's reason may be that of the others, which only wait for it.
    #[test]
    fn different_reasons_are_told_and_the_same_ones_counted() {
        let refusals = |all: &[&str]| {
            let ranks = (0..).map(Rank).zip(all.iter().map(|what| (*what).to_owned()));
            VoteError::Refused(ranks.collect()).to_string()
        };
        assert_eq!(refusals(&["silence", "silence"]), "rank 0: silence (and 1 more rank failed)");
        assert_eq!(
            refusals(&["silence", "silence", "silence", "no memory"]),
            "rank 0: silence; rank 3: no memory (and 2 more ranks failed)"
        );
        assert_eq!(
            refusals(&["a", "b", "c", "d", "e"]),
            "rank 0: a; rank 1: b; rank 2: c (and 2 more ranks failed)"
        );
    }

    #[test]
    fn agreement_brings_the_blobs() {
        let mut others = Others(vec![Ballot::emit(Ok(b"yes"))]);
        assert_eq!(vote(&mut others, Ok(b"mine")).unwrap(), [&b"mine"[..], b"yes"]);
    }
}
