//! Runs a protocol core over a transport: one turn receives, fires timers, transmits and collects
//! events. It is the same for hardware and simulation, reads no clock and never waits.
//!
//! Besides the core's own packets, the driver speaks the words that all protocols share: it
//! tells its peers when this rank fails or leaves, passes on what it hears of others, and asks the
//! peers' adapters whether they are there when an operation stands still.

mod failure;
mod held;
mod messages;
mod statistics;
mod watch;

pub use failure::Failure;
pub use messages::Lent;
pub use statistics::Statistics;

use crate::protocol::{Core, Disposition, Event, Incoming, StartError, Target, Transmit, Via};
use crate::rank::{Fragment, OpId, Rank};
use crate::time::Instant;
use crate::transport::{Arrival, Buffer, Token, Transport, TransportError};
use crate::wire::{Header, Key, Kind, Malformed, Notice, Packet};
use held::Held;
use messages::Messages;
use std::collections::HashSet;
use watch::Watch;

/// Reports taken from the transport in one turn, so that a flood cannot keep a turn from ending.
const ARRIVALS_PER_TURN: usize = 256;

/// What a driver needs to know besides its core and transport.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// This rank.
    pub rank: Rank,
    /// The communicator's key.
    pub key: Key,
    /// Whether the CRC covers payloads.
    pub payload_crc: bool,
    /// Most datagrams of operations to come that are kept.
    pub most_held: usize,
}

/// A core and a transport, and the messages in flight between them.
#[derive(Debug)]
pub struct Driver<C, T> {
    core: C,
    transport: T,
    identity: Identity,
    messages: Messages,
    held: Held,
    watch: Watch,
    completed: HashSet<OpId>,
    in_flight: usize,
    /// Peers that left in good order.
    departed: HashSet<Rank>,
    /// A peer whose connection broke while nothing was in flight, and what the adapter said.
    broken: Option<Failure>,
    failure: Option<Failure>,
    /// Aborts and farewells that are not delivered.
    owed: Vec<(Rank, Kind)>,
    statistics: Statistics,
}

impl<C: Core, T: Transport> Driver<C, T> {
    /// Joins a core and a transport.
    pub fn new(core: C, transport: T, identity: Identity) -> Self {
        Driver {
            core,
            transport,
            identity,
            messages: Messages::default(),
            held: Held::new(identity.most_held),
            watch: Watch::default(),
            completed: HashSet::new(),
            in_flight: 0,
            departed: HashSet::new(),
            broken: None,
            failure: None,
            owed: Vec::new(),
            statistics: Statistics::default(),
        }
    }

    /// The core.
    pub fn core(&self) -> &C {
        &self.core
    }

    /// The transport.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// The transport, to wait on it.
    pub fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    /// The counters so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Joins the next broadcast of `len` bytes; the message is lent to every [`turn`](Self::turn)
    /// until it is complete.
    ///
    /// # Errors
    /// As [`Core::start`].
    pub fn start(&mut self, now: Instant, root: Rank, len: usize) -> Result<OpId, StartError> {
        let op = self.core.start(now, root, len as u64)?;
        self.in_flight += 1;
        self.statistics.operations += 1;
        self.watch.progress(now);
        Ok(op)
    }

    /// Joins the next broadcast with a message that the driver owns until it is
    /// [taken](Self::take_message).
    ///
    /// # Errors
    /// As [`Core::start`].
    pub fn start_owned(
        &mut self,
        now: Instant,
        root: Rank,
        message: Vec<u8>,
    ) -> Result<OpId, StartError> {
        let op = self.start(now, root, message.len())?;
        self.messages.insert(op, message);
        Ok(op)
    }

    /// Whether an operation has completed since it was last asked for.
    pub fn take_complete(&mut self, op: OpId) -> bool {
        self.completed.remove(&op)
    }

    /// The message of an operation that has completed, once.
    pub fn take_message(&mut self, op: OpId) -> Option<Vec<u8>> {
        self.messages.remove(op)
    }

    /// Whether nothing is owed, by this rank or to it, for any operation begun here.
    pub fn is_quiescent(&self) -> bool {
        self.in_flight == 0 && self.core.is_drained()
    }

    /// Whether an abort or farewell is on its way.
    pub fn owes_notices(&self) -> bool {
        !self.owed.is_empty()
    }

    /// The next time at which a turn has something to do, whatever comes.
    pub fn next_timeout(&self) -> Option<Instant> {
        let timer = self.core.poll_timeout().map(|(_, at)| at);
        timer.into_iter().chain(self.watch.due_at()).min()
    }

    /// Receives, fires timers, transmits and collects events; whether there was anything to do.
    ///
    /// # Errors
    /// If this or another rank failed; from then on it is always the same error.
    pub fn turn(&mut self, now: Instant, mut lent: Option<Lent<'_>>) -> Result<bool, Failure> {
        let outcome = self.try_turn(now, &mut lent);
        self.settle(outcome)
    }

    /// This rank gives up: tells its peers, and fails from now on.
    pub fn abort(&mut self, reason: &str) -> Failure {
        self.fail(Failure { rank: self.identity.rank, reason: reason.to_owned() })
    }

    /// This rank leaves in good order: tells its peers that it needs nothing more.
    ///
    /// # Errors
    /// If the device fails.
    pub fn depart(&mut self) -> Result<(), Failure> {
        let outcome = self.notify(Kind::Bye, &[]);
        self.settle(outcome)
    }

    /// Takes reports until there are none, so that what is owed to peers gets delivered even after
    /// a failure; whether there were any.
    pub fn linger(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Ok(Some(arrival)) = self.transport.poll(now) {
            any = true;
            match arrival {
                Arrival::Delivered { to, token } => self.paid(to, token.kind),
                Arrival::Broken { peer, .. } => self.owed.retain(|(rank, _)| *rank != peer),
                Arrival::Packet { buffer, .. } => {
                    if self.transport.recycle(buffer).is_err() {
                        break;
                    }
                }
                Arrival::Alive { .. } => {}
            }
        }
        any
    }

    fn try_turn(
        &mut self,
        now: Instant,
        lent: &mut Option<Lent<'_>>,
    ) -> Result<bool, TransportError> {
        let mut worked = self.receive(now, lent)?;
        if self.core.poll_timeout().is_some_and(|(_, at)| at <= now) {
            self.core.handle_timeout(now);
            worked = true;
        }
        worked |= self.transmit(lent)?;
        self.collect_events();
        self.watch(now, worked)?;
        Ok(worked)
    }

    fn settle<V>(&mut self, outcome: Result<V, TransportError>) -> Result<V, Failure> {
        match (outcome, &self.failure) {
            (_, Some(failure)) => Err(failure.clone()),
            (Ok(value), None) => Ok(value),
            (Err(error), None) => Err(self.abort(&error.what)),
        }
    }

    fn receive(
        &mut self,
        now: Instant,
        lent: &mut Option<Lent<'_>>,
    ) -> Result<bool, TransportError> {
        let mut worked = false;
        while let Some((via, buffer)) = self.held.take_begun(self.core.next_op()) {
            worked = true;
            self.receive_packet(now, via, buffer, lent)?;
        }
        for _ in 0..ARRIVALS_PER_TURN {
            let Some(arrival) = self.transport.poll(now)? else { break };
            match arrival {
                Arrival::Packet { via, buffer } => {
                    self.receive_packet(now, via, buffer, lent)?;
                }
                Arrival::Delivered { to, token } => {
                    self.paid(to, token.kind);
                    self.core.handle_delivered(now, to, token.kind, token.op);
                }
                Arrival::Broken { peer, reason } => self.broke(peer, reason),
                // An answer is no progress of the operation.
                Arrival::Alive { .. } => continue,
            }
            worked = true;
        }
        Ok(worked)
    }

    fn receive_packet(
        &mut self,
        now: Instant,
        via: Via,
        buffer: Buffer,
        lent: &mut Option<Lent<'_>>,
    ) -> Result<(), TransportError> {
        let bytes = self.transport.bytes(&buffer);
        let packet = match Packet::parse(bytes, self.identity.key) {
            Ok(packet) => packet,
            Err(malformed) => {
                match malformed {
                    Malformed::Foreign => self.statistics.foreign += 1,
                    Malformed::Damaged => self.statistics.damaged += 1,
                }
                return self.transport.recycle(buffer);
            }
        };
        let header = *packet.header();
        if header.source == self.identity.rank {
            // Multicast comes back to its sender.
            return self.transport.recycle(buffer);
        }
        match header.kind {
            Kind::Abort => {
                let notice = Notice::parse(packet.payload());
                self.transport.recycle(buffer)?;
                if let Some(Notice { rank, reason }) = notice {
                    self.fail(Failure { rank, reason });
                }
                return Ok(());
            }
            Kind::Bye => {
                self.departed.insert(header.source);
                self.core.handle_departed(now, header.source, header.op);
                return self.transport.recycle(buffer);
            }
            _ => {}
        }
        let incoming = Incoming {
            via,
            source: header.source,
            kind: header.kind,
            op: header.op,
            fragment: header.fragment,
            message_len: header.message_len,
            payload_len: packet.payload().len(),
        };
        let disposition = self.core.handle_packet(now, &incoming);
        if let Disposition::Place(range) = &disposition
            && let Some(message) = self.messages.get_mut(lent, header.op)
        {
            message[range.clone()].copy_from_slice(packet.payload());
        }
        if disposition == Disposition::Hold {
            let Err(buffer) = self.held.keep(header.op, via, buffer) else { return Ok(()) };
            self.statistics.overflowed += 1;
            return self.transport.recycle(buffer);
        }
        self.count(via, &disposition);
        self.transport.recycle(buffer)
    }

    fn count(&mut self, via: Via, disposition: &Disposition) {
        let statistics = &mut self.statistics;
        match via {
            Via::Multicast => statistics.multicast_received += 1,
            Via::Reliable => statistics.reliable_received += 1,
        }
        match disposition {
            Disposition::Place(_) => statistics.repaired += u64::from(via == Via::Reliable),
            Disposition::Redundant => statistics.redundant += 1,
            Disposition::Duplicate => statistics.duplicates += 1,
            Disposition::Late => statistics.late += 1,
            Disposition::Reject => statistics.rejected += 1,
            Disposition::Consumed | Disposition::Hold => {}
        }
    }

    fn transmit(&mut self, lent: &mut Option<Lent<'_>>) -> Result<bool, TransportError> {
        let mut worked = false;
        while let Some(transmit) = self.core.poll_transmit(&self.transport) {
            worked = true;
            self.send(&transmit, lent)?;
        }
        Ok(worked)
    }

    fn send(
        &mut self,
        transmit: &Transmit,
        lent: &mut Option<Lent<'_>>,
    ) -> Result<(), TransportError> {
        let Transmit { target, kind, op, fragment, message_len, range } = transmit.clone();
        let payload = match self.messages.get_mut(lent, op) {
            Some(message) => &message[range],
            None if range.is_empty() => &[],
            None => {
                let what = format!("{op} is in flight, but its message was not lent");
                return Err(TransportError { what });
            }
        };
        let Identity { rank: source, key, payload_crc, .. } = self.identity;
        let header = Header { kind, source, key, op, fragment, message_len };
        let header = header.emit(payload, payload_crc);
        match target {
            Target::Group => {
                self.statistics.multicast_sent += 1;
                self.transport.multicast(&header, payload)
            }
            Target::Rank(to) => {
                self.statistics.reliable_sent += 1;
                self.transport.reliable(to, &header, payload, Token { kind, op })
            }
        }
    }

    fn collect_events(&mut self) {
        while let Some(event) = self.core.poll_event() {
            match event {
                Event::Complete { op, lost } => {
                    self.statistics.lost += lost;
                    self.completed.insert(op);
                }
                Event::Quiescent(_) => self.in_flight -= 1,
                Event::Disagreement { op, rank, what } => {
                    let reason = format!("{op}: {what} (as seen by {})", self.identity.rank);
                    self.fail(Failure { rank, reason });
                }
            }
        }
    }

    fn watch(&mut self, now: Instant, worked: bool) -> Result<(), TransportError> {
        if self.is_quiescent() {
            self.watch.rest();
            return Ok(());
        }
        if let Some(failure) = self.broken.take() {
            self.fail(failure);
            return Ok(());
        }
        if worked {
            self.watch.progress(now);
        } else if self.watch.take_due(now) {
            for peer in self.core.peers() {
                if !self.departed.contains(peer) {
                    self.transport.probe(*peer)?;
                }
            }
        }
        Ok(())
    }

    fn broke(&mut self, peer: Rank, reason: String) {
        self.owed.retain(|(rank, _)| *rank != peer);
        if !self.departed.contains(&peer) {
            let reason = format!("does not answer: {reason}");
            self.broken.get_or_insert(Failure { rank: peer, reason });
        }
    }

    /// Takes note of the first failure and tells the peers, who pass it on.
    fn fail(&mut self, failure: Failure) -> Failure {
        if let Some(first) = &self.failure {
            return first.clone();
        }
        self.failure = Some(failure.clone());
        let Failure { rank, reason } = failure.clone();
        let notice = Notice { rank, reason }.emit();
        // A device that fails here leaves the peers to find out by themselves.
        let _ = self.notify(Kind::Abort, &notice);
        failure
    }

    /// Sends a notice to every peer that can be reached; an abort goes to the group too, which is
    /// faster where it arrives.
    fn notify(&mut self, kind: Kind, payload: &[u8]) -> Result<(), TransportError> {
        let op = self.core.next_op();
        let Identity { rank: source, key, payload_crc, .. } = self.identity;
        let header = Header { kind, source, key, op, fragment: Fragment(0), message_len: 0 };
        let header = header.emit(payload, payload_crc);
        let broken = self.broken.as_ref().map(|failure| failure.rank);
        for peer in self.core.peers() {
            if !self.departed.contains(peer) && broken != Some(*peer) {
                self.transport.reliable(*peer, &header, payload, Token { kind, op })?;
                self.owed.push((*peer, kind));
            }
        }
        if kind == Kind::Abort && self.transport.multicast_room() > 0 {
            self.transport.multicast(&header, payload)?;
        }
        Ok(())
    }

    fn paid(&mut self, to: Rank, kind: Kind) {
        if let Some(at) = self.owed.iter().position(|owed| *owed == (to, kind)) {
            self.owed.swap_remove(at);
        }
    }
}
