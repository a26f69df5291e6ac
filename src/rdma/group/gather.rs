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
