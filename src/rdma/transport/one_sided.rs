//! Sends from the ring, reports and fetches: what starts them.

use super::RdmaTransport;
use crate::rdma::endpoint::{Body, Event, failed};
use crate::rdma::memory::Source;
use crate::rdma::rc::{Pending, Place, Sender};
use verbcast_core::protocol::{Counter, Token};
use verbcast_core::rank::Rank;
use verbcast_core::transport::{Payload, TransportError};
use verbcast_core::wire::HEADER_LEN;
use verbcast_verbs::MAX_INLINE;

impl RdmaTransport {
    /// Sends the packet in a slot of the ring, which is this one, to the group.
    pub(super) fn multicast_slot(
        &mut self,
        slot: u32,
        header: &[u8; HEADER_LEN],
        payload: &Payload<'_>,
    ) -> Result<(), TransportError> {
        let payload = self.loans.bytes_of(payload)?;
        let mut endpoint = self.endpoint.hold();
        if self.is_seated && endpoint.publish(self.channel, header, payload) {
            return Ok(());
        }
        let Some(group) = self.group else { return Err(no_room("a multicast from the ring")) };
        let datagrams = &mut endpoint.datagrams;
        let is_sent = if HEADER_LEN + payload.len() <= MAX_INLINE {
            datagrams.multicast(group, header, Source::Bytes(payload))
        } else if datagrams.has_ring_room() {
            let kept = self.memory.ring.begin_datagram(slot);
            let sent = datagrams.multicast_from(group, (self.channel, slot), kept);
            endpoint.channels.begin(self.channel);
            sent.map(|()| true)
        } else {
            Ok(false)
        };
        match is_sent.map_err(failed)? {
            // Another thread may have taken the room; then it is as if the datagram were lost.
            false if !endpoint.is_shared => Err(no_room("a multicast from the ring")),
            _ => Ok(()),
        }
    }

    /// Sends the packet in a slot of the ring to a rank.
    pub(super) fn send_slot(
        &mut self,
        to: Rank,
        slot: u32,
        token: Token,
    ) -> Result<(), TransportError> {
        if !self.is_usable(to)? {
            return Ok(());
        }
        tracing::debug!(%to, slot, "sends again");
        let (process, channel) = (self.process(to), self.channel);
        let packet = self.memory.ring.begin(slot);
        let sender = Sender { channel, to, token };
        let mut endpoint = self.endpoint.hold();
        endpoint.channels.begin(channel);
        endpoint.connections.send_from_ring(process, sender, slot, packet).map_err(failed)
    }

    /// Writes a number into the memory of a rank; whether it is there already, as that is memory of this node.
    pub(super) fn write_report(
        &mut self,
        to: Rank,
        counter: Counter,
        value: u64,
    ) -> Result<bool, TransportError> {
        if !self.is_usable(to)? {
            return Ok(false);
        }
        if self.is_seated && self.endpoint.hold().report(self.channel, to, counter, value) {
            return Ok(true);
        }
        let span = self.memory.reports.begin(to, value);
        let peer = self.peers.get(to);
        let cell = peer.exposed.cell(self.seat.rank, counter);
        let pending = Pending::Report(self.channel, counter, span, cell);
        let mut endpoint = self.endpoint.hold();
        endpoint.channels.begin(self.channel);
        endpoint.connections.add(peer.process, pending).map_err(failed)?;
        Ok(false)
    }

    /// Reads a slot of the ring of a rank.
    pub(super) fn read_slot(
        &mut self,
        from: Rank,
        slot: u32,
        token: Token,
    ) -> Result<(), TransportError> {
        assert!(slot < self.settings.depths.ring, "slot {slot} of {}", self.settings.depths.ring);
        if !self.is_usable(from)? {
            return Ok(());
        }
        let peer = self.peers.get(from);
        let (process, exposed, slot_len) = (peer.process, peer.exposed, peer.slot_len);
        let place = Place { process, channel: self.channel, from, exposed, slot_len };
        let mut endpoint = self.endpoint.hold();
        let span = tracing::debug_span!("repair", %from, slot);
        if endpoint.connections.fetch(place, (slot, token), span) {
            return Ok(());
        }
        if !endpoint.is_shared {
            return Err(no_room(&format!("a fetch from {from}")));
        }
        // Another thread has taken the room: it is as if nothing had been found.
        let nothing = Event::Fetched { from, token, body: Body::Copy(Vec::new()) };
        endpoint.channels.tell(self.channel, nothing);
        Ok(())
    }

    /// Begins to connect with a rank where there is no connection; false where it is broken, or the rank
    /// has left.
    pub(super) fn is_usable(&mut self, rank: Rank) -> Result<bool, TransportError> {
        if self.peers.has_departed(rank) {
            return Ok(false);
        }
        let process = self.process(rank);
        let mut endpoint = self.endpoint.hold();
        endpoint.open(self.now, process)?;
        Ok(!endpoint.connections.is_broken(process))
    }
}

fn no_room(what: &str) -> TransportError {
    TransportError::NoRoom(what.to_owned())
}
