//! The two-stage broadcast of Hoefler, Siebert and Rehm (2007).
//!
//! Stage 1 multicasts the message's fragments, unreliably (`multicast_stage`). Stage 2 repairs
//! what was lost without any acknowledgement: the ranks form a virtual ring, and each forwards a
//! fragment to its successor over a reliable connection as soon as it owns it, however it came
//! (`chain_stage`). The root needs no copy, so the ring is cut in front of it. A rank leaves as
//! soon as it has every fragment and has forwarded every fragment.
//!
//! # Order
//! Operations are forwarded in their order, so a connection carries all of one operation before
//! anything of the next. A rank that keeps packets of operations it has not begun can therefore
//! never lack buffers for the operation that it waits for.
//!
//! # Leaving
//! A rank that has everything still gets its predecessor's copies, and while it is outside a call
//! nobody takes them from its receive queue. It therefore leaves only when the copies to come are no
//! more than that queue [absorbs](Config::absorbed): its predecessor never depends on a rank that
//! went on to something else, such as a barrier. Short messages are not held up by this.
//!
//! Before it leaves, it has also told its predecessor how much it has begun to wait for. A rank forwards only
//! [a little](Config::eager) more than that: what comes while its successor is elsewhere must not take the receives
//! that earlier operations still need.
//!
//! # Pacing
//! The root's multicast stays at most [`Config::run_ahead`] fragments ahead of what its successor's
//! adapter has acknowledged in stage 2. That clocks a long message to the speed of the receivers,
//! whose pre-posted receives it would otherwise overrun.

mod chain_stage;
mod config;
mod eager;
mod multicast_stage;
mod operation;
mod root_delay;
#[cfg(test)]
mod tests;

pub use config::{Config, Synchronisation};

use super::{
    ConfigError, Core, Counter, Departure, Disposition, Event, Incoming, Limits, Piece, Room,
    StartError, Target, Timer, ToCome, Token, Transmit, Via, disagreement,
};
use crate::order::RankOrder;
use crate::rank::{Fragment, OpId, Rank};
use crate::time::Instant;
use crate::wire::Kind;
use eager::Eager;
use multicast_stage::Gate;
use operation::{Operation, Owned};
use root_delay::RootDelay;
use std::collections::VecDeque;

/// The two-stage protocol at one rank.
#[derive(Clone, Debug)]
pub struct TwoStage {
    me: Rank,
    size: u32,
    config: Config,
    /// The neighbours on the virtual ring, and both together.
    predecessor: Rank,
    successor: Rank,
    peers: Vec<Rank>,
    /// Operations from `first` on, without gaps; ended ones leave from the front.
    operations: VecDeque<Operation>,
    first: OpId,
    /// Fragments that this rank multicast and whose forwarding is not acknowledged.
    ahead: u32,
    /// Fragments that the predecessor will forward to this rank.
    to_come: ToCome,
    eager: Eager,
    /// Roots to be told that this rank has joined their operation.
    to_announce: VecDeque<(OpId, Rank)>,
    /// Ranks to be connected with: those that announce, and their roots.
    partners: Vec<Rank>,
    /// Announcements for operations that have not begun here.
    early: Vec<(OpId, Rank)>,
    root_delay: Option<RootDelay>,
    /// Whether this rank lost fragments of the multicast in the last operation that it completed.
    has_lost: bool,
    /// Ranks of the ring that left.
    departed: Vec<Departure>,
    events: VecDeque<Event>,
}

impl TwoStage {
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
        let root_delay = match config.synchronisation {
            Synchronisation::Adaptive { most, .. } => Some(RootDelay::new(most)),
            _ => None,
        };
        Ok(TwoStage {
            me,
            size: order.size(),
            config,
            predecessor: order.predecessor(me),
            successor: order.successor(me),
            peers: order.ring_peers(me),
            operations: VecDeque::new(),
            first,
            ahead: 0,
            to_come: ToCome::default(),
            eager: Eager::new(config.eager),
            to_announce: VecDeque::new(),
            partners: Vec::new(),
            early: Vec::new(),
            root_delay,
            has_lost: false,
            departed: Vec::new(),
            events: VecDeque::new(),
        })
    }

    /// The operations in flight now.
    fn in_flight(&self) -> impl Iterator<Item = OpId> + use<> {
        let first = self.first;
        (0..self.operations.len() as u32).map(move |index| first.plus(index))
    }

    fn operation(&mut self, op: OpId) -> Option<&mut Operation> {
        let index = usize::try_from(op.after(self.first)).ok()?;
        self.operations.get_mut(index)
    }

    /// What an operation of this rank as root waits for; another rank may have told it of joining.
    fn gate(&mut self, now: Instant, op: OpId, announcer: Option<Rank>) -> Gate {
        if self.size == 1 {
            return Gate::Open;
        }
        match (self.config.synchronisation, announcer, &mut self.root_delay) {
            (Synchronisation::Delay(delay), _, _) => Gate::Until(now + delay),
            (Synchronisation::RandomRank { .. }, Some(rank), _) => Gate::For(rank),
            (_, _, Some(delay)) => delay.begin(now, op),
            _ => Gate::Open,
        }
    }

    /// Emits the events that an operation's state calls for, and lets ended operations go.
    fn settle(&mut self, op: OpId) {
        let absorbed = u64::from(self.config.absorbed);
        let to_come = self.to_come.before(op.next());
        let may_leave = to_come <= absorbed && !self.eager.owes_report();
        let Some(operation) = self.operation(op) else { return };
        let complete = if may_leave { operation.take_complete() } else { None };
        let quiescent = operation.take_quiescent();
        if let Some(lost) = complete {
            self.has_lost = lost > 0;
            self.events.push_back(Event::Complete { op, lost });
        }
        self.events.extend(quiescent.then_some(Event::Quiescent(op)));
        while self.operations.front().is_some_and(Operation::has_ended) {
            self.operations.pop_front();
            self.first = self.first.next();
        }
    }

    fn settle_all(&mut self) {
        for op in self.in_flight() {
            self.settle(op);
        }
    }

    /// Counts a fragment of the predecessor for an operation that has begun here.
    fn count_expected(&mut self, packet: &Incoming) {
        let forwarded = packet.via == Via::Reliable && packet.source == self.predecessor;
        if forwarded && self.to_come.came(packet.op) {
            self.settle_all();
        }
    }

    fn handle_fragment(&mut self, packet: &Incoming) -> Disposition {
        self.count_expected(packet);
        if packet.op.after(self.first) < 0 {
            return Disposition::Late;
        }
        let Some(operation) = self.operation(packet.op) else { return Disposition::Hold };
        let (cut, root) = (operation.cut, operation.root);
        let length = disagreement::in_length(packet, &cut);
        if let Some(what) = length.or_else(|| disagreement::in_root(packet, root)) {
            return self.disagree(packet.op, packet.source, what);
        }
        let Some(range) = cut.range(packet.fragment) else { return Disposition::Reject };
        if range.len() != packet.payload_len {
            return Disposition::Reject;
        }
        let disposition = match operation.own(packet.fragment, packet.via) {
            Owned::New => Disposition::Place(range),
            Owned::SecondWay => Disposition::Redundant,
            Owned::Again => Disposition::Duplicate,
        };
        self.settle(packet.op);
        disposition
    }

    fn handle_ready(&mut self, now: Instant, packet: &Incoming) -> Disposition {
        let ahead = packet.op.after(self.first);
        if let Some(delay) = &mut self.root_delay {
            delay.joined(now, packet.op, packet.report > 0);
            return Disposition::Consumed;
        }
        if ahead < 0 {
            return Disposition::Late;
        }
        if let Some(operation) = self.operation(packet.op) {
            operation.open_for(packet.source);
            return Disposition::Consumed;
        }
        // A rank joins no operation further ahead than it may have in flight beyond this one's.
        let announcement = (packet.op, packet.source);
        if ahead as u32 >= 2 * self.config.in_flight {
            return Disposition::Reject;
        }
        if !self.early.contains(&announcement) {
            self.early.push(announcement);
        }
        Disposition::Consumed
    }

    fn disagree(&mut self, op: OpId, rank: Rank, what: String) -> Disposition {
        self.events.push_back(Event::Disagreement { op, rank, what });
        Disposition::Reject
    }

    fn announce(&mut self, room: &dyn Room) -> Option<Transmit> {
        let (op, root) = *self.to_announce.front()?;
        if room.reliable_room(root) == 0 {
            return None;
        }
        self.to_announce.pop_front();
        let target = Target::Rank(root);
        let message_len = self.operation(op).map_or(0, |operation| operation.cut.message_len());
        let (fragment, message_len) = (Fragment(0), message_len as u64);
        let report = u64::from(self.has_lost);
        let piece = Piece { kind: Kind::Ready, op, fragment, message_len, report, asks: false };
        Some(Transmit::Send { target, piece, range: 0..0 })
    }

    fn multicast(&mut self, room: &dyn Room) -> Option<Transmit> {
        if room.multicast_room() == 0 || self.ahead >= self.config.run_ahead {
            return None;
        }
        // Only the oldest operation with something to multicast: its pacing serves the later ones.
        let index = self.operations.iter().position(Operation::has_to_multicast)?;
        let op = self.first.plus(index as u32);
        let operation = &mut self.operations[index];
        let fragment = operation.take_multicast()?;
        let transmit = operation.transmit(Target::Group, op, fragment);
        self.ahead += 1;
        Some(transmit)
    }

    fn forward(&mut self, room: &dyn Room) -> Option<Transmit> {
        let successor = self.successor;
        if room.reliable_room(successor) == 0 || !self.eager.has_room() {
            return None;
        }
        let index = self.operations.iter().position(Operation::has_to_forward)?;
        let op = self.first.plus(index as u32);
        let operation = &mut self.operations[index];
        let fragment = operation.take_forward()?;
        let transmit = operation.transmit(Target::Rank(successor), op, fragment);
        self.eager.forwarded();
        self.settle(op);
        Some(transmit)
    }

    fn report(&mut self, room: &dyn Room) -> Option<Transmit> {
        let to = self.predecessor;
        let value = self.eager.take_report(|| room.report_room(to) > 0)?;
        self.settle_all();
        Some(Transmit::Report { to, counter: Counter::Begun, value })
    }

    fn forget(&mut self, rank: Rank) {
        if rank == self.successor {
            self.eager.forget_successor();
        }
        if rank == self.predecessor {
            self.eager.forget_predecessor();
        }
    }

    /// Applies a departure to one operation: what the rank took part in needs nothing more of it,
    /// and what it did not take part in cannot be.
    fn apply_departure(&mut self, op: OpId, departure: Departure) {
        let successor = self.successor;
        if let Some(disagreement) = departure.disagreement(op) {
            self.events.push_back(disagreement);
        } else if departure.rank == successor
            && let Some(operation) = self.operation(op)
        {
            let released = operation.release_chain();
            self.ahead = self.ahead.saturating_sub(released);
            self.settle(op);
        }
    }

    /// Whether there is an event.
    pub(super) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }
}

impl Core for TwoStage {
    fn start(&mut self, now: Instant, root: Rank, len: u64) -> Result<OpId, StartError> {
        let Config { in_flight, fragment_len, .. } = self.config;
        let limits = Limits { size: self.size, in_flight, fragment_len, fragments: u32::MAX };
        let cut = limits.admit(root, len, self.operations.len())?;
        let op = self.next_op();
        let is_root = root == self.me;
        let forwards = self.size > 1 && root != self.successor;
        // Without a multicast there is nothing to hold back.
        let synchronisation = Some(self.config.synchronisation).filter(|_| self.config.multicast);
        let announcer = synchronisation.and_then(|how| how.announcer(op, root, self.size));
        if announcer == Some(self.me) {
            self.to_announce.push_back((op, root));
            self.partners.push(root);
        }
        if is_root {
            self.partners.extend(announcer);
        }
        let multicasts = self.config.multicast && self.size > 1;
        let mut operation = if is_root {
            let gate = self.gate(now, op, announcer);
            Operation::root(root, cut, gate, multicasts, forwards)
        } else {
            Operation::receiver(root, cut, forwards)
        };
        self.early.retain(|(early, rank)| {
            if *early == op {
                operation.open_for(*rank);
            }
            *early != op
        });
        self.operations.push_back(operation);
        if !is_root {
            self.to_come.begin(op, self.predecessor, cut.count());
            self.eager.begin(cut.count());
        }
        self.settle(op);
        for departure in self.departed.clone() {
            self.apply_departure(op, departure);
        }
        Ok(op)
    }

    fn fragment_len(&self, _len: u64) -> usize {
        self.config.fragment_len
    }

    fn handle_packet(&mut self, now: Instant, packet: &Incoming) -> Disposition {
        if packet.source.0 >= self.size || packet.source == self.me {
            return Disposition::Reject;
        }
        match packet.kind {
            Kind::Fragment => self.handle_fragment(packet),
            Kind::Ready => self.handle_ready(now, packet),
            Kind::Abort
            | Kind::Bye
            | Kind::Probe
            | Kind::Connect
            | Kind::Acknowledge
            | Kind::Offer
            | Kind::Written => Disposition::Reject,
        }
    }

    fn handle_delivered(&mut self, _now: Instant, to: Rank, token: Token) {
        let Token { kind, op, .. } = token;
        if kind != Kind::Fragment || to != self.successor {
            return;
        }
        let Some(operation) = self.operation(op) else { return };
        if operation.delivered() {
            self.ahead -= 1;
        }
        self.settle(op);
    }

    fn handle_departed(&mut self, _now: Instant, rank: Rank, next: OpId) {
        if !self.peers.contains(&rank) {
            return;
        }
        let departure = Departure { rank, next };
        self.departed.push(departure);
        if rank == self.predecessor {
            // What it had to forward came before its farewell.
            self.to_come.clear();
        }
        self.forget(rank);
        for op in self.in_flight() {
            self.apply_departure(op, departure);
            self.settle(op);
        }
    }

    fn handle_report(&mut self, _now: Instant, from: Rank, counter: Counter, value: u64) {
        if counter == Counter::Begun && from == self.successor {
            self.eager.learn(value);
        }
    }

    fn handle_write_acked(&mut self, _now: Instant, to: Rank, counter: Counter) {
        if counter == Counter::Begun && to == self.predecessor {
            self.eager.arrived();
        }
    }

    fn handle_broken(&mut self, _now: Instant, rank: Rank) {
        self.forget(rank);
    }

    fn handle_timeout(&mut self, now: Instant) {
        for operation in &mut self.operations {
            operation.open_by(now);
        }
    }

    fn poll_transmit(&mut self, room: &dyn Room) -> Option<Transmit> {
        let transmit = self.announce(room).or_else(|| self.multicast(room));
        transmit.or_else(|| self.report(room)).or_else(|| self.forward(room))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<(Timer, Instant)> {
        let opens = self.operations.iter().filter_map(Operation::opens_at).min()?;
        Some((Timer::RootDelay, opens))
    }

    fn peers(&self) -> &[Rank] {
        &self.peers
    }

    fn add_awaited(&self, ranks: &mut Vec<Rank>) {
        ranks.extend(self.operations.iter().filter_map(Operation::awaits));
    }

    fn take_partners(&mut self) -> Vec<Rank> {
        std::mem::take(&mut self.partners)
    }

    fn expected(&self, before: OpId) -> u64 {
        self.to_come.before(before)
    }

    fn eager(&self) -> u64 {
        u64::from(if self.size > 1 { self.config.eager } else { 0 })
    }

    fn is_drained(&self) -> bool {
        self.to_come.is_empty() && self.eager.is_clear()
    }

    fn next_op(&self) -> OpId {
        self.first.plus(self.operations.len() as u32)
    }
}
