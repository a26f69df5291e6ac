//! The transport itself: one completion queue turned into reports.

use super::connections::{Connections, Fabric};
use super::datagrams::{Datagrams, Station};
use super::handshake::{self, Message};
use super::prove::Heard;
use super::settings::Settings;
use super::wait;
use super::work::Work;
use crate::protocol::{Room, Via};
use crate::rank::{Fragment, OpId, Rank};
use crate::time::Instant;
use crate::transport::{Arrival, Buffer, Park, Token, Transport, TransportError};
use crate::verbs::{Completion, CompletionQueue, Context, Outcome, PathTo, ProtectionDomain};
use crate::wire::{HEADER_LEN, Header, Key, Kind, Packet};
use std::collections::VecDeque;
use std::time::Duration;

/// Polls between two looks at the device's events, where nobody sleeps on them.
const POLLS_PER_EVENT_CHECK: u32 = 4096;

/// This process's place on the fabric.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub rank: Rank,
    pub key: Key,
    pub port: u8,
    pub gid_index: u8,
    pub packet_len: usize,
}

/// UD multicast and RC connections of one rank. Fields are dropped in order: what uses the device
/// before what it was made from.
#[derive(Debug)]
pub struct RdmaTransport {
    pub(super) datagrams: Datagrams,
    connections: Connections,
    cq: CompletionQueue,
    pub(super) domain: ProtectionDomain,
    context: Context,
    pub(super) place: Place,
    stations: Vec<Station>,
    settings: Settings,
    /// Lengths of received packets, by buffer.
    lengths: Vec<usize>,
    arrivals: VecDeque<Arrival>,
    /// Broken connections, to be reported when everything received before is.
    broken: VecDeque<(Rank, String)>,
    batch: Vec<Completion>,
    pub(super) heard: Heard,
    polls: u32,
    /// The time of the last poll.
    now: Instant,
}

/// What the transport is made from, before the other ranks are known.
#[derive(Debug)]
pub(super) struct Parts {
    pub datagrams: Datagrams,
    pub connections: Connections,
    pub cq: CompletionQueue,
    pub domain: ProtectionDomain,
    pub context: Context,
}

impl RdmaTransport {
    pub(super) fn new(
        parts: Parts,
        place: Place,
        stations: Vec<Station>,
        settings: Settings,
    ) -> Self {
        let Parts { datagrams, connections, cq, domain, context } = parts;
        let buffers = settings.receive_depth + settings.reliable_receive_depth;
        RdmaTransport {
            datagrams,
            connections,
            cq,
            domain,
            context,
            place,
            heard: Heard::new(stations.len()),
            stations,
            settings,
            lengths: vec![0; buffers as usize],
            arrivals: VecDeque::new(),
            broken: VecDeque::new(),
            batch: Vec::new(),
            polls: 0,
            now: Instant::ZERO,
        }
    }

    /// Begins to connect with a rank, unless it is connected.
    pub(super) fn open(&mut self, now: Instant, rank: Rank) -> Result<(), TransportError> {
        let fabric = fabric(&self.domain, &self.cq, &self.place);
        self.connections.open(now, rank, &fabric).map_err(failed)
    }

    pub(super) fn is_connected(&self, rank: Rank) -> bool {
        self.connections.is_connected(rank)
    }

    /// A header of the transport's own packets.
    pub(super) fn header(&self, kind: Kind, payload: &[u8]) -> [u8; HEADER_LEN] {
        let Place { rank: source, key, .. } = self.place;
        let (op, fragment) = (OpId(0), Fragment(0));
        Header { kind, source, key, op, fragment, message_len: 0 }.emit(payload, true)
    }

    fn path(&self, rank: Rank) -> PathTo {
        let Station { gid, lid, .. } = self.stations[rank.index()];
        let Place { port, gid_index: source_index, .. } = self.place;
        PathTo { gid, lid, port, source_index }
    }

    fn send_handshake(&mut self, rank: Rank, message: &Message) -> Result<(), TransportError> {
        let payload = message.emit();
        let header = self.header(Kind::Connect, &payload);
        let to = (rank, self.stations[rank.index()], self.path(rank));
        // Without a slot it is as if the datagram were lost: it will be repeated.
        self.datagrams.unicast(&self.domain, to, &header, &payload).map_err(failed).map(drop)
    }

    /// Takes completions; whether there were any.
    fn pull(&mut self, now: Instant) -> Result<bool, TransportError> {
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
            // SAFETY: the completion at hand is the request's.
            Work::DatagramReceive(slot) => unsafe { self.datagrams.arrived(slot) },
            // SAFETY: as above.
            Work::Receive(slot) => unsafe { self.connections.arrived(slot) },
            Work::DatagramSend(_) | Work::Send(..) | Work::Probe(_) => {}
        }
        match (work, outcome) {
            (Work::DatagramReceive(slot), Outcome::Done(len)) => self.datagram(now, slot, len),
            (Work::Receive(slot), Outcome::Done(len)) => self.message(slot, len),
            (Work::DatagramReceive(_) | Work::Receive(_), Outcome::Flushed) => Ok(()),
            (Work::DatagramReceive(slot), Outcome::Failed(_)) => {
                self.datagrams.recycle(slot).map_err(failed)
            }
            (Work::Receive(slot), Outcome::Failed(_)) => {
                self.connections.recycle(slot).map_err(failed)
            }
            (Work::DatagramSend(slot), outcome) => {
                // SAFETY: the completion at hand is the request's.
                unsafe { self.datagrams.sent(slot) };
                match outcome {
                    Outcome::Failed(what) => {
                        let name = self.context.name();
                        Err(TransportError { what: format!("a send on {name} failed: {what}") })
                    }
                    Outcome::Done(_) | Outcome::Flushed => Ok(()),
                }
            }
            (Work::Send(to, slot), outcome) => {
                // SAFETY: the completion at hand is the request's.
                let token = unsafe { self.connections.sent(slot) };
                match (outcome, token) {
                    (Outcome::Done(_), Some(token)) => {
                        self.arrivals.push_back(Arrival::Delivered { to, token });
                    }
                    (Outcome::Failed(reason), _) => self.broke(to, reason),
                    _ => {}
                }
                Ok(())
            }
            (Work::Probe(peer), outcome) => {
                self.connections.probed(peer);
                match outcome {
                    Outcome::Done(_) => self.arrivals.push_back(Arrival::Alive { peer }),
                    Outcome::Failed(reason) => self.broke(peer, reason),
                    Outcome::Flushed => {}
                }
                Ok(())
            }
        }
    }

    fn broke(&mut self, peer: Rank, reason: String) {
        if self.connections.broke(peer) {
            self.broken.push_back((peer, reason));
        }
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
            source.index() < self.stations.len() && source != self.place.rank
        });
        let Some(packet) = known else {
            if packet.is_none() {
                // Not ours: let the driver count it.
                self.lengths[slot as usize] = len;
                let buffer = Buffer { index: slot };
                self.arrivals.push_back(Arrival::Packet { via: Via::Multicast, buffer });
                return Ok(());
            }
            return self.datagrams.recycle(slot).map_err(failed);
        };
        let source = packet.header().source;
        let message = match packet.header().kind {
            Kind::Connect => Message::parse(packet.payload()),
            _ => {
                self.heard.insert(source);
                None
            }
        };
        self.datagrams.recycle(slot).map_err(failed)?;
        let Some(message) = message else { return Ok(()) };
        let path = self.path(source);
        let fabric = fabric(&self.domain, &self.cq, &self.place);
        let answer = self
            .connections
            .handle_handshake(now, source, &message, &path, &fabric)
            .map_err(failed)?;
        match answer {
            Some(answer) => self.send_handshake(source, &answer),
            None => Ok(()),
        }
    }

    fn message(&mut self, slot: u32, len: usize) -> Result<(), TransportError> {
        if self.connections.are_opening()
            && let Ok(packet) = Packet::parse(self.connections.bytes(slot, len), self.place.key)
        {
            let source = packet.header().source;
            self.connections.heard(source).map_err(failed)?;
        }
        let index = self.settings.receive_depth + slot;
        self.lengths[index as usize] = len;
        let buffer = Buffer { index };
        self.arrivals.push_back(Arrival::Packet { via: Via::Reliable, buffer });
        Ok(())
    }

    fn check_device(&mut self) -> Result<(), TransportError> {
        while let Some(event) = self.context.take_async_event() {
            if event.is_fatal {
                let name = self.context.name();
                let port = self.place.port;
                return Err(TransportError { what: format!("{name} port {port}: {}", event.what) });
            }
            log::debug!("{}: {}", self.context.name(), event.what);
        }
        Ok(())
    }
}

fn fabric<'a>(domain: &'a ProtectionDomain, cq: &'a CompletionQueue, place: &Place) -> Fabric<'a> {
    Fabric { domain, cq, port: place.port, mtu: place.packet_len }
}

pub(super) fn failed(error: crate::verbs::Error) -> TransportError {
    TransportError { what: error.to_string() }
}

impl Room for RdmaTransport {
    fn multicast_room(&self) -> usize {
        self.datagrams.room()
    }

    fn reliable_room(&self, _to: Rank) -> usize {
        self.connections.room()
    }
}

impl Transport for RdmaTransport {
    fn packet_len(&self) -> usize {
        self.place.packet_len
    }

    fn multicast(
        &mut self,
        header: &[u8; HEADER_LEN],
        payload: &[u8],
    ) -> Result<(), TransportError> {
        match self.datagrams.multicast(header, payload).map_err(failed)? {
            true => Ok(()),
            false => Err(TransportError { what: "no slot is free for a datagram".to_owned() }),
        }
    }

    fn reliable(
        &mut self,
        to: Rank,
        header: &[u8; HEADER_LEN],
        payload: &[u8],
        token: Token,
    ) -> Result<(), TransportError> {
        if !self.connections.is_connected(to) {
            self.open(self.now, to)?;
        }
        match self.connections.send(to, header, payload, token).map_err(failed)? {
            true => Ok(()),
            false => Err(TransportError { what: format!("no slot is free for a message to {to}") }),
        }
    }

    fn probe(&mut self, peer: Rank) -> Result<(), TransportError> {
        self.open(self.now, peer)?;
        self.connections.probe(peer).map_err(failed)
    }

    fn poll(&mut self, now: Instant) -> Result<Option<Arrival>, TransportError> {
        self.now = now;
        self.polls = self.polls.wrapping_add(1);
        if self.polls.is_multiple_of(POLLS_PER_EVENT_CHECK) {
            self.check_device()?;
        }
        loop {
            if let Some(arrival) = self.arrivals.pop_front() {
                return Ok(Some(arrival));
            }
            if self.connections.are_opening() {
                for (rank, message) in self.connections.poll_handshakes(now) {
                    self.send_handshake(rank, &message)?;
                }
            }
            if !self.pull(now)? {
                let broken = self.broken.pop_front();
                return Ok(broken.map(|(peer, reason)| Arrival::Broken { peer, reason }));
            }
        }
    }

    fn bytes(&self, buffer: &Buffer) -> &[u8] {
        let len = self.lengths[buffer.index as usize];
        match buffer.index.checked_sub(self.settings.receive_depth) {
            None => self.datagrams.bytes(buffer.index, len),
            Some(slot) => self.connections.bytes(slot, len),
        }
    }

    fn recycle(&mut self, buffer: Buffer) -> Result<(), TransportError> {
        match buffer.index.checked_sub(self.settings.receive_depth) {
            None => self.datagrams.recycle(buffer.index),
            Some(slot) => self.connections.recycle(slot),
        }
        .map_err(failed)
    }
}

impl Park for RdmaTransport {
    fn park(&mut self, idle: Duration, at_most: Duration) -> Result<(), TransportError> {
        match wait::step(self.settings.waiting, idle) {
            wait::Step::Spin => std::hint::spin_loop(),
            wait::Step::Yield => std::thread::yield_now(),
            wait::Step::Block => {
                self.check_device()?;
                let at_most = match self.connections.are_opening() {
                    true => at_most.min(handshake::LONGEST_PAUSE / 16),
                    false => at_most,
                };
                self.cq.arm().map_err(failed)?;
                // What completed before the queue was armed is told by nobody.
                if self.pull(self.now)? || !self.arrivals.is_empty() || !self.broken.is_empty() {
                    return Ok(());
                }
                let slept = wait::sleep(&self.cq, self.context.async_fd(), at_most);
                slept.map_err(|errno| TransportError {
                    what: format!("waiting for {} failed: {errno}", self.context.name()),
                })?;
            }
        }
        Ok(())
    }
}
