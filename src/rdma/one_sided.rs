//! Sends from the ring, reports and fetches: what starts them, and what others did here.

use super::connection::Pending;
use super::transport::{RdmaTransport, failed};
use crate::protocol::{Counter, Token};
use crate::rank::Rank;
use crate::transport::{Arrival, TransportError};

impl RdmaTransport {
    /// Sends the packet in a slot of the ring to the group.
    pub(super) fn multicast_slot(&mut self, slot: u32) -> Result<(), TransportError> {
        if !self.datagrams.has_ring_room() {
            return Err(no_room("a multicast from the ring"));
        }
        let span = self.memory.ring.begin(slot);
        self.datagrams.multicast_from(slot, &span).map_err(failed)
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
        let span = self.memory.ring.begin(slot);
        self.connections.send_from_ring(to, slot, span, token).map_err(failed)
    }

    /// Writes a number into the memory of a rank.
    pub(super) fn write_report(
        &mut self,
        to: Rank,
        counter: Counter,
        value: u64,
    ) -> Result<(), TransportError> {
        if !self.is_usable(to)? {
            return Ok(());
        }
        let span = self.memory.reports.begin(to, value);
        let cell = self.peers[to.index()].exposed.cell(self.place.rank, counter);
        self.connections.submit(to, Pending::Report(counter, span, cell)).map_err(failed)
    }

    /// Reads a slot of the ring of a rank.
    pub(super) fn read_slot(
        &mut self,
        from: Rank,
        slot: u32,
        token: Token,
    ) -> Result<(), TransportError> {
        assert!(slot < self.settings.ring_depth, "slot {slot} of {}", self.settings.ring_depth);
        if !self.is_usable(from)? {
            return Ok(());
        }
        let Some(buffer) = self.memory.fetches.begin(token) else {
            return Err(no_room(&format!("a fetch from {from}")));
        };
        let peer = &self.peers[from.index()];
        let remote = peer.exposed.slot(slot, peer.packet_len);
        let pending = Pending::Fetch(buffer, self.place.packet_len, remote);
        self.connections.submit(from, pending).map_err(failed)
    }

    /// Begins to connect with a rank where there is no connection; false where it is broken.
    fn is_usable(&mut self, rank: Rank) -> Result<bool, TransportError> {
        if !self.connections.is_connected(rank) {
            self.open(self.now, rank)?;
        }
        Ok(!self.connections.is_broken(rank))
    }

    /// Looks at what others have written here; whether there was any news.
    pub(super) fn look_at_reports(&mut self) -> bool {
        let before = self.arrivals.len();
        // Nobody writes without a connection, which exists here before it does there.
        for from in self.connections.ranks().iter().copied() {
            let arrivals = &mut self.arrivals;
            self.memory.reports.look(from, |counter, value| {
                arrivals.push_back(Arrival::Reported { from, counter, value });
            });
        }
        self.arrivals.len() > before
    }

    /// Frees what waited for a connection that broke.
    pub(super) fn drop_pending(&mut self, peer: Rank, waiting: Vec<Pending>) {
        for pending in waiting {
            match pending {
                Pending::Message(..) => {}
                Pending::Ring(slot, _) => self.memory.ring.end(slot),
                Pending::Report(..) => self.memory.reports.end(peer),
                Pending::Fetch(buffer, ..) => self.memory.fetches.withdraw(buffer),
            }
        }
    }
}

fn no_room(what: &str) -> TransportError {
    TransportError { what: format!("there is no room for {what}") }
}
