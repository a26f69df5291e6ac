//! What ranks settle before there is a communicator.

use super::{Config, Error};
use crate::bootstrap::{Bootstrap, VoteError, vote};
use crate::rdma::Multicast;
use verbcast_core::protocol::ring_peers;
use verbcast_core::rank::Rank;

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

/// Makes sure that all ranks have the settings that must be the same.
pub(super) fn agree(bootstrap: &mut dyn Bootstrap, config: &Config) -> Result<(), Error> {
    let valid = config.validate().map(|()| config.common()).map_err(|error| error.to_string());
    let ballot = valid.as_ref().map(String::as_bytes).map_err(String::as_str);
    let all = vote(bootstrap, ballot)?;
    let differing = (0..).map(Rank).zip(&all).find(|(_, common)| **common != all[0]);
    match differing {
        None => Ok(()),
        Some((rank, common)) => {
            let what = differences(common, &all[0]);
            Err(Error::Setup(VoteError::Refused(vec![(rank, what)])))
        }
    }
}

/// In which lines a rank's settings differ from those of rank 0.
fn differences(own: &[u8], first: &[u8]) -> String {
    let [own, first] = [own, first].map(String::from_utf8_lossy);
    let pairs = own.lines().zip(first.lines()).filter(|(own, first)| own != first);
    let texts: Vec<_> =
        pairs.map(|(own, first)| format!("has {own}, but rank 0 has {first}")).collect();
    match texts.is_empty() {
        true => "has other settings than rank 0".to_owned(),
        false => texts.join("; "),
    }
}
