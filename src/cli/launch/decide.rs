//! Votes whose outcome reads the same at every rank.

use verbcast::bootstrap::{Bootstrap, Star, VoteError, count_votes, vote};
use verbcast_core::rank::Rank;
use verbcast_core::wire::Ballot;

/// Takes a step together: every rank gets every rank's blob, or the same message.
///
/// An `outcome` that is an error starts with the name of the rank it comes from, which need not be
/// this one: a failure that several ranks have seen is told once, in the words of its origin.
pub fn decide(
    bootstrap: &mut dyn Bootstrap,
    outcome: Result<Vec<u8>, String>,
) -> Result<Vec<Vec<u8>>, String> {
    let ballot = outcome.as_ref().map(Vec::as_slice).map_err(String::as_str);
    match vote(bootstrap, ballot) {
        Ok(blobs) => Ok(blobs),
        Err(VoteError::Refused(refusals)) => Err(origin(&refusals)),
        // Some rank is gone. What was seen of it before says more.
        Err(error) => Err(outcome.err().unwrap_or(error.to_string())),
    }
}

/// Takes a step together of which rank 0 judges what all give: every rank gets its verdict, or the same message. An
/// `outcome` that is an error is as for [`decide`].
pub fn settle(
    star: &mut Star,
    outcome: Result<Vec<u8>, String>,
    judge: impl FnOnce(Vec<Vec<u8>>) -> Result<Vec<u8>, String>,
) -> Result<Vec<u8>, String> {
    let ballot = Ballot::emit(outcome.as_deref().map_err(String::as_str));
    let verdict = star.judge(&ballot, |ballots| {
        let judged = match count_votes(&ballots) {
            Ok(blobs) => judge(blobs),
            Err(VoteError::Refused(refusals)) => Err(origin(&refusals)),
            Err(error) => Err(error.to_string()),
        };
        Ballot::emit(judged.as_deref().map_err(String::as_str))
    });
    match verdict.map(|bytes| Ballot::parse(&bytes)) {
        Ok(Ok(Ballot::Blob(blob))) => Ok(blob),
        Ok(Ok(Ballot::Refusal(what))) => Err(what),
        Ok(Err(error)) => Err(blame(Rank(0), format!("sent what cannot be read: {error}"))),
        // Some rank is gone. What was seen of it before says more.
        Err(error) => Err(outcome.err().unwrap_or(error.to_string())),
    }
}

/// Takes a step together after which rank 0 has what all give, and the others have nothing.
pub fn collect(star: &mut Star, outcome: Result<Vec<u8>, String>) -> Result<Vec<Vec<u8>>, String> {
    let mut collected = Vec::new();
    settle(star, outcome, |blobs| {
        collected = blobs;
        Ok(Vec::new())
    })?;
    Ok(collected)
}

/// Puts the name of `rank` in front of `what`.
pub fn blame(rank: Rank, what: impl std::fmt::Display) -> String {
    format!("{rank}: {what}")
}

/// The rank whose name is in front of `what`.
pub fn blamed(what: &str) -> Option<Rank> {
    let (number, _) = what.strip_prefix("rank ")?.split_once(": ")?;
    number.parse().ok().map(Rank)
}

fn origin(refusals: &[(Rank, String)]) -> String {
    let own: Vec<&str> = refusals
        .iter()
        .filter(|(rank, what)| what.starts_with(&blame(*rank, "")))
        .map(|(_, what)| what.as_str())
        .collect();
    match (&own[..], refusals) {
        ([], [(_, first), ..]) => first.clone(),
        ([], []) => "a rank refused without a reason".to_owned(),
        ([only], _) => (*only).to_owned(),
        ([first, second], _) => format!("{first}; {second}"),
        ([first, others @ ..], _) => format!("{first}; and {} more ranks failed", others.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_by_its_origin() {
        let refusals = |texts: &[(u32, &str)]| {
            origin(&texts.iter().map(|&(r, text)| (Rank(r), text.to_owned())).collect::<Vec<_>>())
        };
        let seen = [(0, "rank 3: gone"), (2, "rank 3: broken"), (3, "rank 3: disk full")];
        assert_eq!(refusals(&seen), "rank 3: disk full");
        assert_eq!(refusals(&seen[..2]), "rank 3: gone");
        let two = [(1, "rank 1: a"), (2, "rank 2: b")];
        assert_eq!(refusals(&two), "rank 1: a; rank 2: b");
        let three = [(1, "rank 1: a"), (2, "rank 2: b"), (3, "rank 3: c")];
        assert_eq!(refusals(&three), "rank 1: a; and 2 more ranks failed");
    }
    #[test]
    fn who_is_blamed_is_read_back() {
        assert_eq!(blamed(&blame(Rank(12), "rank 3: gone")), Some(Rank(12)));
        for what in ["", "rank 3", "rank x: gone", "ranks 1: gone", "no memory: rank 1: gone"] {
            assert_eq!(blamed(what), None, "{what}");
        }
    }
}
