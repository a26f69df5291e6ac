//! Further rails of a communicator that has its first one.
//!
//! Each is made as the first was, on a port of its own, with the same key, since what is sent over one is of the same
//! communicator as what is sent over another. What is agreed on for all is what the least of them can.

use super::establish::{Agreed, Description, establish_rail};
use super::preparation::{First, Origin};
use super::shared::SharedEndpoint;
use crate::bootstrap::{Bootstrap, VoteError, vote};
use crate::rdma::settings::Settings;
use crate::rdma::transport::RdmaTransport;
use verbcast_core::rank::Rank;
use verbcast_core::transport::Rails;

/// One rail.
pub type Made = (RdmaTransport, Agreed, Description);

/// The rails that these settings want besides the first one, on ports of their own or on those of an endpoint. Collective.
///
/// # Errors
/// The same at every rank, if one of them has no port for a rail, or one rail has multicast and another has none; as
/// [`establish`](super::establish) for the rest.
pub fn add_rails(
    bootstrap: &mut dyn Bootstrap,
    (first, agreed): (&RdmaTransport, &Agreed),
    endpoint: Option<&SharedEndpoint>,
    settings: &Settings,
    peers: &[Rank],
) -> Result<Vec<Made>, VoteError> {
    let Agreed { key, mac, multicast, .. } = *agreed;
    let mut others: Vec<Made> = Vec::new();
    for rail in 1..settings.rails {
        let shared = endpoint.map(|endpoint| endpoint.rail(rail));
        let origin = shared.as_ref().map_or(Origin::Own(None), Origin::Shared);
        let (own, known) = (settings.of_rail(rail), Some(First { key, mac }));
        let made = establish_rail(bootstrap, origin, &own, peers, known)?;
        if made.1.multicast != multicast {
            let (with, without) = if multicast { (1, rail + 1) } else { (rail + 1, 1) };
            let what = format!("rail {without} has no multicast, and rail {with} has");
            return Err(VoteError::Refused(vec![(Rank(0), what)]));
        }
        others.push(made);
    }
    if !others.is_empty() {
        let joined = others.iter().try_for_each(|(rail, ..)| first.wait_for_rail(rail));
        let joined = joined.map(|()| Vec::new()).map_err(|error| error.to_string());
        vote(bootstrap, joined.as_deref().map_err(String::as_str))?;
    }
    Ok(others)
}

/// Makes one of all rails, with what all of them have in common.
pub fn join(
    (first, mut agreed, mut description): Made,
    others: Vec<Made>,
) -> (Rails<RdmaTransport>, Agreed, Description) {
    let mut rails = Vec::new();
    for (rail, Agreed { packet_len, whole, .. }, of_rail) in others {
        agreed.packet_len = packet_len.min(agreed.packet_len);
        agreed.whole &= whole;
        description.add(&of_rail);
        rails.push(rail);
    }
    let mut rails = Rails::new(first, rails);
    rails.iter_mut().for_each(|rail| rail.level(agreed.packet_len, agreed.whole));
    (rails, agreed, description)
}
