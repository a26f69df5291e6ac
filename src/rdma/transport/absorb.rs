//! What a communicator makes of what its endpoint tells it.

use super::RdmaTransport;
use super::direct_placement::Placement;
use crate::rdma::endpoint::{Body, Event, RxPacket, is_farewell};
use verbcast_core::protocol::Via;
use verbcast_core::transport::{Arrival, TransportError};
use verbcast_core::wire::{Checks, HEADER_LEN, Kind, RawHeader};

impl RdmaTransport {
    /// Takes note of an event; what is to be reported of it.
    pub(super) fn absorb(&mut self, event: Event) -> Result<Option<Arrival>, TransportError> {
        Ok(match event {
            Event::Packet { via, header, is_intact, mut body, place } => {
                let in_place = match place.map(|(op, there)| self.settle(&mut body, op, there)) {
                    None | Some(Placement::Moved) => None,
                    Some(Placement::InPlace(op, range)) => Some((op, range)),
                    Some(Placement::Lost) => {
                        self.give_back(body)?;
                        return Ok(None);
                    }
                };
                if header.unchecked().kind == Kind::Probe {
                    if let Ok(packet) = body.check(&header, is_intact, &self.pools) {
                        let len = HEADER_LEN + packet.payload().len();
                        self.heard.insert(packet.header().source, len);
                    }
                    self.give_back(body)?;
                    return Ok(None);
                }
                if via == Via::Reliable
                    && is_farewell(&header)
                    && let Ok(packet) = body.check(&header, is_intact, &self.pools)
                {
                    self.endpoint.hold().farewell(self.channel, packet.header().source);
                }
                let header = Some(header);
                let checks = (!is_intact).then(|| self.settings.checks());
                let buffer = self.rx_table.put(RxPacket { header, checks, body, in_place });
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
                is_told.then_some(Arrival::WriteAcked { to, counter })
            }
            Event::Fetched { from, token, body } => {
                let header = RawHeader::parse(body.bytes(&self.pools));
                // The header may be damaged, and so may be a payload that has a CRC or a code.
                let checks = Some(Checks::Whole);
                let packet = RxPacket { header, checks, body, in_place: None };
                let buffer = self.rx_table.put(packet);
                Some(Arrival::Fetched { from, token, buffer })
            }
            Event::Alive { peer } => Some(Arrival::Alive { peer }),
        })
    }

    /// Gives the memory of something received back to the endpoint.
    pub(super) fn give_back(&mut self, body: Body) -> Result<(), TransportError> {
        match body {
            Body::Datagram(slot, _) => self.recycle_datagram(slot),
            body => self.endpoint.hold().free(body),
        }
    }
}
