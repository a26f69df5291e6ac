//! What a communicator makes of what its endpoint tells it.

use super::RdmaTransport;
use super::landing::Landed;
use super::shelf::Parcel;
use crate::rdma::endpoint::{Body, Event, is_farewell};
use verbcast_core::protocol::Via;
use verbcast_core::transport::{Arrival, TransportError};
use verbcast_core::wire::{Kind, Packet};

impl RdmaTransport {
    pub(super) fn next_event(&mut self) -> Option<Event> {
        let mut endpoint = self.endpoint.hold();
        endpoint.channels.get_mut(self.channel)?.inbox.next()
    }

    /// Takes note of an event; what is to be reported of it.
    pub(super) fn absorb(&mut self, event: Event) -> Result<Option<Arrival>, TransportError> {
        Ok(match event {
            Event::Packet { via, mut body, place } => {
                let in_place = match place.map(|(op, there)| self.land(&mut body, op, there)) {
                    None | Some(Landed::Moved) => None,
                    Some(Landed::There(op, range)) => Some((op, range)),
                    Some(Landed::Lost) => {
                        self.give_back(body)?;
                        return Ok(None);
                    }
                };
                if body.bytes(&self.pools).get(1) == Some(&(Kind::Probe as u8)) {
                    self.hear(&body);
                    self.give_back(body)?;
                    return Ok(None);
                }
                if via == Via::Reliable {
                    let bytes = body.bytes(&self.pools);
                    if is_farewell(bytes) {
                        self.endpoint.hold().note_farewell(self.channel, bytes);
                    }
                }
                let buffer = self.shelf.put(Parcel { body, in_place });
                Some(Arrival::Packet { via, buffer })
            }
            Event::Missed { op, fragment, moved } => {
                self.loans.counters.moved += u64::from(moved);
                self.miss(op, fragment);
                None
            }
            Event::Delivered { to, token } => Some(Arrival::Delivered { to, token }),
            Event::RingSent { slot, delivered } => {
                self.memory.ring.end(slot);
                delivered.map(|(to, token)| Arrival::Delivered { to, token })
            }
            Event::Reported { to, counter, is_told } => {
                self.memory.reports.end(to);
                is_told.then_some(Arrival::Told { to, counter })
            }
            Event::Fetched { from, token, body } => {
                let buffer = self.shelf.put(Parcel { body, in_place: None });
                Some(Arrival::Fetched { from, token, buffer })
            }
            Event::Alive { peer } => Some(Arrival::Alive { peer }),
        })
    }

    /// Takes note of a probe of the group.
    fn hear(&mut self, body: &Body) {
        if let Ok(packet) = Packet::parse(body.bytes(&self.pools), self.seat.key) {
            self.heard.insert(packet.header().source);
        }
    }

    /// Gives the memory of something received back to the endpoint.
    pub(super) fn give_back(&mut self, body: Body) -> Result<(), TransportError> {
        match body {
            Body::Datagram(slot, _) => self.recycle_datagram(slot),
            Body::Copy(_) => Ok(()),
            body => self.endpoint.hold().free(body),
        }
    }
}
