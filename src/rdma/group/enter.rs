//! Joining a group, collectively.

use super::address::generator;
use super::join_error::JoinError;
use super::member::Member;
use super::order::{Backoff, JoinOrder, delay};
use crate::bootstrap::{Bootstrap, VoteError, vote};
use rand_chacha::rand_core::Rng;
use std::time::{Duration, Instant};
use verbcast_core::wire::GroupAddress;

/// Joins a group with all ranks, each within `patience`. On InfiniBand the first joins alone, and makes the group; the
/// others follow after a vote that it has. Returns what each rank has noted in the first vote, which is everybody's first
/// after the introductions.
pub fn enter(
    bootstrap: &mut dyn Bootstrap,
    member: &mut impl Member,
    (address, JoinOrder { first, common }): (GroupAddress, JoinOrder),
    patience: Duration,
    note: &[u8],
) -> Result<Vec<Vec<u8>>, VoteError> {
    let (rank, size) = (bootstrap.rank(), bootstrap.size() as usize);
    let mut random = generator(rank);
    // Of the time, an eighth is left for the vote, so that all ranks hear the reason where somebody cannot join.
    let patience = patience - patience / 8;
    let mut join = |is_next: bool| match is_next {
        true => retry(patience, &mut random, |left| member.join((address, common), left))
            .map_err(|what| format!("group {address}: {what}")),
        false => Ok(()),
    };
    // On RoCE a join concerns the own port alone.
    if !matches!(address, GroupAddress::Mgid(_)) {
        return settle(bootstrap, join(true), note);
    }
    let notes = settle(bootstrap, join(rank == first), note)?;
    if rank != first {
        std::thread::sleep(delay(size, &mut generator(rank)).min(patience / 8));
    }
    settle(bootstrap, join(rank != first), &[])?;
    Ok(notes)
}

fn settle(
    bootstrap: &mut dyn Bootstrap,
    joined: Result<(), String>,
    note: &[u8],
) -> Result<Vec<Vec<u8>>, VoteError> {
    vote(bootstrap, joined.as_ref().map(|()| note).map_err(String::as_str))
}

/// Joins, and tries again until it is clear that it cannot work, or time is up.
fn retry(
    patience: Duration,
    random: &mut impl Rng,
    mut join: impl FnMut(Duration) -> Result<(), JoinError>,
) -> Result<(), String> {
    let deadline = Instant::now() + patience;
    let mut backoff = Backoff::new();
    let mut tries = 0_u32;
    loop {
        tries += 1;
        let what = match join(deadline.saturating_duration_since(Instant::now())) {
            Ok(()) => return Ok(()),
            Err(JoinError::Never(what)) => return Err(what),
            Err(JoinError::NotYet(what)) => what,
        };
        let pause = backoff.next(random);
        if Instant::now() + pause >= deadline {
            return Err(format!(
                "{what} (tried {tries} times in {patience:.1?}: is the subnet manager running, and \
                 has the port the group's rate, MTU and partition?)"
            ));
        }
        tracing::debug!("the join failed: {what}; trying again in {pause:?}");
        std::thread::sleep(pause);
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::PortSpeed;
    use super::super::testing::{Job, Wire};
    use super::*;
    use verbcast_core::rank::Rank;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn first(rank: u32) -> JoinOrder {
        JoinOrder { first: Rank(rank), common: PortSpeed { mtu: 4096, rate: 100_000 } }
    }

    #[test]
    fn a_join_that_is_refused_is_tried_again() {
        let mut answers = vec![Ok(()), Err(JoinError::NotYet("busy".into()))];
        let mut random = generator(Rank(0));
        retry(PATIENCE, &mut random, |_| answers.pop().unwrap()).unwrap();
        assert!(answers.is_empty());
        let never = || JoinError::Never("IPoIB is down".to_owned());
        let mut answers = vec![Ok(()), Err(never())];
        let error = retry(PATIENCE, &mut random, |_| answers.pop().unwrap()).unwrap_err();
        assert_eq!((error.as_str(), answers.len()), ("IPoIB is down", 1));
    }

    #[test]
    fn a_join_that_is_always_refused_ends() {
        let refused = |_| Err(JoinError::NotYet("refused".to_owned()));
        let patience = Duration::from_millis(300);
        let error = retry(patience, &mut generator(Rank(0)), refused).unwrap_err();
        assert!(error.starts_with("refused (tried ") && error.contains("300.0ms"), "{error}");
    }

    #[test]
    fn the_first_rank_makes_the_group_and_the_others_follow() {
        let group = GroupAddress::Mgid([0xff; 16]);
        let orders = Job { size: 5 }.run(&Wire::default(), |bootstrap, member| {
            enter(bootstrap, member, (group, first(3)), PATIENCE, &[]).unwrap();
            member.joined()
        });
        for mut order in orders {
            assert_eq!(order[0], Rank(3));
            order.sort();
            assert_eq!(order, [0, 1, 2, 3, 4].map(Rank), "each once");
        }
    }

    #[test]
    fn nobody_joins_a_group_that_the_first_rank_cannot_make() {
        let outcomes = Job { size: 3 }.run(&Wire::default(), |bootstrap, member| {
            member.is_refused = bootstrap.rank() == Rank(1);
            let group = GroupAddress::Mgid([0xff; 16]);
            enter(bootstrap, member, (group, first(1)), PATIENCE, &[]).unwrap_err().to_string()
        });
        for error in outcomes {
            assert!(error.starts_with("rank 1: group MGID ffff:") && error.ends_with("refused"));
        }
    }
}
