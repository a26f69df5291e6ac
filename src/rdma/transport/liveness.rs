//! A communicator's connections: who is there, and who is gone.

use super::RdmaTransport;
use super::peers::Peer;
use crate::rdma::endpoint::failed;
use verbcast_core::rank::Rank;
use verbcast_core::time::Instant;
use verbcast_core::transport::{Liveness, TransportError};

impl Liveness for RdmaTransport {
    fn connect(&mut self, peer: Rank) -> Result<(), TransportError> {
        self.open(self.now, peer)
    }

    fn is_connected(&self, peer: Rank) -> bool {
        self.endpoint.see().connections.is_connected(self.process(peer))
    }

    fn connected(&self) -> Vec<Rank> {
        let endpoint = self.endpoint.see();
        let is_known = |(_, peer): &(Rank, &Peer)| endpoint.connections.exists(peer.process);
        self.peers.iter().filter(is_known).map(|(rank, _)| rank).collect()
    }

    fn probe(&mut self, peer: Rank) -> Result<(), TransportError> {
        let process = self.process(peer);
        let mut endpoint = self.endpoint.hold();
        endpoint.open(self.now, process)?;
        endpoint.connections.probe(process, Some(self.channel)).map_err(failed)
    }

    fn disconnect(&mut self, now: Instant, peer: Rank) {
        self.peers.depart(peer);
        let process = self.process(peer);
        self.endpoint.hold().part(now, self.channel, process);
    }
}
