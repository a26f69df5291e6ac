//! Broadcasts by reliable sends alone: what the multicast protocols are compared with, and what
//! remains where there is no multicast.
//!
//! Each fragment goes along a tree over all ranks (`routes`); a rank passes a fragment on as soon
//! as it has it. Every rank gets every fragment once, so nothing is redundant and nothing is lost.
//! A rank that is behind keeps what comes for later operations; `credits` bound how much that is.

mod config;
mod credits;
mod outbox;
mod routes;
#[cfg(test)]
mod tests;

pub use config::Config;
pub use routes::Algorithm;

use super::{
    Bitmap, ConfigError, Core, Counter, Departure, Disposition, Event, Fragments, Incoming, Limits,
    Piece, Room, SmallMap, StartError, Target, Timer, Token, Transmit, Via, disagreement,
    ring_peers,
};
use crate::rank::{Fragment, OpId, Rank};
use crate::time::Instant;
use crate::wire::Kind;
use credits::Credits;
use outbox::Outbox;
use routes::Route;
use std::collections::VecDeque;

/// A broadcast in flight.
#[derive(Clone, Debug)]
struct Operation {
    algorithm: Algorithm,
    root: Rank,
    cut: Fragments,
    owned: Bitmap,
    /// Sends that are not handed to the transport, by receiver.
    unsent: SmallMap<Rank, u32>,
    /// Sends whose delivery is not acknowledged, by receiver.
    undelivered: SmallMap<Rank, u32>,
    is_complete: bool,
    has_ended: bool,
}

/// The unicast family at one rank.
#[derive(Clone, Debug)]
pub struct Unicast {
    me: Rank,
    size: u32,
    config: Config,
    peers: Vec<Rank>,
    /// Operations from `first` on, without gaps; ended ones leave from the front.
    operations: VecDeque<Operation>,
    first: OpId,
    outbox: Outbox,
    credits: Credits,
    departed: Vec<Departure>,
    events: VecDeque<Event>,
}

impl Unicast {
    /// A core for rank `me` of `size`. `first` is the id of the first operation, the same at every
    /// rank.
    ///
    /// # Errors
    /// If the configuration contradicts itself.
    pub fn new(me: Rank, size: u32, first: OpId, config: Config) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Unicast {
            me,
            size,
            config,
            peers: ring_peers(me, size),
            operations: VecDeque::new(),
            first,
            outbox: Outbox::default(),
            credits: Credits::new(config.eager),
            departed: Vec::new(),
            events: VecDeque::new(),
        })
    }

    /// As [`start`](Core::start), with another algorithm for this operation, the same at every rank.
    ///
    /// # Errors
    /// As [`start`](Core::start).
    pub fn start_with(
        &mut self,
        _now: Instant,
        root: Rank,
        len: u64,
        algorithm: Algorithm,
    ) -> Result<OpId, StartError> {
        let Config { in_flight, fragment_len, .. } = self.config;
        let limits = Limits { size: self.size, in_flight, fragment_len, fragments: u32::MAX };
        let cut = limits.admit(root, len, self.operations.len())?;
        let op = self.next_op();
        let count = cut.count();
        let is_root = root == self.me;
        self.operations.push_back(Operation {
            algorithm,
            root,
            cut,
            owned: if is_root { Bitmap::full(count) } else { Bitmap::new(count) },
            unsent: SmallMap::default(),
            undelivered: SmallMap::default(),
            is_complete: false,
            has_ended: false,
        });
        self.count_sends(op);
        if is_root {
            (0..count).for_each(|fragment| self.pass_on(op, Fragment(fragment)));
        }
        self.settle();
        self.events.extend(self.departed.iter().filter_map(|left| left.disagreement(op)));
        Ok(op)
    }

    fn operation(&mut self, op: OpId) -> Option<&mut Operation> {
        let index = usize::try_from(op.after(self.first)).ok()?;
        self.operations.get_mut(index)
    }

    /// Counts what this rank will send of an operation.
    fn count_sends(&mut self, op: OpId) {
        let (me, size) = (self.me, self.size);
        let Some(operation) = self.operation(op) else { return };
        let Operation { algorithm, root, cut, .. } = *operation;
        for index in 0..cut.count() {
            for to in Route::new(algorithm, root, size, (index, cut.count())).children(me) {
                *operation.unsent.get_or_insert(to, 0) += 1;
            }
        }
    }

    /// Queues a fragment for those who get it from this rank.
    fn pass_on(&mut self, op: OpId, fragment: Fragment) {
        let (me, size) = (self.me, self.size);
        let Some(operation) = self.operation(op) else { return };
        let Operation { algorithm, root, cut, .. } = *operation;
        let route = Route::new(algorithm, root, size, (fragment.0, cut.count()));
        let children = route.children(me);
        children.into_iter().for_each(|to| self.outbox.push(to, op, fragment));
    }

    /// Emits the events that the operations' states call for, and lets ended ones go.
    fn settle(&mut self) {
        for (index, operation) in self.operations.iter_mut().enumerate() {
            let op = self.first.plus(index as u32);
            if !operation.is_complete && operation.owned.is_full() && operation.unsent.is_empty() {
                operation.is_complete = true;
                self.events.push_back(Event::Complete { op, lost: 0 });
            }
            let ends = operation.is_complete && operation.undelivered.is_empty();
            if ends && !operation.has_ended {
                operation.has_ended = true;
                self.events.push_back(Event::Quiescent(op));
            }
        }
        while self.operations.front().is_some_and(|operation| operation.has_ended) {
            self.operations.pop_front();
            self.first = self.first.next();
        }
    }

    fn handle_fragment(&mut self, packet: &Incoming) -> Disposition {
        if packet.op.after(self.first) < 0 {
            return Disposition::Late;
        }
        let (me, size) = (self.me, self.size);
        if packet.op.after(self.next_op()) >= 0 {
            return Disposition::Hold;
        }
        self.credits.consumed(packet.source);
        let Some(operation) = self.operation(packet.op) else { return Disposition::Reject };
        let Operation { algorithm, root, cut, .. } = *operation;
        if let Some(what) = disagreement::in_length(packet, &cut) {
            return self.disagree(packet.op, packet.source, what);
        }
        let Some(range) = cut.range(packet.fragment) else { return Disposition::Reject };
        if range.len() != packet.payload_len || packet.via != Via::Reliable {
            return Disposition::Reject;
        }
        let route = Route::new(algorithm, root, size, (packet.fragment.0, cut.count()));
        if !route.children(packet.source).contains(&me) {
            let what = format!("it sends what comes from another where {root} is root");
            return self.disagree(packet.op, packet.source, what);
        }
        if !operation.owned.insert(packet.fragment.0) {
            return Disposition::Duplicate;
        }
        self.pass_on(packet.op, packet.fragment);
        self.settle();
        Disposition::Place(range)
    }

    fn disagree(&mut self, op: OpId, rank: Rank, what: String) -> Disposition {
        self.events.push_back(Event::Disagreement { op, rank, what });
        Disposition::Reject
    }

    /// The next send for which there is room and credit.
    fn send(&mut self, room: &dyn Room) -> Option<Transmit> {
        let credits = &self.credits;
        let (operations, first) = (&self.operations, self.first);
        // A receiver gets all of an operation before anything of the next: it may wait for that.
        let is_first = |to: Rank, op: OpId| {
            let earlier = operations.iter().take(op.after(first) as usize);
            !earlier.into_iter().any(|operation| operation.unsent.contains_key(to))
        };
        let may = |to, op| room.reliable_room(to) > 0 && credits.has_credit(to) && is_first(to, op);
        let (to, op, fragment) = self.outbox.take(may)?;
        self.credits.sent(to);
        let report = self.credits.along(to);
        let operation = self.operation(op)?;
        operation.unsent.count_down(to);
        *operation.undelivered.get_or_insert(to, 0) += 1;
        let range = operation.cut.range(fragment).unwrap_or_default();
        let message_len = operation.cut.message_len() as u64;
        let piece = Piece { kind: Kind::Fragment, op, fragment, message_len, report, asks: false };
        self.settle();
        Some(Transmit::Send { target: Target::Rank(to), piece, range })
    }

    /// A rank takes nothing more.
    fn release(&mut self, rank: Rank) {
        self.outbox.drop_for(rank);
        for operation in &mut self.operations {
            operation.unsent.remove(rank);
            operation.undelivered.remove(rank);
        }
        self.credits.forget(rank);
        self.settle();
    }

    /// Whether there is an event.
    pub(super) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }
}

impl Core for Unicast {
    fn start(&mut self, now: Instant, root: Rank, len: u64) -> Result<OpId, StartError> {
        self.start_with(now, root, len, self.config.algorithm)
    }

    fn handle_packet(&mut self, _now: Instant, packet: &Incoming) -> Disposition {
        if packet.source.0 >= self.size || packet.source == self.me {
            return Disposition::Reject;
        }
        self.credits.learn(packet.source, packet.report);
        match packet.kind {
            Kind::Fragment => self.handle_fragment(packet),
            _ => Disposition::Reject,
        }
    }

    fn handle_delivered(&mut self, _now: Instant, to: Rank, token: Token) {
        let Some(operation) = self.operation(token.op) else { return };
        operation.undelivered.count_down(to);
        self.settle();
    }

    fn handle_report(&mut self, _now: Instant, from: Rank, counter: Counter, value: u64) {
        if counter == Counter::Consumed && from.0 < self.size {
            self.credits.learn(from, value);
        }
    }

    fn handle_write_acked(&mut self, _now: Instant, to: Rank, counter: Counter) {
        if counter == Counter::Consumed {
            self.credits.told(to);
        }
    }

    fn handle_broken(&mut self, _now: Instant, rank: Rank) {
        self.credits.forget(rank);
    }

    fn handle_departed(&mut self, _now: Instant, rank: Rank, next: OpId) {
        let departure = Departure { rank, next };
        self.departed.push(departure);
        let begun = (0..self.operations.len() as u32).map(|index| self.first.plus(index));
        self.events.extend(begun.filter_map(|op| departure.disagreement(op)));
        self.release(rank);
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, room: &dyn Room) -> Option<Transmit> {
        if let Some((to, value)) = self.credits.take_report(|to| room.report_room(to)) {
            return Some(Transmit::Report { to, counter: Counter::Consumed, value });
        }
        self.send(room)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<(Timer, Instant)> {
        None
    }

    fn peers(&self) -> &[Rank] {
        &self.peers
    }

    fn awaited(&self) -> Vec<Rank> {
        let size = self.size;
        let missing = self.operations.iter().find_map(|operation| {
            let count = operation.cut.count();
            let index = (0..count).find(|index| !operation.owned.contains(*index))?;
            Some(Route::new(operation.algorithm, operation.root, size, (index, count)))
        });
        let sender = missing.and_then(|route| {
            let mut ranks = (0..size).map(Rank);
            ranks.find(|rank| route.children(*rank).contains(&self.me))
        });
        self.outbox.receivers().chain(sender).collect()
    }

    /// Every fragment comes once, and nobody leaves without it.
    fn expected(&self, _before: OpId) -> u64 {
        0
    }

    fn eager(&self) -> u64 {
        u64::from(self.size - 1) * u64::from(self.config.eager)
    }

    fn is_drained(&self) -> bool {
        self.credits.is_clear()
    }

    fn next_op(&self) -> OpId {
        self.first.plus(self.operations.len() as u32)
    }
}
