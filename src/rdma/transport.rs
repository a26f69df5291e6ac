//! The transport itself: one completion queue turned into reports.

use super::connections::{Connections, Fabric};
use super::datagrams::{Datagrams, Station};
use super::handshake::{self, Message};
use super::loans::{Loans, Source};
use super::memory::{Exposed, Memory};
use super::prove::Heard;
use super::settings::{GRH_LEN, Settings};
use super::wait;
use crate::protocol::{Counter, Room, Token};
use crate::rank::{Fragment, OpId, Rank};
use crate::time::Instant;
use crate::transport::{
    Arrival, Buffer, Origin, Park, Placed, Transport, TransportError, not_lent,
};
use crate::verbs::{Completion, CompletionQueue, Context, PathTo, ProtectionDomain};
use crate::wire::{HEADER_LEN, Header, Key, Kind};
use std::collections::VecDeque;
use std::ops::Range;
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
    /// RDMA reads that every connection serves at a time.
    pub reads: u8,
}

/// What this rank knows of another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    pub station: Station,
    pub exposed: Exposed,
    /// Most bytes of a packet at its port, which its ring is made for.
    pub packet_len: usize,
}

/// UD multicast and RC connections of one rank. Fields are dropped in order: what uses the device
/// before what it was made from.
#[derive(Debug)]
pub struct RdmaTransport {
    pub(super) datagrams: Datagrams,
    pub(super) connections: Connections,
    pub(super) memory: Memory,
    /// Ended before the messages that it owns are freed.
    pub(super) loans: Loans,
    pub(super) cq: CompletionQueue,
    pub(super) domain: ProtectionDomain,
    pub(super) context: Context,
    pub(super) place: Place,
    pub(super) peers: Vec<Peer>,
    pub(super) settings: Settings,
    /// Lengths of received packets, by buffer.
    pub(super) lengths: Vec<usize>,
    pub(super) arrivals: VecDeque<Arrival>,
    /// Broken connections, to be reported when everything received before is.
    pub(super) broken: VecDeque<(Rank, String)>,
    pub(super) batch: Vec<Completion>,
    pub(super) heard: Heard,
    /// All requests of the QP of datagrams are being ended.
    pub(super) is_flushing: bool,
    polls: u32,
    /// The time of the last poll.
    pub(super) now: Instant,
}

/// What the transport is made from, before the other ranks are known.
#[derive(Debug)]
pub(super) struct Parts {
    pub datagrams: Datagrams,
    pub connections: Connections,
    pub memory: Memory,
    pub cq: CompletionQueue,
    pub domain: ProtectionDomain,
    pub context: Context,
}

impl RdmaTransport {
    pub(super) fn new(parts: Parts, place: Place, peers: Vec<Peer>, settings: Settings) -> Self {
        let Parts { datagrams, connections, memory, cq, domain, context } = parts;
        let Settings { receive_depth, reliable_receive_depth, fetch_depth, .. } = settings;
        let buffers = receive_depth + reliable_receive_depth + fetch_depth;
        RdmaTransport {
            datagrams,
            connections,
            memory,
            loans: Loans::new(&settings),
            cq,
            domain,
            context,
            place,
            heard: Heard::new(peers.len()),
            peers,
            settings,
            lengths: vec![0; buffers as usize],
            arrivals: VecDeque::new(),
            broken: VecDeque::new(),
            batch: Vec::new(),
            is_flushing: false,
            polls: 0,
            now: Instant::ZERO,
        }
    }

    /// Begins to connect with a rank, unless it is connected.
    pub(super) fn open(&mut self, now: Instant, rank: Rank) -> Result<(), TransportError> {
        let fabric = fabric(&self.domain, &self.cq, &self.memory, &self.place);
        self.connections.open(now, rank, &fabric).map_err(failed)
    }

    /// A header of the transport's own packets.
    pub(super) fn header(&self, kind: Kind, payload: &[u8]) -> [u8; HEADER_LEN] {
        let Place { rank: source, key, .. } = self.place;
        let (op, fragment) = (OpId(0), Fragment(0));
        Header { kind, source, key, op, fragment, message_len: 0, report: 0 }.emit(payload, true)
    }

    pub(super) fn path(&self, rank: Rank) -> PathTo {
        let Station { gid, lid, .. } = self.peers[rank.index()].station;
        let Place { port, gid_index: source_index, .. } = self.place;
        PathTo { gid, lid, port, source_index }
    }

    pub(super) fn send_handshake(
        &mut self,
        rank: Rank,
        message: &Message,
    ) -> Result<(), TransportError> {
        let payload = message.emit();
        let header = self.header(Kind::Connect, &payload);
        let to = (rank, self.peers[rank.index()].station, self.path(rank));
        // Without a slot it is as if the datagram were lost: it will be repeated.
        self.datagrams.unicast(&self.domain, to, &header, &payload).map_err(failed).map(drop)
    }

    /// The buffer of a fetch.
    pub(super) fn fetch_buffer(&self, index: u32) -> Buffer {
        let Settings { receive_depth, reliable_receive_depth, .. } = self.settings;
        Buffer { index: receive_depth + reliable_receive_depth + index }
    }

    fn owner(&self, buffer: &Buffer) -> Owner {
        let Settings { receive_depth, reliable_receive_depth, .. } = self.settings;
        match buffer.index.checked_sub(receive_depth) {
            None => Owner::Datagrams(buffer.index),
            Some(index) => match index.checked_sub(reliable_receive_depth) {
                None => Owner::Connections(index),
                Some(index) => Owner::Fetches(index),
            },
        }
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

pub(super) fn fabric<'a>(
    domain: &'a ProtectionDomain,
    cq: &'a CompletionQueue,
    memory: &'a Memory,
    place: &Place,
) -> Fabric<'a> {
    let Place { port, packet_len: mtu, reads, .. } = *place;
    let Memory { ring, reports, fetches } = memory;
    let lent = [ring.memory(), reports.sources()];
    Fabric { domain, cq, port, mtu, reads, fetches: fetches.pool(), lent }
}

/// Whose a buffer is, and its index there.
enum Owner {
    Datagrams(u32),
    Connections(u32),
    Fetches(u32),
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

    fn report_room(&self, to: Rank) -> usize {
        self.memory.reports.room(to)
    }

    fn fetch_room(&self, _from: Rank) -> usize {
        self.memory.fetches.room()
    }

    fn is_idle(&self, slot: u32) -> bool {
        self.memory.ring.is_idle(slot)
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
            false => Err(no_slot("a datagram")),
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
        let payload = Source::Bytes(payload);
        match self.connections.send(to, header, payload, Some(token)).map_err(failed)? {
            true => Ok(()),
            false => Err(no_slot(&format!("a message to {to}"))),
        }
    }

    fn ring_len(&self) -> u32 {
        self.settings.ring_depth
    }

    fn retain(
        &mut self,
        slot: u32,
        header: &[u8; HEADER_LEN],
        payload: &[u8],
    ) -> Result<(), TransportError> {
        self.memory.ring.retain(slot, header, payload);
        Ok(())
    }

    fn multicast_retained(&mut self, slot: u32) -> Result<(), TransportError> {
        self.multicast_slot(slot)
    }

    fn reliable_retained(
        &mut self,
        to: Rank,
        slot: u32,
        token: Token,
    ) -> Result<(), TransportError> {
        self.send_slot(to, slot, token)
    }

    fn report(&mut self, to: Rank, counter: Counter, value: u64) -> Result<(), TransportError> {
        self.write_report(to, counter, value)
    }

    fn fetch(&mut self, from: Rank, slot: u32, token: Token) -> Result<(), TransportError> {
        self.read_slot(from, slot, token)
    }

    fn notice_room(&self) -> usize {
        self.connections.free_slots()
    }

    fn connect(&mut self, peer: Rank) -> Result<(), TransportError> {
        self.open(self.now, peer)
    }

    fn is_connected(&self, peer: Rank) -> bool {
        self.connections.is_connected(peer)
    }

    fn disconnect(&mut self, now: Instant, peer: Rank) {
        self.connections.depart(now, peer);
    }

    fn connected(&self) -> Vec<Rank> {
        self.connections.ranks().to_vec()
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
            if let Some(peer) = self.connections.take_departed(now) {
                self.give_up_on(peer);
            }
            if self.connections.are_opening() {
                for (rank, message) in self.connections.poll_handshakes(now) {
                    self.send_handshake(rank, &message)?;
                }
                self.send_confirms()?;
            }
            if !self.pull(now)? && !self.look_at_reports() {
                let broken = self.broken.pop_front();
                return Ok(broken.map(|(peer, reason)| Arrival::Broken { peer, reason }));
            }
        }
    }

    fn bytes(&self, buffer: &Buffer) -> &[u8] {
        let len = self.lengths[buffer.index as usize];
        match self.owner(buffer) {
            Owner::Datagrams(slot) => {
                let is_in_place = self.loans.in_place[slot as usize].is_some();
                let len = if is_in_place { len.min(GRH_LEN + HEADER_LEN) } else { len };
                self.datagrams.bytes(slot, len)
            }
            Owner::Connections(slot) => self.connections.bytes(slot, len),
            Owner::Fetches(slot) => self.memory.fetches.bytes(slot, len),
        }
    }

    fn recycle(&mut self, buffer: Buffer) -> Result<(), TransportError> {
        match self.owner(&buffer) {
            Owner::Datagrams(slot) => self.recycle_datagram(slot),
            Owner::Connections(slot) => self.connections.recycle(slot).map_err(failed),
            Owner::Fetches(slot) => {
                self.memory.fetches.recycle(slot);
                Ok(())
            }
        }
    }

    fn payload_elsewhere(&self, buffer: &Buffer) -> Option<&[u8]> {
        self.landed_payload(buffer.index)
    }

    fn lent(&self, op: OpId, range: Range<usize>) -> Option<&[u8]> {
        self.loans.bytes(op, range)
    }

    fn multicast_lent(
        &mut self,
        header: &[u8; HEADER_LEN],
        op: OpId,
        range: Range<usize>,
    ) -> Result<bool, TransportError> {
        let sent = match self.loans.source(op, range)? {
            Source::Place(tail) => (self.datagrams.multicast_with(header, tail), true),
            Source::Bytes(payload) => (self.datagrams.multicast(header, payload), false),
        };
        match sent {
            (Ok(true), in_place) => Ok(in_place),
            (Ok(false), _) => Err(no_slot("a datagram")),
            (Err(error), _) => Err(failed(error)),
        }
    }

    fn reliable_lent(
        &mut self,
        to: Rank,
        header: &[u8; HEADER_LEN],
        op: OpId,
        range: Range<usize>,
        token: Token,
    ) -> Result<bool, TransportError> {
        if !self.connections.is_connected(to) {
            self.open(self.now, to)?;
        }
        let payload = self.loans.source(op, range)?;
        let in_place = matches!(payload, Source::Place(_));
        match self.connections.send(to, header, payload, Some(token)).map_err(failed)? {
            true => Ok(in_place),
            false => Err(no_slot(&format!("a message to {to}"))),
        }
    }

    fn retain_lent(
        &mut self,
        slot: u32,
        header: &[u8; HEADER_LEN],
        op: OpId,
        range: Range<usize>,
    ) -> Result<(), TransportError> {
        let payload = self.loans.bytes(op, range).ok_or_else(|| not_lent(op))?;
        self.memory.ring.retain(slot, header, payload);
        Ok(())
    }

    fn place(
        &mut self,
        op: OpId,
        range: Range<usize>,
        from: Origin<'_>,
    ) -> Result<Option<Placed>, TransportError> {
        self.place_payload(op, range, from)
    }
}

fn no_slot(what: &str) -> TransportError {
    TransportError { what: format!("no slot is free for {what}") }
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
                let at_most = at_most.min(wait::longest_sleep(idle));
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
