//! Which ranks share memory, and the memory that they share.

use crate::bootstrap::{Bootstrap, VoteError, vote};
use crate::rdma::node::{Memory, NodeSeat, Ring};
use crate::rdma::settings::{Multicast, Settings};
use verbcast_core::node::Nodes;
use verbcast_core::wire::{HEADER_LEN, Introduction, NodeMemory, NodeOffer};

/// What this rank says of its host.
pub fn offer(settings: &Settings, host: [u8; 16]) -> NodeOffer {
    let is_used = settings.multicast != Multicast::Off;
    let most = if is_used { settings.nodes.most() } else { 0 };
    // Who cannot tell in which process space it is shares nothing.
    match process_space().filter(|_| most > 1) {
        Some(space) => NodeOffer { host, space, most },
        None => NodeOffer { host, ..NodeOffer::default() },
    }
}

/// The nodes that ranks offer to share, the same at every rank.
pub fn offered(all: &[Introduction]) -> Nodes {
    let offers: Vec<NodeOffer> = all.iter().map(|one| one.node).collect();
    Nodes::of(&offers)
}

/// What stands for the processes that this one can name: the namespace of their numbers.
fn process_space() -> Option<u64> {
    let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
    let digits: String = link.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Makes memory for packets of so many bytes; none if that cannot be, which keeps nobody from going on without.
pub fn make(settings: &Settings, packet_len: usize, nonce: u64) -> Option<Memory> {
    // Datagrams that their payload fills are published with whole headers.
    let slot_len = (packet_len + HEADER_LEN) as u32;
    let made = Memory::new(settings.depths.node_slots(), slot_len, nonce);
    made.map_err(|what| tracing::warn!("{what}")).ok()
}

/// Finds the memory of the nodes that ranks have offered to share: what the lowest rank of each has made. Collective. The nodes,
/// the same at every rank, and this rank's part in its own.
pub fn share(
    bootstrap: &mut dyn Bootstrap,
    all: &[Introduction],
    (mut nodes, made): (Nodes, Option<Memory>),
    settings: &Settings,
) -> Result<(Nodes, Option<NodeSeat>), VoteError> {
    let rank = bootstrap.rank();
    if nodes.shared().is_empty() {
        return Ok((nodes, None));
    }
    let lead = nodes.lead(rank);
    let is_shared = nodes.shared().contains(&lead);
    let ring = match &made {
        _ if !is_shared => Ok(None),
        Some(made) if lead == rank => made.ring(nodes.members(lead).len()).map(Some),
        _ => find(all[lead.index()].memory.as_ref()).map(Some),
    };
    let why = ring.as_ref().err().map_or(&b""[..], |why| why.as_bytes());
    let refusals = vote(bootstrap, Ok(why))?;
    for lead in nodes.shared() {
        let refused =
            nodes.members(lead).iter().copied().find(|mate| !refusals[mate.index()].is_empty());
        let Some(refused) = refused else { continue };
        if rank == lead {
            let why = String::from_utf8_lossy(&refusals[refused.index()]);
            tracing::warn!("the ranks of this host share no memory, for {refused}: {why}");
        }
        nodes.split(lead);
    }
    // Until here, where all have voted, the mates could open it.
    drop(made);
    let ring = ring.ok().flatten();
    let is_shared = nodes.shared().contains(&nodes.lead(rank));
    let queue = settings.depths.receive;
    let seat = ring.filter(|_| is_shared).map(|ring| NodeSeat::new(ring, &nodes, rank, queue));
    Ok((nodes, seat))
}

/// Opens the memory that the lowest rank of the node has made, as that tells.
fn find(told: Option<&NodeMemory>) -> Result<Ring, String> {
    Memory::open(told.ok_or_else(|| "the lowest of them could make none".to_owned())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rdma::settings::NodeSharing;

    #[test]
    fn who_uses_no_multicast_or_wants_none_offers_nothing() {
        let with = |nodes, multicast| {
            let settings = Settings { nodes, multicast, ..Settings::default() };
            offer(&settings, [1; 16]).most
        };
        let shared = NodeSharing::Shared { most: 4 };
        assert_eq!(with(shared, Multicast::Require), 4);
        assert_eq!(with(shared, Multicast::Off), 0);
        assert_eq!(with(NodeSharing::Flat, Multicast::Require), 0);
        assert_eq!(with(NodeSharing::Auto, Multicast::Off), 0);
        assert_eq!(with(NodeSharing::Auto, Multicast::Require), u16::MAX);
    }
}
