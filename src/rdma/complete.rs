//! Turns completions into reports.

use super::handshake::Message;
use super::loans::Source;
use super::transport::{RdmaTransport, fabric, failed};
use super::work::Work;
use crate::protocol::Via;
use crate::rank::Rank;
use crate::time::Instant;
use crate::transport::{Arrival, Buffer, TransportError};
use crate::verbs::Outcome;
use crate::wire::{Kind, Packet};

impl RdmaTransport {
    /// Takes completions; whether there were any.
    pub(super) fn pull(&mut self, now: Instant) -> Result<bool, TransportError> {
        let mut batch = std::mem::take(&mut self.batch);
        let any = self.cq.poll(|completion| batch.push(completion)).map_err(failed)?;
        for completion in batch.drain(..) {
            if let Some(work) = Work::of_id(completion.id) {
                self.complete(now, work, completion.outcome)?;
            }
        }
        self.batch = batch;
        Ok(any)
    }

    fn complete(
        &mut self,
        now: Instant,
        work: Work,
        outcome: Outcome,
    ) -> Result<(), TransportError> {
        match work {
            Work::DatagramReceive(slot) => {
                // SAFETY: the completion at hand is the request's.
                unsafe { self.datagrams.arrived(slot) };
                let len = if let Outcome::Done(len) = outcome { len } else { 0 };
                self.landed(slot, len);
                match outcome {
                    Outcome::Done(len) => return self.datagram(now, slot, len),
                    Outcome::Failed(_) => return self.recycle_datagram(slot),
                    Outcome::Flushed if self.is_flushing => return self.recycle_datagram(slot),
                    Outcome::Flushed => {}
                }
            }
            Work::Receive(slot) => {
                // SAFETY: as above.
                unsafe { self.connections.arrived(slot) };
                match outcome {
                    Outcome::Done(len) => return self.message(slot, len),
                    Outcome::Failed(_) => return self.connections.recycle(slot).map_err(failed),
                    Outcome::Flushed => {}
                }
            }
            Work::DatagramSend(slot) => {
                // SAFETY: as above.
                unsafe { self.datagrams.sent(slot) };
                return self.check_sent(outcome);
            }
            Work::RingMulticast(slot) => {
                self.memory.ring.end(slot);
                self.datagrams.ring_sent();
                return self.check_sent(outcome);
            }
            Work::Send(to, slot) => {
                // SAFETY: as above.
                let token = unsafe { self.connections.sent(slot) };
                self.ended(to, outcome, token.map(|token| Arrival::Delivered { to, token }));
            }
            Work::RingSend(to, slot) => {
                self.memory.ring.end(slot);
                let token = self.connections.ring_sent(to).map_err(failed)?;
                self.ended(to, outcome, token.map(|token| Arrival::Delivered { to, token }));
            }
            Work::Report(to, counter) => {
                self.memory.reports.end(to);
                self.ended(to, outcome, Some(Arrival::Told { to, counter }));
            }
            Work::Probe(peer) => {
                self.connections.probed(peer);
                self.ended(peer, outcome, Some(Arrival::Alive { peer }));
            }
            Work::Fetch(from, index) => {
                // SAFETY: as above.
                let token = unsafe { self.memory.fetches.end(index) };
                let buffer = self.fetch_buffer(index);
                self.lengths[buffer.index as usize] = self.place.packet_len;
                match token {
                    Some(token) if matches!(outcome, Outcome::Done(_)) => {
                        self.arrivals.push_back(Arrival::Fetched { from, token, buffer });
                    }
                    _ => {
                        self.memory.fetches.recycle(index);
                        self.ended(from, outcome, None);
                    }
                }
            }
        }
        Ok(())
    }

    /// A request over a connection has ended: well, which `arrival` tells, or not.
    fn ended(&mut self, peer: Rank, outcome: Outcome, arrival: Option<Arrival>) {
        match outcome {
            Outcome::Done(_) => self.arrivals.extend(arrival),
            Outcome::Failed(reason) => self.broke(peer, reason),
            // The failure that it follows from was told.
            Outcome::Flushed => {}
        }
    }

    /// A datagram has left, or the device is of no use.
    fn check_sent(&self, outcome: Outcome) -> Result<(), TransportError> {
        match outcome {
            Outcome::Failed(what) => {
                let name = self.context.name();
                Err(TransportError { what: format!("a send on {name} failed: {what}") })
            }
            Outcome::Done(_) | Outcome::Flushed => Ok(()),
        }
    }

    pub(super) fn broke(&mut self, peer: Rank, reason: String) {
        if self.give_up_on(peer) {
            self.broken.push_back((peer, reason));
        }
    }

    /// Gives up a connection, and frees what waited for it; whether that is news.
    pub(super) fn give_up_on(&mut self, peer: Rank) -> bool {
        let waiting = self.connections.broke(peer);
        let is_news = waiting.is_some();
        self.drop_pending(peer, waiting.unwrap_or_default());
        is_news
    }

    /// A datagram came. Probes and handshakes are the transport's own; the rest is handed on.
    fn datagram(&mut self, now: Instant, slot: u32, len: usize) -> Result<(), TransportError> {
        let bytes = self.datagrams.bytes(slot, len);
        let kind = bytes.get(1).copied().unwrap_or(0);
        if kind != Kind::Probe as u8 && kind != Kind::Connect as u8 {
            self.lengths[slot as usize] = len;
            let buffer = Buffer { index: slot };
            self.arrivals.push_back(Arrival::Packet { via: Via::Multicast, buffer });
            return Ok(());
        }
        let packet = Packet::parse(bytes, self.place.key).ok();
        let known = packet.filter(|packet| {
            let source = packet.header().source;
            source.index() < self.peers.len() && source != self.place.rank
        });
        let Some(packet) = known else {
            if packet.is_none() {
                // Not ours: let the driver count it.
                self.lengths[slot as usize] = len;
                let buffer = Buffer { index: slot };
                self.arrivals.push_back(Arrival::Packet { via: Via::Multicast, buffer });
                return Ok(());
            }
            return self.recycle_datagram(slot);
        };
        let source = packet.header().source;
        let message = match packet.header().kind {
            Kind::Connect => Message::parse(packet.payload()),
            _ => {
                self.heard.insert(source);
                None
            }
        };
        self.recycle_datagram(slot)?;
        let Some(message) = message else { return Ok(()) };
        let path = self.path(source);
        let fabric = fabric(&self.domain, &self.cq, &self.memory, &self.place);
        let answer = self
            .connections
            .handle_handshake(now, source, &message, &path, &fabric)
            .map_err(failed)?;
        let Some(answer) = answer else { return Ok(()) };
        self.send_confirms()?;
        self.send_handshake(source, &answer)
    }

    /// Confirms handshakes over their connections, as far as there are slots: there it cannot be lost,
    /// and this rank may do something else for long.
    pub(super) fn send_confirms(&mut self) -> Result<(), TransportError> {
        while let Some((rank, message)) = self.connections.to_confirm() {
            let payload = message.emit();
            let header = self.header(Kind::Connect, &payload);
            let payload = Source::Bytes(&payload);
            if !self.connections.send(rank, &header, payload, None).map_err(failed)? {
                break;
            }
            self.connections.confirmed(rank);
        }
        Ok(())
    }

    fn message(&mut self, slot: u32, len: usize) -> Result<(), TransportError> {
        let bytes = self.connections.bytes(slot, len);
        let is_own = bytes.get(1) == Some(&(Kind::Connect as u8));
        if (is_own || self.connections.are_opening())
            && let Ok(packet) = Packet::parse(bytes, self.place.key)
        {
            let source = packet.header().source;
            self.connections.heard(source).map_err(failed)?;
        }
        if is_own {
            return self.connections.recycle(slot).map_err(failed);
        }
        let index = self.settings.receive_depth + slot;
        self.lengths[index as usize] = len;
        let buffer = Buffer { index };
        self.arrivals.push_back(Arrival::Packet { via: Via::Reliable, buffer });
        Ok(())
    }
}
