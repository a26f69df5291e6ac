//! How a communicator takes what has come.

use super::RdmaTransport;
use super::peers::Peers;
use crate::rdma::endpoint::{Endpoint, Event};
use crate::rdma::ids::ChannelId;
use crate::rdma::memory::Memory;
use std::collections::VecDeque;
use verbcast_core::protocol::Via;
use verbcast_core::time::Instant;
use verbcast_core::transport::{Arrival, TransportError};

/// Looks for completions in one poll that tells nothing in the end, so that a flood of strangers'
/// packets cannot keep it from ending.
const LOOKS_PER_POLL: u32 = 64;

impl RdmaTransport {
    /// The next report of what has come, if there is one.
    pub(super) fn next_arrival(&mut self, now: Instant) -> Result<Option<Arrival>, TransportError> {
        self.now = now;
        let mut looks = 0;
        while looks < LOOKS_PER_POLL {
            let packet = self.endpoint.hold().next_packet(self.channel, now, &mut self.rx_table);
            if let Some(buffer) = packet {
                return Ok(Some(Arrival::Packet { via: Via::Multicast, buffer }));
            }
            match self.look(now)? {
                Seen::Event(event) => {
                    if let Some(arrival) = self.absorb(event)? {
                        return Ok(Some(arrival));
                    }
                }
                Seen::Report(arrival) => return Ok(Some(arrival)),
                Seen::More => looks += 1,
                Seen::Nothing(broken) => return Ok(broken),
            }
        }
        Ok(None)
    }

    /// Whether nothing has come, and nothing is to be done besides.
    pub(super) fn has_nothing(&mut self, now: Instant) -> bool {
        self.now = now;
        let RdmaTransport { endpoint, channel, peers, memory, reported, expects_reports, .. } =
            self;
        if !reported.is_empty() {
            return false;
        }
        let mut looked = endpoint.look();
        if !looked.is_quiet(*channel, now) {
            return false;
        }
        if *expects_reports {
            look_for_reports(peers, memory, reported);
            if self.is_seated {
                look_at_mates(&mut looked, *channel, reported);
            }
        }
        reported.is_empty()
    }

    /// Takes what has come first of what has not been taken, or looks for more, on this communicator and on others. The
    /// endpoint is taken once for all that.
    fn look(&mut self, now: Instant) -> Result<Seen, TransportError> {
        let RdmaTransport { endpoint, channel, peers, memory, reported, expects_reports, .. } =
            self;
        let mut endpoint = endpoint.hold();
        while let Some(event) = endpoint.next_event(*channel) {
            match event {
                // There is one for each fragment that a root sends.
                Event::RingSent { slot, delivered: None } => memory.ring.end(slot),
                event => return Ok(Seen::Event(event)),
            }
        }
        if let Some(report) = reported.pop_front() {
            return Ok(Seen::Report(report));
        }
        let any = endpoint.pump(*channel, now)?;
        // What a rank wrote before it went is seen before the connection's end.
        if *expects_reports || endpoint.has_broken(*channel) {
            peers.look_at(&endpoint.connections);
            look_for_reports(peers, memory, reported);
            if self.is_seated {
                look_at_mates(&mut endpoint, *channel, reported);
            }
        }
        match any || !reported.is_empty() {
            true => Ok(Seen::More),
            false => Ok(Seen::Nothing(endpoint.next_broken(*channel))),
        }
    }
}

/// Nobody writes without a connection, which exists here before it does there.
fn look_for_reports(peers: &Peers, memory: &mut Memory, reported: &mut VecDeque<Arrival>) {
    for from in peers.connected().iter().copied() {
        memory.reports.look(from, |counter, value| {
            reported.push_back(Arrival::Reported { from, counter, value });
        });
    }
}

/// What mates have reported is in the memory of their node.
fn look_at_mates(endpoint: &mut Endpoint, id: ChannelId, reported: &mut VecDeque<Arrival>) {
    endpoint.take_reports(id, |from, counter, value| {
        reported.push_back(Arrival::Reported { from, counter, value });
    });
}

/// What a look at the endpoint has found.
enum Seen {
    /// An event.
    Event(Event),
    /// A number that another rank has written here.
    Report(Arrival),
    /// Something came, for this communicator or another.
    More,
    /// Nothing came; a connection that broke before, if one did.
    Nothing(Option<Arrival>),
}
