//! A further communicator of the ranks of another one, on the same endpoint.
//!
//! The two have the same processes in the same order, so all that is to be told is where the memory of the further one is.
//! Its keys follow from those of the other one and from how many there were, which all ranks count alike. So it is known to
//! the endpoint before anything is exchanged, and whoever has heard all others may send at once.

use super::establish::{Agreed, Description, describe};
use crate::rdma::endpoint::Access;
use crate::rdma::memory::{Exposed, Memory};
use crate::rdma::settings::Settings;
use crate::rdma::transport::{Peer, RdmaTransport, Seat};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use verbcast_core::protocol::Depths;
use verbcast_core::rank::Rank;
use verbcast_core::wire::{Exposure, Key};

/// This rank's part of a further communicator, before the others have told theirs.
#[derive(Debug)]
pub struct Further {
    transport: RdmaTransport,
    agreed: Agreed,
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
        let address = other.group.map(|group| held.datagrams.groups().get(group).address);
        let group = address.and_then(|address| held.datagrams.share(address));
        // The others' memory is filled in when they have told of it.
        let peer = |(_, peer): (Rank, &Peer)| Peer {
            slot_len: held.connections.address(peer.process).packet_len,
            ..*peer
        };
        let peers = other.peers.iter().map(peer).collect();
        drop(held);
        let mut transport = RdmaTransport::new(endpoint, channel, memory, (seat, peers), settings);
        transport.group = group;
        transport.listen().map_err(|error| error.to_string())?;
        // Each of its ranks receives for itself, for which there must be a group: none is there where all ranks share memory.
        let multicast = agreed.multicast && !other.is_one_node();
        // Its ranks have not told which tags are free.
        let agreed = Agreed { key, mac, seed, multicast, whole: false, ..*agreed };
        Ok(Further { transport, agreed })
    }

    /// What this rank tells the others.
    pub fn exposure(&self) -> Exposure {
        let memory = &self.transport.memory;
        let (ring, cells) = memory.exposed();
        Exposure { ring, cells, slots: memory.ring_len() }
    }

    /// Makes it, when all ranks have told this.
    pub fn complete(self, all: &[Exposure]) -> (RdmaTransport, Agreed, Description) {
        let Further { mut transport, agreed } = self;
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
