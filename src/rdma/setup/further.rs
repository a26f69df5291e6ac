//! A further communicator of the ranks of another one, on the same endpoint.
//!
//! The two have the same processes in the same order, so all that is to be told is where the memory of the further one is.
//! Its keys follow from those of the other one and from how many there were, which all ranks count alike. So it is known to
//! the endpoint before anything is exchanged, and whoever has heard all others may send at once.

use super::establish::{Agreed, Description, describe};
use crate::rdma::endpoint::Access;
use crate::rdma::memory::{Exposed, Memory};
use crate::rdma::node::{self, Membership, NodeSeat};
use crate::rdma::settings::Settings;
use crate::rdma::transport::{Peer, RdmaTransport, Seat};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use verbcast_core::protocol::Depths;
use verbcast_core::rank::Rank;
use verbcast_core::wire::{Exposure, GroupAddress, Key};

/// This rank's part of a further communicator, before the others have told theirs.
#[derive(Debug)]
pub struct Further {
    transport: RdmaTransport,
    agreed: Agreed,
    node: NodePart,
}

/// This rank's part in its node, before the others have told theirs.
#[derive(Debug)]
enum NodePart {
    /// It shares none.
    None,
    /// It has made the memory, which mates can open as long as it is kept.
    Lead(node::Memory),
    /// The lowest rank there has. Mates hear what is sent to this group when they have found the memory; until then the lowest of
    /// them does for all.
    Mate(Membership, Option<GroupAddress>),
}

impl Further {
    /// Prepares the `number`-th further communicator of that of `other`, on which this was agreed, with a ring of `window`
    /// slots at least.
    ///
    /// # Errors
    /// If that one does not share its device, or memory for a further one runs out.
    pub fn new(
        other: &mut RdmaTransport,
        agreed: &Agreed,
        number: u64,
        window: Option<u32>,
    ) -> Result<Self, String> {
        let Access::Shared(endpoint) = &other.endpoint else {
            return Err("has an endpoint for one communicator only".to_owned());
        };
        let mut endpoint = Access::Shared(Arc::clone(endpoint));
        let mut held = endpoint.hold();
        let room = held.settings.ring_among(held.channels.open_count());
        let ring = room.min(other.ring_len()).max(window.unwrap_or(1));
        let depths = Depths { ring, ..other.settings.depths };
        let settings = Settings { depths, ..other.settings.clone() };
        let size = other.peers.count() as u32;
        let packet_len = held.site.address.packet_len;
        let memory = Memory::new(held.device.domain(), packet_len, size, &settings);
        let memory = memory.map_err(|error| error.to_string())?;
        let (key, seed) = derive(agreed.key, number);
        let mac = agreed.mac.map(|mac| mac.further(number));
        let seat = Seat { key, mac, ..other.seat };
        let processes = other.peers.iter().map(|(_, peer)| peer.process).collect();
        let channel = held.open_channel((key, seat.rank, mac), processes, &memory)?;
        let shared = held.node(other.channel).map(|seat| (seat.membership(), seat.slot_len()));
        let address = other.group.map(|group| held.datagrams.groups().get(group).address);
        // The others' memory is filled in when they have told of it.
        let peer = |(_, peer): (Rank, &Peer)| Peer {
            slot_len: held.connections.address(peer.process).packet_len,
            ..*peer
        };
        let peers = other.peers.iter().map(peer).collect();
        drop(held);
        let mut transport = RdmaTransport::new(endpoint, channel, memory, (seat, peers), settings);
        let node = take_part(&mut transport, shared, address)?;
        if !matches!(node, NodePart::Mate(..)) {
            listen(&mut transport, address)?;
        }
        // Its ranks have not told which tags are free.
        let agreed = Agreed { key, mac, seed, whole: false, ..*agreed };
        Ok(Further { transport, agreed, node })
    }

    /// What this rank tells the others.
    pub fn exposure(&self) -> Exposure {
        let memory = &self.transport.memory;
        let (ring, cells) = memory.exposed();
        let node = match &self.node {
            NodePart::Lead(memory) => Some(memory.told()),
            NodePart::None | NodePart::Mate(..) => None,
        };
        Exposure { ring, cells, slots: memory.ring_len(), node }
    }

    /// Finds the memory of this rank's node, when all ranks have told theirs. If [any has some](shares_memory), all are to say whether
    /// they have before it is completed.
    ///
    /// # Errors
    /// If that is not there, or cannot be opened: a sentence that says why.
    pub fn join_node(&mut self, all: &[Exposure]) -> Result<(), String> {
        let NodePart::Mate(membership, group) = &self.node else { return Ok(()) };
        let told = all.get(membership.lead().index()).and_then(|lead| lead.node.as_ref());
        let told = told.ok_or("the lowest rank of its node has made no memory")?;
        let ring = node::Memory::open(told)?;
        let queue = self.transport.settings.depths.receive;
        self.transport.share(Some(NodeSeat::at(ring, membership.clone(), queue)));
        listen(&mut self.transport, *group)
    }

    /// Makes it, when all ranks have told this.
    pub fn complete(self, all: &[Exposure]) -> (RdmaTransport, Agreed, Description) {
        let Further { mut transport, agreed, .. } = self;
        let exposed = all.iter().map(|one| Exposed::new(one.ring, one.cells));
        let peers = transport.peers.iter().zip(exposed);
        let peers = peers.map(|((_, peer), exposed)| Peer { exposed, ..*peer }).collect();
        transport.set_peers(peers);
        transport.settings.depths.ring = all.iter().map(|one| one.slots).min().unwrap_or_default();
        transport.is_reached = true;
        let description = describe(&transport, all.len() as u32);
        (transport, agreed, description)
    }
}

/// Whether ranks of a host share memory in the further communicator.
pub fn shares_memory(all: &[Exposure]) -> bool {
    all.iter().any(|one| one.node.is_some())
}

/// Makes the memory of this rank's node, if it is the lowest rank there, for datagrams as long as in that of the other communicator.
fn take_part(
    transport: &mut RdmaTransport,
    shared: Option<(Membership, u32)>,
    group: Option<GroupAddress>,
) -> Result<NodePart, String> {
    let Some((membership, slot_len)) = shared else { return Ok(NodePart::None) };
    if !membership.is_lead() {
        return Ok(NodePart::Mate(membership, group));
    }
    let (depths, Key(nonce)) = (transport.settings.depths, transport.seat.key);
    let memory = node::Memory::new(depths.node_slots(), slot_len, nonce)?;
    let ring = memory.ring(membership.ranks())?;
    transport.share(Some(NodeSeat::at(ring, membership, depths.receive)));
    Ok(NodePart::Lead(memory))
}

/// Receives what is sent to the group of the other communicator, if that has one.
fn listen(transport: &mut RdmaTransport, group: Option<GroupAddress>) -> Result<(), String> {
    transport.group = group.and_then(|group| transport.endpoint.hold().datagrams.share(group));
    transport.listen().map_err(|error| error.to_string())
}

/// The key of the `number`-th further communicator of another one, and its seed.
fn derive(Key(key): Key, number: u64) -> (Key, u64) {
    let mut hash = Sha256::new();
    hash.update(b"verbcast further");
    hash.update(key.to_be_bytes());
    hash.update(number.to_be_bytes());
    let hash: [u8; 32] = hash.finalize().into();
    let part = |from: usize| u64::from_be_bytes(std::array::from_fn(|at| hash[from + at]));
    (Key(part(0)), part(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_further_communicator_has_a_key_and_a_seed_of_its_own() {
        let all: Vec<_> = [(1, 1), (1, 2), (2, 1), (2, 2)]
            .into_iter()
            .flat_map(|(key, number)| {
                let (Key(key), seed) = derive(Key(key), number);
                [key, seed]
            })
            .collect();
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(derive(Key(1), 1), derive(Key(1), 1));
    }
}
