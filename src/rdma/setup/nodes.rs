//! Which ranks share memory, and the memory that they share.

use super::crowd::crowded;
use crate::bootstrap::{Bootstrap, VoteError, vote};
use crate::rdma::node::{Memory, NodeSeat, Ring};
use crate::rdma::settings::{Multicast, NodeSharing, Settings};
use verbcast_core::node::Nodes;
use verbcast_core::wire::{HEADER_LEN, Introduction, NodeMemory, NodeOffer};

/// What this rank says of its host.
pub fn offer(settings: &Settings, host: [u8; 16]) -> NodeOffer {
    let is_used = settings.multicast != Multicast::Off;
    let most = if is_used { settings.nodes.most() } else { 0 };
    // Who cannot tell in which process space it is shares nothing.
    let if_crowded = settings.nodes == NodeSharing::Auto;
    match process_space().filter(|_| most > 1) {
        Some(space) => NodeOffer { host, space, most, if_crowded },
        None => NodeOffer { host, ..NodeOffer::default() },
    }
}

/// The nodes that ranks offer to share, the same at every rank: of some only if a device has too many ranks without.
pub fn offered(all: &[Introduction]) -> Nodes {
    let offers: Vec<NodeOffer> = all.iter().map(|one| one.node).collect();
    settle(&offers, |nodes| crowded(all, nodes).is_some())
}

fn settle(offers: &[NodeOffer], is_crowded: impl Fn(&Nodes) -> bool) -> Nodes {
    let wanted: Vec<NodeOffer> = offers.iter().map(|offer| offer.uncrowded()).collect();
    let nodes = Nodes::of(&wanted);
    if is_crowded(&nodes) { Nodes::of(offers) } else { nodes }
}

/// What stands for the processes that this one can name: the namespace of their numbers.
fn process_space() -> Option<u64> {
    let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
    let digits: String = link.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Makes the memory of the nodes that ranks have offered to share, and finds out where that works. Collective. The nodes, the same
/// at every rank, and this rank's part in its own.
pub fn share(
    bootstrap: &mut dyn Bootstrap,
    all: &[Introduction],
    mut nodes: Nodes,
    settings: &Settings,
) -> Result<(Nodes, Option<NodeSeat>), VoteError> {
    let rank = bootstrap.rank();
    if nodes.shared().is_empty() {
        return Ok((nodes, None));
    }
    let (is_lead, is_shared) =
        (nodes.lead(rank) == rank, nodes.shared().contains(&nodes.lead(rank)));
    let packet_len = all.iter().map(|one| one.address.packet_len).min().unwrap_or_default();
    let nonce = all[0].draw.key;
    let slots = settings.depths.node_slots();
    // Datagrams that their payload fills are published with whole headers.
    let slot_len = (packet_len + HEADER_LEN) as u32;
    let made = (is_lead && is_shared).then(|| Memory::new(slots, slot_len, nonce));
    let told = made.as_ref().map(|made| made.as_ref().map(|(memory, _)| memory.told().emit()));
    let told = match told {
        Some(Ok(told)) => told,
        // What goes wrong here keeps nobody from going on without.
        Some(Err(_)) | None => Vec::new(),
    };
    let told = vote(bootstrap, Ok(&told))?;
    let ring = match made {
        _ if !is_shared => Ok(None),
        Some(Ok((memory, ring))) => Ok(Some((ring, Some(memory)))),
        Some(Err(why)) => Err(why),
        None => find(&told[nodes.lead(rank).index()]).map(|ring| Some((ring, None))),
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
    // Its mates have opened the memory by now, so that its descriptor is needed no more.
    let ring = ring.ok().flatten().map(|(ring, _)| ring);
    let is_shared = nodes.shared().contains(&nodes.lead(rank));
    let queue = settings.depths.receive;
    let seat = ring.filter(|_| is_shared).map(|ring| NodeSeat::new(ring, &nodes, rank, queue));
    Ok((nodes, seat))
}

/// Opens the memory that the lowest rank of the node has made, as that tells.
fn find(told: &[u8]) -> Result<Ring, String> {
    if told.is_empty() {
        return Err("the lowest of them could make none".to_owned());
    }
    let told = NodeMemory::parse(told).map_err(|error| error.to_string())?;
    Memory::open(&told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbcast_core::rank::Rank;

    #[test]
    fn some_share_memory_only_where_they_are_too_many() {
        let of = |most, if_crowded| NodeOffer { host: [1; 16], space: 1, most, if_crowded };
        let offers = [of(9, true), of(9, true), of(0, false), of(9, false), of(9, false)];
        let mates = |nodes: &Nodes| {
            [(0, 1), (0, 2), (0, 3), (3, 4)]
                .map(|(one, other)| nodes.are_mates(Rank(one), Rank(other)))
        };
        assert_eq!(mates(&settle(&offers, |_| false)), [false, false, false, true]);
        let may_be = |nodes: &Nodes| nodes.are_mates(Rank(3), Rank(4));
        assert_eq!(mates(&settle(&offers, may_be)), [true, false, true, true]);
    }

    #[test]
    fn who_uses_no_multicast_or_wants_none_offers_nothing() {
        let with = |nodes, multicast| {
            let settings = Settings { nodes, multicast, ..Settings::default() };
            offer(&settings, [1; 16])
        };
        let shared = NodeSharing::Shared { most: 4 };
        assert_eq!(with(shared, Multicast::Require).uncrowded().most, 4);
        assert_eq!(with(shared, Multicast::Off).most, 0);
        assert_eq!(with(NodeSharing::Flat, Multicast::Require).most, 0);
        assert_eq!(with(NodeSharing::Auto, Multicast::Off).most, 0);
        let auto = with(NodeSharing::Auto, Multicast::Require);
        assert_eq!((auto.most, auto.uncrowded().most), (u16::MAX, 0));
    }
}
