//! What a rank knows of the others of its communicator.

use crate::rdma::ids::ProcessId;
use crate::rdma::memory::Exposed;
use crate::rdma::rc::ConnectionPool;
use std::collections::HashSet;
use verbcast_core::rank::Rank;

/// What this rank knows of another.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    pub process: ProcessId,
    pub exposed: Exposed,
    /// Bytes of a slot of its ring.
    pub slot_len: usize,
}

/// All ranks of a communicator.
#[derive(Debug)]
pub struct Peers {
    by_rank: Vec<Peer>,
    /// Ranks with a connection, and the number of the endpoint's connections when they were looked for.
    connected: Vec<Rank>,
    connections: usize,
    /// Ranks that have left.
    departed: HashSet<Rank>,
}

impl Peers {
    /// With what is known of each rank.
    pub fn new(by_rank: Vec<Peer>) -> Self {
        Peers { by_rank, connected: Vec::new(), connections: 0, departed: HashSet::new() }
    }

    /// Ranks in all.
    pub fn count(&self) -> usize {
        self.by_rank.len()
    }

    pub fn get(&self, rank: Rank) -> &Peer {
        &self.by_rank[rank.index()]
    }

    pub fn iter(&self) -> impl Iterator<Item = (Rank, &Peer)> {
        (0..).map(Rank).zip(&self.by_rank)
    }

    /// A rank has left.
    pub fn depart(&mut self, rank: Rank) {
        self.departed.insert(rank);
    }

    /// Whether a rank has left.
    pub fn has_departed(&self, rank: Rank) -> bool {
        self.departed.contains(&rank)
    }

    /// Looks for the ranks with a connection, if there are more connections than before.
    pub fn look_at(&mut self, connections: &ConnectionPool) {
        if self.connections == connections.count() {
            return;
        }
        let is_connected = |(_, peer): &(Rank, &Peer)| connections.exists(peer.process);
        let connected = self.iter().filter(is_connected).map(|(rank, _)| rank).collect();
        self.connected = connected;
        self.connections = connections.count();
    }

    /// The ranks with a connection when they were [looked for](Self::look_at).
    pub fn connected(&self) -> &[Rank] {
        &self.connected
    }
}
