//! Gathering the ranks of a communicator in a group that works, collectively.

use super::enter::enter;
use super::member::Member;
use super::order::JoinOrder;
use super::prove::{Proof, prove};
use crate::bootstrap::{Bootstrap, VoteError, vote};
use crate::rdma::settings::{Multicast, Settings};
use verbcast_core::rank::Rank;
use verbcast_core::wire::GroupAddress;

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    /// Whether the ranks are in a group that works.
    pub works: bool,
    /// What each rank has noted, if all could join.
    pub notes: Vec<Vec<u8>>,
}

/// Joins one of these groups in this order, and proves it; whether there is one that works. The
/// outcome is the same at every rank. Each tells the others a `note` on the way.
pub fn gather(
    bootstrap: &mut dyn Bootstrap,
    member: &mut impl Member,
    (groups, order): (&[GroupAddress], JoinOrder),
    settings: &Settings,
    note: &[u8],
) -> Result<Gathered, VoteError> {
    match try_gather(bootstrap, member, (groups, order), settings, note) {
        Ok(notes) => Ok(Gathered { works: true, notes }),
        Err(error @ VoteError::Refused(_)) if settings.multicast == Multicast::Prefer => {
            let gone = member.go_without().map(|()| [].as_slice());
            vote(bootstrap, gone.as_deref().map_err(String::as_str))?;
            if bootstrap.rank() == Rank(0) {
                tracing::warn!("going on without multicast: {error}");
            }
            Ok(Gathered::default())
        }
        Err(error) => Err(error),
    }
}

fn try_gather(
    bootstrap: &mut dyn Bootstrap,
    member: &mut impl Member,
    (groups, order): (&[GroupAddress], JoinOrder),
    settings: &Settings,
    note: &[u8],
) -> Result<Vec<Vec<u8>>, VoteError> {
    let mut notes = Vec::new();
    for (draw, address) in groups.iter().enumerate() {
        let _span = tracing::info_span!("group", %address).entered();
        member.leave();
        notes = enter(bootstrap, member, (*address, order), settings.timeout, note)?;
        // A group that is shared is the only one here.
        let is_last = draw + 1 == groups.len();
        match prove(bootstrap, member, &address.to_string(), settings, is_last)? {
            Proof::Works => break,
            Proof::Taken => tracing::info!("group {address} is in use by others; drawing another"),
        }
    }
    Ok(notes)
}

#[cfg(test)]
mod tests {
    use super::super::order::PortSpeed;
    use super::super::testing::{Job, Wire};
    use super::*;
    use std::time::Duration;

    const GROUPS: [GroupAddress; 2] = [GroupAddress::Mgid([1; 16]), GroupAddress::Mgid([2; 16])];

    /// In which group each rank is, where rank 1 hears strangers in the first.
    fn gathered(groups: &[GroupAddress]) -> Vec<(Result<bool, String>, Option<GroupAddress>)> {
        let common = PortSpeed { mtu: 4096, rate: 100_000 };
        let order = JoinOrder { first: Rank(0), common };
        let settings = Settings { timeout: Duration::from_secs(20), ..Settings::default() };
        let wire = Wire { carries: 4096, ..Wire::default() };
        Job { size: 3 }.run(&wire, |bootstrap, member| {
            member.taken = (bootstrap.rank() == Rank(1)).then_some(GROUPS[0]);
            let note = bootstrap.rank().0 as u8;
            let outcome = gather(bootstrap, member, (groups, order), &settings, &[note]);
            if let Ok(Gathered { notes, .. }) = &outcome {
                assert_eq!(*notes, [[0], [1], [2]], "all have heard what each has noted");
            }
            let works = outcome.map(|gathered| gathered.works);
            (works.map_err(|error| error.to_string()), member.group)
        })
    }

    #[test]
    fn a_group_that_others_use_is_left_for_another_one_by_all() {
        for outcome in gathered(&GROUPS) {
            assert_eq!(outcome, (Ok(true), Some(GROUPS[1])));
        }
    }

    #[test]
    fn the_last_group_is_shared_with_others() {
        for outcome in gathered(&GROUPS[..1]) {
            assert_eq!(outcome, (Ok(true), Some(GROUPS[0])));
        }
    }
}
