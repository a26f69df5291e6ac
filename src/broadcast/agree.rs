//! What ranks settle before there is a communicator.

use super::{Config, Error};
use crate::bootstrap::{Bootstrap, VoteError, read_all, vote};
use crate::rdma::Multicast;
use verbcast_core::protocol::ring_peers;
use verbcast_core::rank::Rank;
use verbcast_core::wire::Terms;

/// Ranks among which all are connected when the communicator is made, where the protocols join more than
/// neighbours on the ring. Among more, a rank that fails before another has ever spoken to it is noticed
/// by its neighbours alone, when they call.
const ALL_CONNECTED: u32 = 32;

/// The ranks that `me` is connected with from the beginning.
pub(super) fn first_peers(me: Rank, size: u32, config: &Config) -> Vec<Rank> {
    let multicasts = config.device.multicast == Multicast::Require;
    if size > ALL_CONNECTED || multicasts && config.protocol.keeps_to_the_ring(size) {
        ring_peers(me, size)
    } else {
        (0..size).map(Rank).filter(|rank| *rank != me).collect()
    }
}

/// Makes sure that all ranks have the settings that must be the same, and returns them with a ring that is as deep as
/// all ranks have room for, and as the window needs.
pub(super) fn agree(
    bootstrap: &mut dyn Bootstrap,
    config: &Config,
    room: u32,
) -> Result<Config, Error> {
    let terms = Terms { common: config.common(), ring: room };
    let terms = config.validate().map(|()| terms.emit()).map_err(|error| error.to_string());
    let ballots = vote(bootstrap, terms.as_ref().map(Vec::as_slice).map_err(String::as_str))?;
    let all = read_all(&ballots, Terms::parse)?;
    let differing = (0..).map(Rank).zip(&all).find(|(_, terms)| terms.common != all[0].common);
    match differing {
        None => {
            let mut config = config.clone();
            let room = all.iter().map(|terms| terms.ring).min().unwrap_or(room);
            let ring = room.max(config.protocol.window.unwrap_or(room));
            config.device.depths.ring = ring;
            Ok(config)
        }
        Some((rank, terms)) => {
            let what = differences(&terms.common, &all[0].common);
            Err(Error::Setup(VoteError::Refused(vec![(rank, what)])))
        }
    }
}

/// In which lines a rank's settings differ from those of rank 0.
fn differences(own: &str, first: &str) -> String {
    let pairs = own.lines().zip(first.lines()).filter(|(own, first)| own != first);
    let texts: Vec<_> =
        pairs.map(|(own, first)| format!("has {own}, but rank 0 has {first}")).collect();
    match texts.is_empty() {
        true => "has other settings than rank 0".to_owned(),
        false => texts.join("; "),
    }
}
