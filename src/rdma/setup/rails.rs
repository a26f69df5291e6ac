//! Further rails of a communicator that has its first one.
//!
//! Each is made as the first was, on a port of its own, with the same key, since what is sent over one is of the same
//! communicator as what is sent over another. What is agreed on for all is what the least of them can.

use super::establish::{Agreed, Description, First, establish_rail};
use super::preparation::Origin;
use super::shared::SharedEndpoint;
use crate::bootstrap::{Bootstrap, VoteError, vote};
use crate::rdma::settings::Settings;
use crate::rdma::transport::RdmaTransport;
use verbcast_core::rank::Rank;
use verbcast_core::transport::Rails;

/// One rail.
pub type Made = (RdmaTransport, Agreed, Description);

/// Adds the rails that these settings want to the first one, on ports of their own or on those of an endpoint. Collective.
///
/// # Errors
/// The same at every rank, if one of them has no port for a rail, or one rail has multicast and another has none; as
/// [`establish`](super::establish) for the rest.
pub fn add_rails(
    bootstrap: &mut dyn Bootstrap,
    first: Made,
    endpoint: Option<&SharedEndpoint>,
    settings: &Settings,
    peers: &[Rank],
) -> Result<Vec<Made>, VoteError> {
    let (_, Agreed { key, mac, multicast, .. }, _) = first;
    let mut all = vec![first];
    for rail in 1..settings.rails {
        let shared = endpoint.map(|endpoint| endpoint.rail(rail));
        let origin = shared.as_ref().map_or(Origin::Own(None), Origin::Shared);
        let (own, first) = (settings.of_rail(rail), Some(First { key, mac }));
        let made = establish_rail(bootstrap, origin, &own, peers, first)?;
        if made.1.multicast != multicast {
            let (with, without) = if multicast { (1, rail + 1) } else { (rail + 1, 1) };
            let what = format!("rail {without} has no multicast, and rail {with} has");
            return Err(VoteError::Refused(vec![(Rank(0), what)]));
        }
        all.push(made);
    }
    if let [(first, ..), others @ ..] = &all[..]
        && !others.is_empty()
    {
        let joined = others.iter().try_for_each(|(rail, ..)| first.wait_for_rail(rail));
        let joined = joined.map(|()| Vec::new()).map_err(|error| error.to_string());
        vote(bootstrap, joined.as_deref().map_err(String::as_str))?;
    }
    Ok(all)
}

/// Makes one of all rails, with what all of them have in common.
///
/// # Panics
/// Without any.
pub fn join(all: Vec<Made>) -> (Rails<RdmaTransport>, Agreed, Description) {
    let packet_len = all.iter().map(|(_, agreed, _)| agreed.packet_len).min().unwrap_or_default();
    let whole = all.iter().all(|(_, agreed, _)| agreed.whole);
    let agreed = Agreed { packet_len, whole, ..all[0].1 };
    let mut description = all[0].2.clone();
    all[1..].iter().for_each(|(.., rail)| description.add(rail));
    let mut rails: Vec<_> = all.into_iter().map(|(rail, ..)| rail).collect();
    rails.iter_mut().for_each(|rail| rail.level(packet_len, whole));
    (Rails::new(rails), agreed, description)
}
