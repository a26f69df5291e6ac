//! One rank's transport over the simulated network.

use super::communicator::{Channel, Group};
use super::costs::Costs;
use super::event::{Bytes, Message};
use super::inbox::{Body, Received, Told};
use super::lent::{Lent, Write};
use super::network::Network;
use super::plan::Plan;
use super::port::Slot;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use verbcast_core::protocol::{Counter, Room, Run, Token, Via};
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::time::Instant;
use verbcast_core::transport::{
    Arrival, Buffer, LentMessages, Liveness, Origin, Payload, Purpose, Transfer, Transport,
    TransportError,
};
use verbcast_core::wire::{
    Checks, Compact, FreeTags, HEADER_LEN, Header, Key, Kind, Malformed, Packet, RawHeader, Region,
};

/// One rank's transport over the simulated network.
#[derive(Debug)]
pub struct SimTransport {
    /// This process, and its rank in the communicator.
    process: Rank,
    channel: Channel,
    group: Rc<Group>,
    /// From how many bytes on messages are lent, and those that are.
    lends: Option<usize>,
    lent: Lent,
    /// What is checked of what was not read of another rank's ring.
    checks: Checks,
    /// Bytes of a fragment that fills its datagram, if any does.
    whole: Option<usize>,
    network: Rc<RefCell<Network>>,
    /// Received packets in the driver's hands.
    out: Vec<Option<Received>>,
}

/// Looks for completions in one poll that tells nothing in the end, as on a device.
const LOOKS_PER_POLL: u32 = 64;

impl SimTransport {
    /// The transport of a process in a communicator of the network.
    pub(super) fn new(
        process: Rank,
        channel: Channel,
        plan: &Plan,
        network: &Rc<RefCell<Network>>,
    ) -> Self {
        let (lends, checks, whole) = (plan.lends(process), plan.checks(), plan.whole());
        let group = network.borrow_mut().open(process, channel);
        let network = Rc::clone(network);
        let (lent, out) = (Lent::default(), Vec::new());
        SimTransport { process, channel, group, lends, lent, checks, whole, network, out }
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

    fn hand_over(&mut self, told: Told) -> Arrival {
        match told {
            Told::Packet(received) => {
                Arrival::Packet { via: received.via, buffer: self.hand_out(received) }
            }
            Told::Fetched(from, token, received) => {
                Arrival::Fetched { from, token, buffer: self.hand_out(received) }
            }
            Told::Other(arrival) => arrival,
        }
    }

    /// The next number that was written into this rank's memory, or connection that broke. What a rank wrote before it went
    /// is seen before the connection's end.
    fn next_remote(&self, network: &mut Network) -> Option<Arrival> {
        let inbox = network.endpoint(self.process).inbox(self.channel);
        if inbox.ignores_reports && !inbox.has_broken() {
            return None;
        }
        self.next_report(network).or_else(|| {
            let peer = network.endpoint(self.process).inbox(self.channel).next_broken()?;
            Some(Arrival::Broken { peer, reason: "its adapter is gone".to_owned() })
        })
    }

    fn next_report(&self, network: &mut Network) -> Option<Arrival> {
        let (from, counter, value) = network.port(self.process).take_report(self.channel)?;
        network.spend(self.process, network.costs.acknowledgement);
        let from = self.group.rank_of(from)?;
        Some(Arrival::Reported { from, counter: Counter::ALL[usize::from(counter)], value })
    }
}

/// What has come first of what is here, without a look at the adapter.
fn next_told(network: &mut Network, process: Rank, channel: Channel) -> Option<Told> {
    let mut told = network.endpoint(process).inbox(channel).next()?;
    if let Some(received) = told.received() {
        let payload = received.bytes.len().saturating_sub(HEADER_LEN);
        let kind = received.header.map(|header| header.unchecked().kind);
        let Costs { take, acknowledgement, .. } = network.costs;
        let cost = match kind == Some(Kind::Acknowledge) && received.via != Via::Fetched {
            true => take + acknowledgement,
            false => take + network.costs.copying(payload),
        };
        network.spend(process, cost);
    }
    Some(told)
}

/// Takes the datagram that is told of next, if it is the one that is wanted, and copies its payload; whether it was.
fn take_if(
    network: &RefCell<Network>,
    (process, channel): (Rank, Channel),
    checks: Checks,
    is_it: impl FnOnce(&Header, usize) -> bool,
    into: &mut [u8],
) -> bool {
    let mut network = network.borrow_mut();
    let next = network.endpoint(process).inbox(channel).next_datagram();
    let Some(payload) = next.and_then(|next| payload_of(next, checks, is_it)) else { return false };
    into.copy_from_slice(payload);
    if let Some(Told::Packet(received)) = next_told(&mut network, process, channel) {
        network.free(process, received.body);
    }
    true
}

/// The payload of a received datagram, if that is whole, and the one that is wanted by its header and the payload's length.
fn payload_of(
    received: &Received,
    checks: Checks,
    is_it: impl FnOnce(&Header, usize) -> bool,
) -> Option<&[u8]> {
    let packet = received.header?.check(&received.bytes, checks).ok()?;
    is_it(packet.header(), packet.payload().len()).then(|| packet.payload())
}

/// The bytes of a payload.
fn at_hand<'a>(payload: Payload<'a>, lent: &'a Lent) -> Result<&'a [u8], TransportError> {
    match payload {
        Payload::Bytes(bytes) => Ok(bytes),
        Payload::Lent(op, range) => {
            lent.get(op).map(|bytes| &bytes[range]).ok_or(TransportError::NotLent(op))
        }
    }
}

/// A kept fragment as a datagram that it fills, whose header tells less.
fn compact(network: &mut Network, kept: &Bytes, whole: usize) -> Bytes {
    let header = *RawHeader::parse(kept).expect("a fragment was kept").unchecked();
    let payload = &kept[HEADER_LEN..];
    let tag = FreeTags::choose([FreeTags::ALL], header.key).expect("all are free");
    let told = Compact::new(tag, &header, payload.len(), whole);
    let source = (header.source, header.key);
    let header = told.expand(source, header.op, payload.len(), whole).emit(payload, false);
    network.packet(&header, payload)
}

impl Room for SimTransport {
    fn multicast_room(&self) -> usize {
        let mut network = self.network.borrow_mut();
        let depth = network.depths.send;
        depth.saturating_sub(network.port(self.process).datagrams_leaving) as usize
    }

    fn reliable_room(&self, _to: Rank) -> usize {
        let mut network = self.network.borrow_mut();
        let depth = network.depths.reliable_send;
        let is_shared = network.endpoint(self.process).is_shared();
        let (own, all) = network.port(self.process).leaving(self.channel);
        let room = depth.saturating_sub(all);
        // Nobody takes what another communicator needs.
        room.saturating_sub(if is_shared { own } else { 0 }) as usize
    }

    fn report_room(&self, to: Rank) -> usize {
        let to = self.group.process(to);
        let mut network = self.network.borrow_mut();
        usize::from(!network.port(self.process).is_telling(self.channel, to))
    }

    fn fetch_room(&self, _from: Rank) -> usize {
        let mut network = self.network.borrow_mut();
        let depth = network.depths.fetch;
        depth.saturating_sub(network.port(self.process).fetching) as usize
    }

    fn is_in_reach(&self, from: Rank) -> bool {
        self.network.borrow().is_connected(self.process, self.group.process(from))
    }

    fn is_idle(&self, slot: u32) -> bool {
        let mut network = self.network.borrow_mut();
        let kept = network.port(self.process).slot((self.channel, slot));
        kept.is_none_or(|slot| slot.leaving == 0)
    }
}

impl Liveness for SimTransport {
    fn connected(&self) -> Vec<Rank> {
        let connected = self.network.borrow().connected(self.process);
        connected.into_iter().filter_map(|peer| self.group.rank_of(peer)).collect()
    }

    fn connect(&mut self, peer: Rank) -> Result<(), TransportError> {
        self.network.borrow_mut().connect(self.process, self.group.process(peer));
        Ok(())
    }

    fn disconnect(&mut self, _now: Instant, peer: Rank) {
        self.network.borrow_mut().give_up(self.process, self.group.process(peer));
    }

    fn probe(&mut self, peer: Rank) -> Result<(), TransportError> {
        let peer = self.group.process(peer);
        self.network.borrow_mut().probe(self.channel, self.process, peer);
        Ok(())
    }
}

impl Transport for SimTransport {
    type Messages = Self;

    fn messages(&self) -> &Self {
        self
    }

    fn messages_mut(&mut self) -> &mut Self {
        self
    }

    fn multicast(
        &mut self,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Result<Transfer, TransportError> {
        let payload = at_hand(payload, &self.lent)?;
        let mut network = self.network.borrow_mut();
        let cost = network.costs.copying(payload.len());
        network.spend(self.process, cost);
        let bytes = network.packet(header, payload);
        network.multicast(self.process, self.channel, bytes, None);
        Ok(Transfer::Copied)
    }

    fn reliable(
        &mut self,
        to: Rank,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
        token: Token,
    ) -> Result<Transfer, TransportError> {
        let payload = at_hand(payload, &self.lent)?;
        let mut network = self.network.borrow_mut();
        let cost = network.costs.copying(payload.len());
        network.spend(self.process, cost);
        let bytes = network.packet(header, payload);
        let (from, to) = (self.process, self.group.process(to));
        network.message(Message { from, to, channel: self.channel, bytes, token, slot: None });
        Ok(Transfer::Copied)
    }

    fn retain(
        &mut self,
        slot: u32,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Result<(), TransportError> {
        let payload = at_hand(payload, &self.lent)?;
        let mut network = self.network.borrow_mut();
        assert!(slot < network.depths.ring, "there is no slot {slot}");
        let cost = network.costs.copying(payload.len());
        network.spend(self.process, cost);
        let (port, at) = (network.port(self.process), (self.channel, slot));
        let is_idle = port.slot(at).is_none_or(|slot| slot.leaving == 0);
        assert!(is_idle, "slot {slot} is being sent");
        let bytes = network.packet(header, payload);
        network.port(self.process).keep(at, Slot { bytes, leaving: 0 });
        Ok(())
    }

    fn multicast_retained(
        &mut self,
        slot: u32,
        _header: &[u8; HEADER_LEN],
        _payload: Payload<'_>,
    ) -> Result<(), TransportError> {
        let mut network = self.network.borrow_mut();
        let kept = network.port(self.process).slot_mut((self.channel, slot));
        let kept = kept.expect("a packet was retained");
        kept.leaving += 1;
        let mut bytes = Rc::clone(&kept.bytes);
        if let Some(whole) = self.whole.filter(|whole| bytes.len() > *whole) {
            bytes = compact(&mut network, &bytes, whole);
        }
        network.multicast(self.process, self.channel, bytes, Some(slot));
        Ok(())
    }

    fn reliable_retained(
        &mut self,
        to: Rank,
        slot: u32,
        token: Token,
    ) -> Result<(), TransportError> {
        let mut network = self.network.borrow_mut();
        let kept = network.port(self.process).slot_mut((self.channel, slot));
        let kept = kept.expect("a packet was retained");
        kept.leaving += 1;
        let bytes = Rc::clone(&kept.bytes);
        let (from, to) = (self.process, self.group.process(to));
        let slot = Some(slot);
        network.message(Message { from, to, channel: self.channel, bytes, token, slot });
        Ok(())
    }

    fn report(&mut self, to: Rank, counter: Counter, value: u64) -> Result<bool, TransportError> {
        let ends = [self.process, self.group.process(to)];
        let mut network = self.network.borrow_mut();
        let is_mate = network.is_mate(self.process, self.channel, to);
        match is_mate {
            true => network.report_to_mate(self.channel, ends, counter, value),
            false => network.report(self.channel, ends, counter, value),
        }
        Ok(is_mate)
    }

    fn fetch(&mut self, from: Rank, slot: u32, token: Token) -> Result<(), TransportError> {
        let (from, slot) = (self.group.process(from), (self.channel, slot));
        self.network.borrow_mut().fetch(self.process, from, slot, token);
        Ok(())
    }

    fn admit_eager(&mut self, messages: u64) {
        self.network.borrow_mut().endpoint(self.process).reserved.open(self.channel, messages);
    }

    fn reserve(&mut self, messages: u64, next: OpId) -> bool {
        let mut network = self.network.borrow_mut();
        let endpoint = network.endpoint(self.process);
        endpoint.reserved.reserve(self.channel, messages, next)
    }

    fn poll(&mut self, _now: Instant) -> Result<Option<Arrival>, TransportError> {
        let mut network = self.network.borrow_mut();
        if self.lends.is_some() {
            let lent = &mut self.lent;
            network.port(self.process).written.retain(|write| !lent.write(write));
        }
        for _ in 0..LOOKS_PER_POLL {
            if let Some(told) = next_told(&mut network, self.process, self.channel) {
                drop(network);
                return Ok(Some(self.hand_over(told)));
            }
            if !network.pull(self.process, self.channel) {
                return Ok(self.next_remote(&mut network));
            }
        }
        Ok(None)
    }

    fn take_run(&mut self, run: &Run, into: Option<&mut [u8]>) -> Result<u32, TransportError> {
        let lent = self.lent.get_mut(run.op).map(|message| &mut message[run.range()]);
        let Some(into) = into.or(lent) else { return Ok(0) };
        let mut taken = 0;
        for (behind, piece) in (0..).zip(into.chunks_exact_mut(run.fragment_len)) {
            let is_next = |header: &Header, payload_len| {
                header.message_len == Header::UNTOLD && run.has(behind, header, payload_len)
            };
            if !take_if(&self.network, (self.process, self.channel), self.checks, is_next, piece) {
                break;
            }
            taken += 1;
        }
        Ok(taken)
    }

    fn take_only(&mut self, run: &Run, into: &mut [u8]) -> Result<bool, TransportError> {
        let is_it = |header: &Header, payload_len| run.is_all(header, payload_len);
        Ok(take_if(&self.network, (self.process, self.channel), self.checks, is_it, into))
    }

    fn is_quiet(&mut self, _now: Instant) -> bool {
        let mut network = self.network.borrow_mut();
        if network.has_news(self.process, &[self.channel]) {
            return false;
        }
        !network.is_tended(self.process) || !network.pull(self.process, self.channel)
    }

    fn expect_reports(&mut self, are_expected: bool) {
        let mut network = self.network.borrow_mut();
        network.endpoint(self.process).inbox(self.channel).ignores_reports = !are_expected;
    }

    fn packet(&self, buffer: &Buffer, key: Key) -> Result<Packet<'_>, Malformed> {
        let received = self.out[buffer.index as usize].as_ref().expect("the driver has it");
        let header = received.header.filter(|header| header.unchecked().key == key);
        let checks = match received.via {
            Via::Fetched => Checks::Whole,
            Via::Multicast | Via::Reliable => self.checks,
        };
        header.ok_or(Malformed::Foreign)?.check(&received.bytes, checks)
    }

    fn may_stay(&self, buffer: &Buffer) -> bool {
        let received = self.out[buffer.index as usize].as_ref().expect("the driver has it");
        let mut network = self.network.borrow_mut();
        let is_shared = network.endpoint(self.process).is_shared();
        let (used, half) = (network.port(self.process).datagrams_used, network.depths.max_held());
        !is_shared || received.body == Body::Copy || used <= half
    }

    fn recycle(&mut self, buffer: Buffer) -> Result<(), TransportError> {
        let received = self.out[buffer.index as usize].take().expect("a buffer comes back once");
        self.network.borrow_mut().free(self.process, received.body);
        Ok(())
    }
}

impl LentMessages for SimTransport {
    fn lend(&mut self, op: OpId, message: Vec<u8>, purpose: Purpose) -> Option<Vec<u8>> {
        if self.lends.is_none_or(|least| message.len() < least) {
            return Some(message);
        }
        self.lent.lend(op, message, purpose);
        None
    }

    fn take_back(&mut self, op: OpId) -> Option<Vec<u8>> {
        let (message, key) = self.lent.take_back(op)?;
        if let Some(key) = key {
            self.network.borrow_mut().port(self.process).keys.remove(&key);
        }
        Some(message)
    }

    fn lent(&self, op: OpId, range: Range<usize>) -> Option<&[u8]> {
        self.lent.get(op).map(|bytes| &bytes[range])
    }

    fn expose(&mut self, op: OpId) -> Option<Region> {
        let (process, network) = (self.process, &self.network);
        self.lent.expose(op, || network.borrow_mut().expose(process))
    }

    fn is_exposed(&self, op: OpId) -> bool {
        self.lent.exposed(op).is_some()
    }

    fn can_write(&mut self, op: OpId) -> bool {
        self.lent.get(op).is_some()
    }

    fn write(
        &mut self,
        to: Rank,
        header: &[u8; HEADER_LEN],
        note: &[u8],
        (op, range): (OpId, Range<usize>),
        into: Region,
        token: Token,
    ) -> Result<(), TransportError> {
        let start = range.start as u64;
        let bytes = at_hand(Payload::Lent(op, range), &self.lent)?.into();
        let into = Region { address: into.address + start, ..into };
        let (from, to) = (self.process, self.group.process(to));
        let mut network = self.network.borrow_mut();
        network.write(from, to, Write { into, bytes });
        let bytes = network.packet(header, note);
        network.message(Message { from, to, channel: self.channel, bytes, token, slot: None });
        Ok(())
    }

    fn place(
        &mut self,
        op: OpId,
        range: Range<usize>,
        from: Origin<'_>,
    ) -> Result<Option<Transfer>, TransportError> {
        let Some(message) = self.lent.get_mut(op) else { return Ok(None) };
        let len = range.len();
        match from {
            Origin::Bytes(bytes) => message[range].copy_from_slice(bytes),
            Origin::Received(buffer) => {
                let received = self.out[buffer.index as usize].as_ref().expect("the driver has it");
                message[range].copy_from_slice(&received.bytes[HEADER_LEN..HEADER_LEN + len]);
            }
        }
        Ok(Some(Transfer::Copied))
    }
}
