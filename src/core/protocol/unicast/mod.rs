//! Broadcasts by reliable sends alone: what the multicast protocols are compared with, and what
//! remains where there is no multicast.
//!
//! Each fragment goes along a tree over all ranks (`routes`); a rank passes a fragment on as soon
//! as it has it. Every rank gets every fragment once, so nothing is redundant and nothing is lost.
//! A rank that is behind keeps what comes for later operations; `credits` bound how much that is.
//! Of a long message, fragments that follow one another go together, from memory to memory (`segments`).

mod config;
mod credits;
mod outbox;
mod routes;
mod segments;
#[cfg(test)]
mod tests;

pub use config::Config;
pub use routes::Algorithm;

use super::{
    Bitmap, ConfigError, Core, Counter, Departure, Disposition, Event, Fragments, Incoming, Limits,
    Piece, Room, SmallMap, StartError, Target, Timer, Token, Transmit, Via, disagreement,
};
use crate::order::RankOrder;
use crate::rank::{Fragment, OpId, Rank};
use crate::time::Instant;
use crate::wire::Kind;
use credits::Credits;
use outbox::Outbox;
use routes::{Route, routes};
use segments::{Item, Reach};
use std::collections::VecDeque;
use std::ops::Range;

/// A broadcast in flight.
#[derive(Clone, Debug)]
struct Operation {
    algorithm: Algorithm,
    root: Rank,
    cut: Fragments,
    owned: Bitmap,
    /// Who gets something of it from this rank, if it is long.
    receivers: SmallMap<Rank, Reach>,
    is_long: bool,
    /// Offers and fragments that are not handed to the transport, by receiver.
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
    order: RankOrder,
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
    /// A core for rank `me` of those in `order`. `first` is the id of the first operation, the same at every rank.
    ///
    /// # Errors
    /// If the configuration contradicts itself.
    pub fn new(
        me: Rank,
        order: impl Into<RankOrder>,
        first: OpId,
        config: Config,
    ) -> Result<Self, ConfigError> {
        config.validate()?;
        let order = order.into();
        Ok(Unicast {
            me,
            peers: order.ring_peers(me),
            order,
            config,
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
        let limits =
            Limits { size: self.order.size(), in_flight, fragment_len, fragments: u32::MAX };
        let cut = limits.admit(root, len, self.operations.len())?;
        let op = self.next_op();
        let count = cut.count();
        let is_root = root == self.me;
        self.operations.push_back(Operation {
            algorithm,
            root,
            cut,
            owned: if is_root { Bitmap::full(count) } else { Bitmap::new(count) },
            receivers: SmallMap::default(),
            is_long: self.order.size() > 1 && self.config.is_long(len),
            unsent: SmallMap::default(),
            undelivered: SmallMap::default(),
            is_complete: false,
            has_ended: false,
        });
        self.count_sends(op);
        match is_root {
            true => self.pass_on(op, 0..count),
            false => self.offer(op),
        }
        self.settle();
        self.events.extend(self.departed.iter().filter_map(|left| left.disagreement(op)));
        Ok(op)
    }

    fn operation(&mut self, op: OpId) -> Option<&mut Operation> {
        self.routed(op).map(|(operation, _)| operation)
    }

    /// An operation, with the order that its routes follow.
    fn routed(&mut self, op: OpId) -> Option<(&mut Operation, &RankOrder)> {
        let index = usize::try_from(op.after(self.first)).ok()?;
        Some((self.operations.get_mut(index)?, &self.order))
    }

    /// Counts what this rank will send of an operation.
    fn count_sends(&mut self, op: OpId) {
        let me = self.me;
        let Some((operation, order)) = self.routed(op) else { return };
        let Operation { algorithm, root, cut, .. } = *operation;
        for (fragments, route) in routes(algorithm, root, order, (0..cut.count(), cut.count())) {
            for to in route.children(me) {
                *operation.unsent.get_or_insert(to, 0) += fragments.len() as u32;
                if operation.is_long {
                    operation.receivers.get_or_insert(to, Reach::Unknown);
                }
            }
        }
    }

    /// Queues offers for those from whom this rank gets something of a long message.
    fn offer(&mut self, op: OpId) {
        let me = self.me;
        let Some((operation, order)) = self.routed(op) else { return };
        let Operation { algorithm, root, cut, is_long, .. } = *operation;
        if !is_long {
            return;
        }
        let mut senders: Vec<Rank> = Vec::new();
        for (_, route) in routes(algorithm, root, order, (0..cut.count(), cut.count())) {
            let sender = route.parent(me);
            senders.extend(sender.filter(|sender| !senders.contains(sender)));
        }
        for to in &senders {
            *operation.unsent.get_or_insert(*to, 0) += 1;
        }
        senders.into_iter().for_each(|to| self.outbox.push(to, op, Item::Offer));
    }

    /// Queues fragments for those who get them from this rank.
    fn pass_on(&mut self, op: OpId, fragments: Range<u32>) {
        let Some(operation) = self.operation(op) else { return };
        let Operation { algorithm, root, cut, .. } = *operation;
        for (run, route) in routes(algorithm, root, &self.order, (fragments, cut.count())) {
            for to in route.children(self.me) {
                self.outbox.push(to, op, Item::Fragments(run.clone()));
            }
        }
    }

    /// Emits the events that the operations' states call for, and lets ended ones go.
    fn settle(&mut self) {
        for (index, operation) in self.operations.iter_mut().enumerate() {
            let op = self.first.plus(index as u32);
            // What others tell comes before, so that nothing of it is left to come.
            let all_known = operation.receivers.values().all(|reach| reach.is_known());
            let is_done = operation.owned.is_full() && operation.unsent.is_empty() && all_known;
            if !operation.is_complete && is_done {
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
        let me = self.me;
        if packet.op.after(self.next_op()) >= 0 {
            return Disposition::Hold;
        }
        self.credits.consumed(packet.source);
        let Some((operation, order)) = self.routed(packet.op) else { return Disposition::Reject };
        let Operation { algorithm, root, cut, .. } = *operation;
        if let Some(what) = disagreement::in_length(packet, &cut) {
            return self.disagree(packet.op, packet.source, what);
        }
        let is_written = packet.kind == Kind::Written;
        let run = cut.run(packet.fragment, packet.payload_len);
        let run = match packet.payload_len {
            0 if cut.message_len() == 0 && packet.fragment.0 == 0 => Some(0..1),
            _ => run.filter(|run| is_written || run.len() == 1),
        };
        let Some(run) = run.filter(|_| packet.via == Via::Reliable) else {
            return Disposition::Reject;
        };
        if is_written && !operation.is_long {
            return Disposition::Reject;
        }
        let is_others = |(_, route): (_, Route)| route.parent(me) != Some(packet.source);
        if routes(algorithm, root, order, (run.clone(), cut.count())).any(is_others) {
            let what = format!("it sends what comes from another where {root} is root");
            return self.disagree(packet.op, packet.source, what);
        }
        if run.clone().any(|index| operation.owned.contains(index)) {
            return Disposition::Duplicate;
        }
        run.clone().for_each(|index| _ = operation.owned.insert(index));
        let range = cut.range_of(&run);
        self.pass_on(packet.op, run);
        self.settle();
        if is_written { Disposition::InPlace(range) } else { Disposition::Place(range) }
    }

    fn handle_offer(&mut self, packet: &Incoming) -> Disposition {
        if packet.op.after(self.first) < 0 {
            return Disposition::Late;
        }
        if packet.op.after(self.next_op()) >= 0 {
            return Disposition::Hold;
        }
        self.credits.consumed(packet.source);
        let Some(operation) = self.operation(packet.op) else { return Disposition::Reject };
        let (root, is_long) = (operation.root, operation.is_long);
        if let Some(what) = disagreement::in_length(packet, &operation.cut) {
            return self.disagree(packet.op, packet.source, what);
        }
        let Some(reach) = operation.receivers.get_mut(packet.source).filter(|_| is_long) else {
            let what =
                format!("it expects from this rank what comes from another where {root} is root");
            return self.disagree(packet.op, packet.source, what);
        };
        if reach.is_known() {
            return Disposition::Duplicate;
        }
        *reach = Reach::of(packet.memory);
        self.settle();
        Disposition::Consumed
    }

    fn disagree(&mut self, op: OpId, rank: Rank, what: String) -> Disposition {
        self.events.push_back(Event::Disagreement { op, rank, what });
        Disposition::Reject
    }

    /// The next send for which there is room and credit.
    fn send(&mut self, room: &dyn Room) -> Option<Transmit> {
        let credits = &self.credits;
        let (operations, first) = (&self.operations, self.first);
        let segment = self.config.fragments_in_segment();
        // A receiver gets all of an operation before anything of the next: it may wait for that.
        let is_first = |to: Rank, op: OpId| {
            let earlier = operations.iter().take(op.after(first) as usize);
            !earlier.into_iter().any(|operation| operation.unsent.contains_key(to))
        };
        let at_once = |to: Rank, op: OpId, item: &Item| {
            let operation = operations.get(op.after(first) as usize);
            let reach = operation.and_then(|operation| operation.receivers.get(to));
            match (item, reach) {
                (Item::Offer, _) | (Item::Fragments(_), None) => 1,
                (Item::Fragments(_), Some(reach)) => reach.at_once(segment),
            }
        };
        let may = |to: Rank, op: OpId, item: &Item| {
            let most = at_once(to, op, item);
            let may = most > 0
                && credits.has_credit(to)
                && is_first(to, op)
                && room.reliable_room(to) > 0;
            if may { most } else { 0 }
        };
        let (to, op, item) = self.outbox.take(may)?;
        self.credits.sent(to);
        let report = self.credits.along(to);
        let operation = self.operation(op)?;
        let message_len = operation.cut.message_len() as u64;
        let piece = |kind, fragment| Piece { kind, op, fragment, message_len, report, asks: false };
        let transmit = match item {
            Item::Offer => {
                operation.unsent.count_down(to);
                Transmit::Offer { to, piece: piece(Kind::Offer, Fragment(0)) }
            }
            Item::Fragments(run) => {
                run.clone().for_each(|_| _ = operation.unsent.count_down(to));
                *operation.undelivered.get_or_insert(to, 0) += 1;
                let range = operation.cut.range_of(&run);
                let fragment = Fragment(run.start);
                let mut reach = operation.receivers.get_mut(to);
                if let Some(reach) = &mut reach {
                    reach.sent();
                }
                match reach {
                    Some(Reach::Memory(into)) => {
                        let piece = piece(Kind::Written, fragment);
                        Transmit::Write { to, piece, range, into: *into }
                    }
                    _ => {
                        let piece = piece(Kind::Fragment, fragment);
                        Transmit::Send { target: Target::Rank(to), piece, range }
                    }
                }
            }
        };
        self.settle();
        Some(transmit)
    }

    /// A rank takes nothing more.
    fn release(&mut self, rank: Rank) {
        self.outbox.drop_for(rank);
        for operation in &mut self.operations {
            operation.unsent.remove(rank);
            operation.undelivered.remove(rank);
            if let Some(reach) = operation.receivers.get_mut(rank) {
                *reach = Reach::Packets;
            }
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

    fn fragment_len(&self, _len: u64) -> usize {
        self.config.fragment_len
    }

    fn handle_packet(&mut self, _now: Instant, packet: &Incoming) -> Disposition {
        if packet.source.0 >= self.order.size() || packet.source == self.me {
            return Disposition::Reject;
        }
        self.credits.learn(packet.source, packet.report);
        match packet.kind {
            Kind::Fragment | Kind::Written => self.handle_fragment(packet),
            Kind::Offer => self.handle_offer(packet),
            _ => Disposition::Reject,
        }
    }

    fn handle_delivered(&mut self, _now: Instant, to: Rank, token: Token) {
        // An offer is of memory that nobody gives back before all is here.
        let is_fragment = token.kind != Kind::Offer;
        let Some(operation) = self.operation(token.op).filter(|_| is_fragment) else { return };
        operation.undelivered.count_down(to);
        self.settle();
    }

    fn handle_report(&mut self, _now: Instant, from: Rank, counter: Counter, value: u64) {
        if counter == Counter::Consumed && from.0 < self.order.size() {
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

    fn add_awaited(&self, ranks: &mut Vec<Rank>) {
        let order = &self.order;
        let missing = self.operations.iter().find_map(|operation| {
            let count = operation.cut.count();
            let index = (0..count).find(|index| !operation.owned.contains(*index))?;
            Some(Route::new(operation.algorithm, operation.root, order, (index, count)))
        });
        let sender = missing.and_then(|route| route.parent(self.me));
        // Those who have all that is sent to them, but have not told where their memory is.
        let silent = self.operations.iter().flat_map(|operation| operation.receivers.iter());
        let silent = silent.filter(|(_, reach)| !reach.is_known()).map(|(rank, _)| rank);
        ranks.extend(self.outbox.receivers());
        for rank in silent.chain(sender) {
            if !ranks.contains(&rank) {
                ranks.push(rank);
            }
        }
    }

    /// Every fragment comes once, and nobody leaves without it.
    fn expected(&self, _before: OpId) -> u64 {
        0
    }

    fn eager(&self) -> u64 {
        u64::from(self.order.size() - 1) * u64::from(self.config.eager)
    }

    fn is_drained(&self) -> bool {
        self.credits.is_clear()
    }

    fn next_op(&self) -> OpId {
        self.first.plus(self.operations.len() as u32)
    }
}
