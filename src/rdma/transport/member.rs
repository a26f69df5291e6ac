//! A communicator's transport as a member of its group.

use super::{RdmaTransport, Seat};
use crate::rdma::endpoint::failed;
use crate::rdma::group::{DEFAULT_QKEY, Heard, JoinError, Member, PortSpeed};
use crate::rdma::memory::Source;
use crate::rdma::packet::own_header;
use std::time::Duration;
use verbcast_core::rank::Rank;
use verbcast_core::time::Instant;
use verbcast_core::transport::{Arrival, Park, Transport, TransportError};
use verbcast_core::wire::{GroupAddress, HEADER_LEN, Kind};

impl RdmaTransport {
    /// Receives what is sent to the group, or lets a node mate do that.
    pub fn listen(&mut self) -> Result<(), TransportError> {
        let Some(group) = self.group else { return Ok(()) };
        let now = self.now;
        let listened = self.endpoint.hold().listen(self.channel, group, now);
        if listened.is_err() {
            self.group = None;
            self.endpoint.hold().datagrams.leave(group);
        }
        listened
    }
}

impl Member for RdmaTransport {
    fn join(
        &mut self,
        group: (GroupAddress, PortSpeed),
        patience: Duration,
    ) -> Result<(), JoinError> {
        let mut endpoint = self.endpoint.hold();
        self.group = endpoint.datagrams.share(group.0);
        let joiner = endpoint.site.joiner.clone();
        drop(endpoint);
        if self.group.is_none() {
            // Others may use the endpoint while the fabric is asked.
            let joined = joiner.join(group, patience)?;
            let entered = self.endpoint.hold().enter(joined);
            self.group = Some(entered.map_err(JoinError::Never)?);
        }
        self.listen().map_err(|error| JoinError::Never(error.to_string()))
    }

    fn leave(&mut self) {
        if let Some(group) = self.group.take() {
            let mut endpoint = self.endpoint.hold();
            endpoint.unlisten(self.channel, group);
            endpoint.datagrams.leave(group);
        }
    }

    fn go_without(&mut self) -> Result<(), String> {
        self.leave();
        self.endpoint.hold().set_qkey(DEFAULT_QKEY)
    }

    fn packet_len(&self) -> usize {
        self.seat.packet_len
    }

    fn limit_packet_len(&mut self, packet_len: usize) {
        self.seat.packet_len = packet_len;
        self.fragment_len = packet_len - HEADER_LEN;
        let mut endpoint = self.endpoint.hold();
        endpoint.set_whole(self.channel, packet_len);
        for (_, peer) in self.peers.iter() {
            endpoint.connections.limit_mtu(peer.process, packet_len);
        }
    }

    fn send_probe(&mut self, len: usize) -> Result<(), TransportError> {
        let payload = vec![0; len - HEADER_LEN];
        let Seat { rank, key, mac, .. } = self.seat;
        let header = own_header(Kind::Probe, key, rank, &payload, mac.as_ref());
        if let Some(group) = self.group {
            let mut endpoint = self.endpoint.hold();
            endpoint.publish(self.channel, &header, &payload);
            let payload = Source::Bytes(&payload);
            // Without a slot it is as if the probe were lost.
            endpoint.datagrams.multicast(group, &header, payload).map_err(failed)?;
        }
        Ok(())
    }

    fn receive(&mut self, now: Instant) -> Result<bool, TransportError> {
        match self.poll(now)? {
            Some(Arrival::Packet { buffer, .. }) => self.recycle(buffer).map(|()| true),
            Some(_) => Ok(true),
            None => Ok(false),
        }
    }

    fn wait(&mut self, idle: Duration, at_most: Duration) -> Result<(), TransportError> {
        self.park(idle, at_most)
    }

    fn is_beside(&self, rank: Rank) -> bool {
        let endpoint = self.endpoint.see();
        let own = endpoint.site.address.gid;
        let process = self.peers.iter().find(|(other, _)| *other == rank);
        process.is_some_and(|(_, peer)| endpoint.connections.address(peer.process).gid == own)
    }

    fn heard(&mut self) -> &mut Heard {
        &mut self.heard
    }

    fn foreign(&self) -> u64 {
        self.endpoint.see().channels.foreign() - self.foreign_before
    }
}
