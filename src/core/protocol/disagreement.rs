//! In what the sender of a packet can disagree with this rank about an operation.

use super::{Fragments, Incoming, Via};
use crate::rank::Rank;
use crate::wire::Header;

/// In the length of the message, if the packet tells it.
pub(super) fn in_length(packet: &Incoming, cut: &Fragments) -> Option<String> {
    let (theirs, ours) = (packet.message_len, cut.message_len());
    (theirs != ours as u64 && theirs != Header::UNTOLD)
        .then(|| format!("it broadcasts {theirs} bytes where this rank expects {ours}"))
}

/// In who is root, since only the root multicasts.
pub(super) fn in_root(packet: &Incoming, root: Rank) -> Option<String> {
    let is_other = packet.via == Via::Multicast && packet.source != root;
    is_other.then(|| format!("it is root itself where this rank expects {root}"))
}
