//! Gathering the ranks of a communicator in a group that works, collectively.

use super::enter::enter;
use super::member::Member;
use super::order::JoinOrder;
use super::prove::{Proof, prove};
use crate::bootstrap::{Bootstrap, VoteError, vote};
use crate::rdma::settings::{Multicast, Settings};
use verbcast_core::rank::Rank;
use verbcast_core::wire::GroupAddress;

/// Joins one of these groups in this order, and proves it; whether there is one that works. The
/// outcome is the same at every rank.
pub fn gather(
    bootstrap: &mut dyn Bootstrap,
    member: &mut impl Member,
    (groups, order): (&[GroupAddress], JoinOrder),
    settings: &Settings,
) -> Result<bool, VoteError> {
    match try_gather(bootstrap, member, (groups, order), settings) {
        Ok(()) => Ok(true),
        Err(error @ VoteError::Refused(_)) if settings.multicast == Multicast::Prefer => {
            let gone = member.go_without().map(|()| [].as_slice());
            vote(bootstrap, gone.as_deref().map_err(String::as_str))?;
            if bootstrap.rank() == Rank(0) {
                tracing::warn!("going on without multicast: {error}");
            }
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

fn try_gather(
    bootstrap: &mut dyn Bootstrap,
    member: &mut impl Member,
    (groups, order): (&[GroupAddress], JoinOrder),
    settings: &Settings,
) -> Result<(), VoteError> {
    for (draw, address) in groups.iter().enumerate() {
        let _span = tracing::info_span!("group", %address).entered();
        member.leave();
        enter(bootstrap, member, *address, order, settings.timeout)?;
        // A group that is shared is the only one here.
        let is_last = draw + 1 == groups.len();
        match prove(bootstrap, member, &address.to_string(), settings, is_last)? {
            Proof::Works => return Ok(()),
            Proof::Taken => tracing::info!("group {address} is in use by others; drawing another"),
        }
    }
    Ok(())
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
            let outcome = gather(bootstrap, member, (groups, order), &settings);
            (outcome.map_err(|error| error.to_string()), member.group)
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
