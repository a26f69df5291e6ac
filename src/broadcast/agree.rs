//! What ranks settle before there is a communicator.

use super::{Config, ConfigError, Error};
use crate::bootstrap::{Bootstrap, VoteError, vote};
use crate::rdma::Multicast;
use sha2::{Digest, Sha256};
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

/// The terms of a rank that has room for a ring of so many slots.
///
/// # Errors
/// If its settings contradict each other.
pub(super) fn terms(config: &Config, room: u32) -> Result<Terms, ConfigError> {
    config.validate()?;
    let hash: [u8; 32] = Sha256::digest(config.common()).into();
    let common = u64::from_be_bytes(std::array::from_fn(|at| hash[at]));
    let ring = room.max(config.protocol.window.unwrap_or(room));
    Ok(Terms { ring, common })
}

/// Makes sure that all ranks have the settings that must be the same, and returns them with a ring that is as deep as
/// all ranks have room for, and as the window needs. Where they differ, the ranks tell one another their settings.
pub(super) fn agree(
    bootstrap: &mut dyn Bootstrap,
    config: &Config,
    all: &[Terms],
) -> Result<Config, Error> {
    if all.iter().any(|terms| terms.common != all[0].common) {
        return Err(disagreement(bootstrap, config)?);
    }
    let mut config = config.clone();
    config.device.depths.ring = all.iter().map(|terms| terms.ring).min().unwrap_or_default();
    Ok(config)
}

/// Who has which other settings than rank 0.
fn disagreement(bootstrap: &mut dyn Bootstrap, config: &Config) -> Result<Error, Error> {
    let texts = vote(bootstrap, Ok(config.common().as_bytes()))?;
    let texts: Vec<_> = texts.iter().map(|text| String::from_utf8_lossy(text)).collect();
    let others = (0..).map(Rank).zip(&texts);
    let differing = others.filter(|(_, text)| **text != texts[0]);
    let refusals = differing.map(|(rank, text)| (rank, differences(text, &texts[0])));
    Ok(Error::Setup(VoteError::Refused(refusals.take(1).collect())))
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
