//! One rank's transport over the simulated network.

use super::event::{Bytes, Completion, Message};
use super::network::Network;
use super::port::Slot;
use std::cell::RefCell;
use std::rc::Rc;
use verbcast_core::protocol::{Counter, Room, Token, Via};
use verbcast_core::rank::Rank;
use verbcast_core::time::Instant;
use verbcast_core::transport::{
    Arrival, Buffer, Liveness, Payload, Transfer, Transport, TransportError,
};
use verbcast_core::wire::{Checks, HEADER_LEN, Key, Kind, Malformed, Packet, RawHeader};

/// One rank's transport over the simulated network.
#[derive(Debug)]
pub struct SimTransport {
    me: Rank,
    /// What is checked of what was not read of another rank's ring.
    checks: Checks,
    network: Rc<RefCell<Network>>,
    /// Received packets in the driver's hands.
    out: Vec<Option<Received>>,
}

/// A received packet, and its header if it has one.
#[derive(Debug)]
struct Received {
    via: Via,
    header: Option<RawHeader>,
    bytes: Bytes,
}

impl SimTransport {
    pub(super) fn new(me: Rank, checks: Checks, network: Rc<RefCell<Network>>) -> Self {
        SimTransport { me, checks, network, out: Vec::new() }
    }

    /// Received packets that were in the driver's hands at once, at most.
    pub fn most_out(&self) -> usize {
        self.out.len()
    }

    fn hand_out(&mut self, received: Received) -> Buffer {
        let free = self.out.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| {
            self.out.push(None);
            self.out.len() - 1
        });
        self.out[index] = Some(received);
        Buffer { index: index as u32 }
    }
}

/// The bytes of a payload. Nothing is lent to this transport.
fn at_hand(payload: Payload<'_>) -> Result<&[u8], TransportError> {
    match payload {
        Payload::Bytes(bytes) => Ok(bytes),
        Payload::Lent(op, _) => Err(TransportError::NotLent(op)),
    }
}

fn packet(header: &[u8; HEADER_LEN], payload: &[u8]) -> Bytes {
    let mut bytes = Vec::with_capacity(HEADER_LEN + payload.len());
    bytes.extend_from_slice(header);
    bytes.extend_from_slice(payload);
    bytes.into()
}

impl Room for SimTransport {
    fn multicast_room(&self) -> usize {
        let mut network = self.network.borrow_mut();
        let depth = network.depths.send;
        depth.saturating_sub(network.port(self.me).datagrams_leaving) as usize
    }

    fn reliable_room(&self, _to: Rank) -> usize {
        let mut network = self.network.borrow_mut();
        let depth = network.depths.reliable_send;
        depth.saturating_sub(network.port(self.me).messages_leaving) as usize
    }

    fn report_room(&self, to: Rank) -> usize {
        let mut network = self.network.borrow_mut();
        let telling = &network.port(self.me).telling;
        usize::from(!Counter::ALL.iter().any(|counter| telling.contains(&(to, *counter as u8))))
    }

    fn fetch_room(&self, _from: Rank) -> usize {
        let mut network = self.network.borrow_mut();
        let depth = network.depths.fetch;
        depth.saturating_sub(network.port(self.me).fetching) as usize
    }

    fn is_idle(&self, slot: u32) -> bool {
        let mut network = self.network.borrow_mut();
        network.port(self.me).ring.get(&slot).is_none_or(|slot| slot.leaving == 0)
    }
}

impl Liveness for SimTransport {
    fn connected(&self) -> Vec<Rank> {
        self.network.borrow().connected(self.me)
    }

    fn connect(&mut self, peer: Rank) -> Result<(), TransportError> {
        self.network.borrow_mut().connect(self.me, peer);
        Ok(())
    }

    fn disconnect(&mut self, _now: Instant, peer: Rank) {
        self.network.borrow_mut().give_up(self.me, peer);
    }

    fn probe(&mut self, peer: Rank) -> Result<(), TransportError> {
        self.network.borrow_mut().probe(self.me, peer);
        Ok(())
    }
}

impl Transport for SimTransport {
    fn multicast(
        &mut self,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Result<Transfer, TransportError> {
        let payload = at_hand(payload)?;
        let mut network = self.network.borrow_mut();
        let cost = network.costs.copying(payload.len());
        network.spend(self.me, cost);
        network.multicast(self.me, packet(header, payload), None);
        Ok(Transfer::Copied)
    }

    fn reliable(
        &mut self,
        to: Rank,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
        token: Token,
    ) -> Result<Transfer, TransportError> {
        let payload = at_hand(payload)?;
        let mut network = self.network.borrow_mut();
        let cost = network.costs.copying(payload.len());
        network.spend(self.me, cost);
        let bytes = packet(header, payload);
        network.message(Message { from: self.me, to, bytes, token, slot: None });
        Ok(Transfer::Copied)
    }

    fn retain(
        &mut self,
        slot: u32,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Result<(), TransportError> {
        let payload = at_hand(payload)?;
        let mut network = self.network.borrow_mut();
        assert!(slot < network.depths.ring, "there is no slot {slot}");
        let cost = network.costs.copying(payload.len());
        network.spend(self.me, cost);
        let slots = &mut network.port(self.me).ring;
        let is_idle = slots.get(&slot).is_none_or(|slot| slot.leaving == 0);
        assert!(is_idle, "slot {slot} is being sent");
        slots.insert(slot, Slot { bytes: packet(header, payload), leaving: 0 });
        Ok(())
    }

    fn multicast_retained(&mut self, slot: u32) -> Result<(), TransportError> {
        let mut network = self.network.borrow_mut();
        let kept = network.port(self.me).ring.get_mut(&slot).expect("a packet was retained");
        kept.leaving += 1;
        let bytes = Rc::clone(&kept.bytes);
        network.multicast(self.me, bytes, Some(slot));
        Ok(())
    }

    fn reliable_retained(
        &mut self,
        to: Rank,
        slot: u32,
        token: Token,
    ) -> Result<(), TransportError> {
        let mut network = self.network.borrow_mut();
        let kept = network.port(self.me).ring.get_mut(&slot).expect("a packet was retained");
        kept.leaving += 1;
        let bytes = Rc::clone(&kept.bytes);
        network.message(Message { from: self.me, to, bytes, token, slot: Some(slot) });
        Ok(())
    }

    fn report(&mut self, to: Rank, counter: Counter, value: u64) -> Result<(), TransportError> {
        self.network.borrow_mut().report(self.me, to, counter, value);
        Ok(())
    }

    fn fetch(&mut self, from: Rank, slot: u32, token: Token) -> Result<(), TransportError> {
        self.network.borrow_mut().fetch(self.me, from, slot, token);
        Ok(())
    }

    fn poll(&mut self, _now: Instant) -> Result<Option<Arrival>, TransportError> {
        let mut network = self.network.borrow_mut();
        let (take, acknowledgement) = (network.costs.take, network.costs.acknowledgement);
        let port = network.port(self.me);
        // What a rank wrote before it went is seen before the connection's end.
        let first = port.completions.front();
        let is_end = first.is_none_or(|first| matches!(first, Completion::Broken(_)));
        if is_end && let Some(((from, counter), value)) = port.reports.pop_first() {
            network.spend(self.me, acknowledgement);
            let counter = Counter::ALL[usize::from(counter)];
            return Ok(Some(Arrival::Reported { from, counter, value }));
        }
        let Some(completion) = port.completions.pop_front() else { return Ok(None) };
        match completion {
            Completion::Packet(via, bytes) => {
                let header = RawHeader::parse(&bytes);
                let kind = header.map(|header| header.unchecked().kind);
                let cost = match kind == Some(Kind::Acknowledge) {
                    true => take + acknowledgement,
                    false => take + network.costs.copying(bytes.len().saturating_sub(HEADER_LEN)),
                };
                network.spend(self.me, cost);
                drop(network);
                let buffer = self.hand_out(Received { via, header, bytes });
                Ok(Some(Arrival::Packet { via, buffer }))
            }
            Completion::Fetched(from, token, bytes) => {
                let cost = take + network.costs.copying(bytes.len().saturating_sub(HEADER_LEN));
                network.spend(self.me, cost);
                drop(network);
                let header = RawHeader::parse(&bytes);
                let buffer = self.hand_out(Received { via: Via::Fetched, header, bytes });
                Ok(Some(Arrival::Fetched { from, token, buffer }))
            }
            other => Ok(other.into()),
        }
    }

    fn packet(&self, buffer: &Buffer, key: Key) -> Result<Packet<'_>, Malformed> {
        let received = self.out[buffer.index as usize].as_ref().expect("the driver has it");
        let header = received.header.filter(|header| header.unchecked().key == key);
        // A read may find a packet half replaced by the next, which only the payload's CRC tells.
        let checks = match received.via {
            Via::Fetched => Checks::Whole,
            Via::Multicast | Via::Reliable => self.checks,
        };
        header.ok_or(Malformed::Foreign)?.check(&received.bytes, checks)
    }

    fn recycle(&mut self, buffer: Buffer) -> Result<(), TransportError> {
        let received = self.out[buffer.index as usize].take().expect("a buffer comes back once");
        let mut network = self.network.borrow_mut();
        let now = network.port(self.me).cpu;
        let port = network.port(self.me);
        match received.via {
            Via::Multicast => port.datagrams_used -= 1,
            Via::Fetched => port.fetching -= 1,
            Via::Reliable => {
                port.messages_used -= 1;
                network.admit(now, self.me);
            }
        }
        Ok(())
    }
}
