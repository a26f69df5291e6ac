//! The window family of Liu, Mamidala and Panda (2004), and what came after it.
//!
//! The root copies each fragment into a slot of a ring and multicasts it from there; it returns at
//! once, and the slot is free again when everybody has acknowledged (sections 4.2 and 5.1). One core
//! with parameters: the [basic](Config::blocking) design, co-roots or a chain of
//! [repairers](Repairers), lazy [acknowledgements](Acknowledge) by RDMA writes or messages, credits,
//! and repair by the repairer or by the receiver.
//!
//! # One sequence
//! Every rank takes part in every broadcast with the same length, so all can number all fragments
//! alike ([`Seq`]). One number then tells a repairer everything that a rank has, whatever the roots
//! were; it also says in which slot of any repairer's ring a fragment is, so that a receiver can
//! read it from there without asking.
//!
//! # Keeping
//! A rank that repairs others keeps each fragment in its ring, and its caller may go on only when all of
//! the message is there. So a full ring holds back the caller, at a co-root as at the root, and no
//! rank ever needs a buffer that it cannot get. To find the slot taken is treated as a timeout
//! (section 5.1): what holds it is sent again to whoever has not acknowledged it. That is done no
//! sooner than a round trip after it was sent, since no acknowledgement could be here before.
//!
//! # Leaving
//! A co-root that has everything still gets its reliable copies. As in the
//! [two-stage](super::two_stage) protocol, it leaves only when its receive queue
//! [absorbs](Config::absorbed) what is still to come, so that nobody depends on its coming back.
//!
//! # Who is heard in any case
//! Whatever a receiver loses, its repairer's timer ends it: with [`Repair::Pull`] that timer is only
//! slower, so that the receiver reads first. Reports that go along with a multicast may be lost with
//! it, so they put off the report proper and never replace it.

mod config;
mod debts;
mod groups;
mod operation;
mod patience;
mod pull;
mod report;
mod ring;
mod seq;
pub use config::{Acknowledge, By, Config, Repair};
pub use groups::{Groups, Repairers};
pub use patience::Bounds;
pub use report::Report;
pub use seq::Seq;

use super::{
    ConfigError, Core, Counter, Departure, Disposition, Event, Incoming, Limits, Piece, Room,
    StartError, Target, Timer, Token, Transmit, Via, disagreement, ring_peers,
};
use crate::rank::{Fragment, OpId, Rank};
use crate::time::Instant;
use crate::wire::Kind;
use debts::Debts;
use operation::Operation;
use patience::Patience;
use pull::Pull;
use ring::Ring;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Fragments of a message at most, so that their numbers keep an order where they wrap.
pub(super) const MOST_FRAGMENTS: u32 = 1 << 30;
/// By how much longer a repairer waits where receivers repair themselves.
const FORBEARANCE: u32 = 8;
/// Ranks that are asked at once whether they are there, of those whose acknowledgement is awaited.
const MOST_ASKED: usize = 16;
/// By how many times its usual delay an acknowledgement is put off that went along with a multicast.
const PUT_OFF: u32 = 4;

/// The window family at one rank.
#[derive(Clone, Debug)]
pub struct Window {
    me: Rank,
    size: u32,
    config: Config,
    peers: Vec<Rank>,
    /// Operations from `first` on, without gaps; complete ones leave from the front.
    operations: VecDeque<Operation>,
    first: OpId,
    /// How many operations at the front are here whole.
    whole: usize,
    /// Where the next operation begins.
    next_seq: Seq,
    /// Every fragment before this one is here.
    have: Seq,
    /// Every fragment before this one is known to have been sent, as far as its root goes.
    seen: Seq,
    ring: Ring,
    /// Slots that an operation holds, by its number.
    holding: BTreeMap<u32, u32>,
    /// Roots and groups whose broadcasts this rank took part in.
    introduced: BTreeSet<(Rank, Groups)>,
    /// Ranks to be connected with: repairers and those whom this rank repairs.
    partners: Vec<Rank>,
    /// Reliable copies that this rank will get as a co-root, for operations begun here.
    expected: BTreeMap<u32, u64>,
    /// The slot that the next fragment to keep needs and does not get.
    wanted: Option<u32>,
    /// The fragment that was kept last, to be multicast.
    to_multicast: Option<Transmit>,
    /// What may be sent by the credits known, and the rank that has least.
    limit: Seq,
    limit_among: Groups,
    laggard: Option<(Rank, Seq)>,
    debts: Debts,
    pull: Pull,
    departed: Vec<Departure>,
    events: VecDeque<Event>,
    now: Instant,
}

impl Window {
    /// A core for rank `me` of `size`. `first` is the id of the first operation, the same at every
    /// rank.
    ///
    /// # Errors
    /// If the configuration contradicts itself.
    pub fn new(me: Rank, size: u32, first: OpId, config: Config) -> Result<Self, ConfigError> {
        config.validate()?;
        // Fragments are counted from the same number as operations.
        let begin = Seq(first.0);
        let forbearance = if config.repair == Repair::Pull { FORBEARANCE } else { 1 };
        let patience = Patience::new(config.patience);
        Ok(Window {
            me,
            size,
            config,
            peers: ring_peers(me, size),
            operations: VecDeque::new(),
            first,
            whole: 0,
            next_seq: begin,
            have: begin,
            seen: begin,
            ring: Ring::new(me, config.window, begin, patience, forbearance),
            holding: BTreeMap::new(),
            introduced: BTreeSet::new(),
            partners: Vec::new(),
            expected: BTreeMap::new(),
            wanted: None,
            to_multicast: None,
            limit: begin.plus(config.credits.unwrap_or(0)),
            limit_among: Groups::new(config.repairers, size),
            laggard: None,
            debts: Debts::new(me, begin),
            pull: Pull::new(config.patience),
            departed: Vec::new(),
            events: VecDeque::new(),
            now: Instant::ZERO,
        })
    }

    /// As [`start`](Core::start), with other repairers for this operation, the same at every rank.
    ///
    /// # Errors
    /// As [`start`](Core::start).
    pub fn start_with(
        &mut self,
        now: Instant,
        root: Rank,
        len: u64,
        repairers: Repairers,
    ) -> Result<OpId, StartError> {
        self.now = now;
        let Config { in_flight, fragment_len, .. } = self.config;
        let limits = Limits { size: self.size, in_flight, fragment_len, fragments: MOST_FRAGMENTS };
        let cut = limits.admit(root, len, self.operations.len())?;
        let op = self.next_op();
        let groups = Groups::new(repairers, self.size);
        let operation = Operation::new(self.me, root, groups, cut, self.next_seq);
        let is_repaired = operation.repairer(self.me).is_some();
        if !is_repaired && root != self.me {
            self.expected.insert(op.0, u64::from(cut.count()));
        }
        self.introduce(&operation);
        self.next_seq = operation.end();
        self.operations.push_back(operation);
        self.advance();
        if is_repaired && self.config.repair == Repair::Pull {
            self.pull.begin(now);
        }
        self.settle();
        self.events.extend(self.departed.iter().filter_map(|left| left.disagreement(op)));
        Ok(op)
    }

    fn operation(&mut self, op: OpId) -> Option<&mut Operation> {
        let index = usize::try_from(op.after(self.first)).ok()?;
        self.operations.get_mut(index)
    }

    /// Whom this rank reports to in a broadcast of `root`.
    fn reports_to(&self, (root, groups): (Rank, Groups)) -> Option<Rank> {
        let co_root_reports = self.config.credits.is_some() && root != self.me;
        groups.repairer(self.me, root).or(co_root_reports.then_some(root))
    }

    /// What this rank reports in a broadcast of `root`.
    fn report(&self, (root, groups): (Rank, Groups)) -> Report {
        let mut credit = self.have;
        if self.config.credits.is_some() {
            for leaf in groups.leaves(self.me, root) {
                credit = credit.earlier(self.ring.known(leaf).credit);
            }
        }
        Report { have: self.have, credit }
    }

    /// Notes how far everything is here, and what that lets this rank owe.
    fn advance(&mut self) {
        while let Some(operation) = self.operations.get(self.whole) {
            self.have = operation.have();
            if !operation.has_all() {
                break;
            }
            let op = self.first.plus(self.whole as u32);
            let now = self.now;
            let context = operation.context();
            if let Some(repairer) = operation.repairer(self.me) {
                let is_due = self.config.acknowledges(op, self.me) && !self.config.piggyback;
                let by = if is_due { now } else { now + self.config.acknowledge_after };
                self.debts.owe(repairer, context, now, by);
            }
            self.whole += 1;
        }
        self.owe_what_lags();
        if !self.reads() {
            self.pull.rest();
        }
    }

    /// A report that lags too far is due at once, or soon where a datagram may have brought it.
    fn owe_what_lags(&mut self) {
        let chunk = self.config.chunk() as i32;
        for index in 0..self.operations.len() {
            let context = self.operations[index].context();
            let Some(to) = self.reports_to(context) else { continue };
            let report = self.report(context);
            if report.lead(self.debts.told(to)) < chunk {
                continue;
            }
            let was_said = report.lead(self.debts.said()) < chunk;
            let by = if was_said { self.put_off() } else { self.now };
            self.debts.owe(to, context, self.now, by);
        }
    }

    /// Until when a report is put off that went along with a multicast.
    fn put_off(&self) -> Instant {
        self.now + self.config.acknowledge_after * PUT_OFF
    }

    /// Emits the events that the operations' states call for, and lets complete ones go.
    fn settle(&mut self) {
        while let Some(op) = self.ring.take_freed() {
            if let Some(slots) = self.holding.get_mut(&op.0) {
                *slots -= 1;
            }
            let is_complete = self.operation(op).is_none_or(|operation| operation.is_complete);
            if is_complete && self.holding.get(&op.0) == Some(&0) {
                self.holding.remove(&op.0);
                self.events.push_back(Event::Quiescent(op));
            }
        }
        for index in 0..self.operations.len() {
            self.complete(index);
        }
        while self.operations.front().is_some_and(|operation| operation.is_complete) {
            self.operations.pop_front();
            self.first = self.first.next();
            self.whole -= 1;
        }
    }

    fn complete(&mut self, index: usize) {
        let op = self.first.plus(index as u32);
        let slots = self.holding.get(&op.0).copied().unwrap_or(0);
        let operation = &mut self.operations[index];
        let waits = self.config.blocking && operation.root == self.me && slots > 0;
        let expected: u64 = self.expected.values().sum();
        let absorbs = expected <= u64::from(self.config.absorbed);
        let done = operation.has_all() && operation.keeps_all() && absorbs && !waits;
        let sent = self.to_multicast.is_none() && !self.ring.has_queued(op);
        if operation.is_complete || !done || !sent {
            return;
        }
        operation.is_complete = true;
        self.events.push_back(Event::Complete { op, lost: operation.lost() });
        if slots == 0 {
            self.holding.remove(&op.0);
            self.events.push_back(Event::Quiescent(op));
        }
    }

    /// Counts a reliable copy, which may come when the operation is over here.
    fn count_expected(&mut self, op: OpId) {
        let Some(expected) = self.expected.get_mut(&op.0) else { return };
        *expected -= 1;
        if *expected == 0 {
            self.expected.remove(&op.0);
        }
        self.settle();
    }

    fn handle_fragment(&mut self, packet: &Incoming) -> Disposition {
        if packet.via == Via::Reliable {
            self.count_expected(packet.op);
        }
        if packet.op.after(self.first) < 0 {
            return Disposition::Late;
        }
        let me = self.me;
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
        let is_head = operation.groups.is_head(me, root);
        let is_new = operation.own(packet.fragment, packet.via == Via::Multicast);
        let seq = operation.seq(packet.fragment);
        let next = seq.plus(1);
        if next.after(self.seen) > 0 {
            self.seen = next;
        }
        if is_new {
            self.pull.came((packet.op, packet.fragment));
            self.advance();
            if self.reads() && packet.via != Via::Fetched {
                let is_gap = self.have.after(self.seen) < 0;
                self.pull.heard(self.now, is_gap);
            }
            self.settle();
            return Disposition::Place(range);
        }
        match packet.via {
            // A co-root gets every fragment twice by design.
            Via::Multicast | Via::Reliable if is_head => Disposition::Redundant,
            Via::Multicast | Via::Reliable => Disposition::Duplicate,
            Via::Fetched => Disposition::Redundant,
        }
    }

    fn disagree(&mut self, op: OpId, rank: Rank, what: String) -> Disposition {
        self.events.push_back(Event::Disagreement { op, rank, what });
        Disposition::Reject
    }

    /// Takes a rank's report.
    fn learn(&mut self, from: Rank, value: u64) {
        let Some(report) = Report::parse(value) else { return };
        if self.ring.learn(self.now, from, report) {
            if self.config.credits.is_some() {
                self.owe_what_lags();
            }
            self.settle();
        }
    }

    /// The first time with a root and groups, each rank needs a connection with its repairer: to report
    /// to it, to read from it, and to hear of its farewell.
    fn introduce(&mut self, operation: &Operation) {
        let (root, groups) = operation.context();
        if self.introduced.insert((root, groups)) {
            self.partners.extend(groups.repairer(self.me, root));
            self.partners.extend(groups.leaves(self.me, root));
        }
    }

    /// Whether this rank misses something that it may read.
    fn reads(&self) -> bool {
        let mut missing = self.operations.range(self.whole..);
        self.config.repair == Repair::Pull
            && missing.any(|operation| operation.repairer(self.me).is_some())
    }

    /// Whether the credits known let this rank multicast a fragment (Liu 2004, section 5.4).
    fn has_credit(&mut self, seq: Seq, groups: Groups) -> bool {
        let Some(depth) = self.config.credits else { return true };
        if self.limit_among != groups {
            self.limit_among = groups;
            self.limit = seq;
            self.laggard = None;
        }
        if seq.after(self.limit) < 0 {
            return true;
        }
        let is_waiting =
            self.laggard.is_some_and(|(rank, credit)| self.ring.known(rank).credit == credit);
        if is_waiting {
            return false;
        }
        let reporters = groups.leaves(self.me, self.me).chain(groups.co_roots(self.me));
        let credits = reporters.map(|rank| (rank, self.ring.known(rank).credit));
        self.laggard = credits.reduce(|a, b| if b.1.after(a.1) < 0 { b } else { a });
        if let Some((_, credit)) = self.laggard {
            self.limit = credit.plus(depth);
        }
        seq.after(self.limit) < 0
    }

    fn tell(&mut self, room: &dyn Room) -> Option<Transmit> {
        let by = self.config.by;
        let (to, context) = self.debts.next_due(|to| match by {
            By::Counter => room.report_room(to),
            By::Message => room.reliable_room(to),
        })?;
        let report = self.report(context);
        self.debts.pay(to, report);
        Some(match by {
            By::Counter => {
                Transmit::Report { to, counter: Counter::Acknowledged, value: report.emit() }
            }
            By::Message => {
                let (op, fragment) = (self.next_op(), Fragment(0));
                let (kind, report) = (Kind::Acknowledge, report.emit());
                let piece = Piece { kind, op, fragment, message_len: 0, report };
                Transmit::Send { target: Target::Rank(to), piece, range: 0..0 }
            }
        })
    }

    /// Keeps the next fragment; at the root it is to be multicast then.
    fn keep(&mut self, room: &dyn Room) -> Option<Transmit> {
        self.wanted = None;
        for index in 0..self.operations.len() {
            let operation = &self.operations[index];
            if operation.keeps_all() {
                continue;
            }
            let (is_root, groups) = (operation.root == self.me, operation.groups);
            let first = operation.first_unkept().map(|fragment| operation.seq(fragment));
            if is_root {
                let credit = first.is_some_and(|seq| self.has_credit(seq, groups));
                if !credit || room.multicast_room() == 0 {
                    return None;
                }
            }
            let ring = &self.ring;
            let may = |seq| ring.is_free(seq) && room.is_idle(ring.slot(seq));
            // The root sends in order; a co-root keeps what it has.
            let span = if is_root { 1 } else { self.config.window };
            if let Some(fragment) = self.operations[index].next_to_keep(span, may) {
                return Some(self.keep_fragment(index, fragment));
            }
            let taken = first.filter(|seq| !self.ring.is_free(*seq));
            self.wanted = self.wanted.or(taken.map(|seq| self.ring.slot(seq)));
            if is_root {
                return None;
            }
        }
        None
    }

    fn keep_fragment(&mut self, index: usize, fragment: Fragment) -> Transmit {
        let op = self.first.plus(index as u32);
        let operation = &mut self.operations[index];
        operation.keep(fragment);
        let (context, seq) = (operation.context(), operation.seq(fragment));
        let range = operation.cut.range(fragment).unwrap_or_default();
        let message_len = operation.cut.message_len() as u64;
        let report = self.report(context);
        *self.holding.entry(op.0).or_default() += 1;
        let slot = self.ring.slot(seq);
        let kind = Kind::Fragment;
        let piece = Piece { kind, op, fragment, message_len, report: report.emit() };
        let token = piece.token();
        self.ring.keep(self.now, seq, token, context);
        if context.0 == self.me {
            self.to_multicast = Some(Transmit::Resend { target: Target::Group, slot, token });
            if self.config.piggyback {
                self.debts.put_off(self.put_off(), report);
            }
        }
        self.settle();
        Transmit::Retain { slot, piece, range }
    }

    fn push(&mut self) -> Option<Transmit> {
        let push = self.ring.take_push()?;
        self.settle();
        Some(push)
    }

    /// Reads something that is missing from its repairer's ring.
    fn fetch(&mut self, room: &dyn Room) -> Option<Transmit> {
        let reach = self.pull.reach()?;
        let is_gap = self.have.after(self.seen) < 0;
        let limit = if is_gap { self.seen } else { self.have.plus(reach) };
        for index in self.whole..self.operations.len() {
            let op = self.first.plus(index as u32);
            let operation = &self.operations[index];
            let Some(from) = operation.repairer(self.me) else { continue };
            let wanted = operation
                .missing(self.config.window)
                .take_while(|fragment| operation.seq(*fragment).after(limit) < 0)
                .find(|fragment| !self.pull.is_under_way((op, *fragment)));
            if let Some(fragment) = wanted {
                if room.fetch_room(from) == 0 {
                    return None;
                }
                let slot = self.ring.slot(operation.seq(fragment));
                self.pull.started(self.now, (op, fragment));
                let token = Token { kind: Kind::Fragment, op, fragment };
                return Some(Transmit::Fetch { from, slot, token });
            }
        }
        self.pull.pause(self.now);
        None
    }
}

impl Core for Window {
    fn start(&mut self, now: Instant, root: Rank, len: u64) -> Result<OpId, StartError> {
        self.start_with(now, root, len, self.config.repairers)
    }

    fn handle_packet(&mut self, now: Instant, packet: &Incoming) -> Disposition {
        self.now = now;
        if packet.source.0 >= self.size || packet.source == self.me {
            return Disposition::Reject;
        }
        self.learn(packet.source, packet.report);
        if packet.via == Via::Fetched {
            self.pull.found(now, (packet.op, packet.fragment));
        }
        match packet.kind {
            Kind::Fragment => self.handle_fragment(packet),
            Kind::Acknowledge => Disposition::Consumed,
            Kind::Ready | Kind::Abort | Kind::Bye | Kind::Probe | Kind::Connect => {
                Disposition::Reject
            }
        }
    }

    fn handle_delivered(&mut self, now: Instant, to: Rank, token: Token) {
        self.now = now;
        match token.kind {
            Kind::Acknowledge => self.debts.arrived(to),
            _ => self.ring.delivered(to, token),
        }
        self.settle();
    }

    fn handle_report(&mut self, now: Instant, from: Rank, counter: Counter, value: u64) {
        self.now = now;
        if counter == Counter::Acknowledged && from.0 < self.size {
            self.learn(from, value);
        }
    }

    fn handle_told(&mut self, now: Instant, to: Rank, counter: Counter) {
        self.now = now;
        if counter == Counter::Acknowledged {
            self.debts.arrived(to);
        }
    }

    fn handle_missed(&mut self, now: Instant, _from: Rank, token: Token) {
        self.now = now;
        self.pull.missed(now, (token.op, token.fragment));
    }

    fn handle_broken(&mut self, now: Instant, rank: Rank) {
        self.now = now;
        self.ring.forget(rank);
        self.debts.forget(rank);
        self.pull.forget();
        self.settle();
    }

    fn handle_departed(&mut self, now: Instant, rank: Rank, next: OpId) {
        self.now = now;
        let departure = Departure { rank, next };
        self.departed.push(departure);
        let begun = (0..self.operations.len() as u32).map(|index| self.first.plus(index));
        self.events.extend(begun.filter_map(|op| departure.disagreement(op)));
        // It needs nothing more, and its adapter may answer nothing more.
        self.ring.forget(rank);
        self.debts.forget(rank);
        self.settle();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        self.debts.fall_due(now);
        self.ring.push_overdue(now, self.wanted);
        if self.reads() {
            self.pull.handle_timeout(now);
        }
        self.settle();
    }

    fn poll_transmit(&mut self, room: &dyn Room) -> Option<Transmit> {
        if let Some(multicast) = self.to_multicast.take() {
            self.settle();
            return Some(multicast);
        }
        self.tell(room)
            .or_else(|| self.keep(room))
            .or_else(|| self.push())
            .or_else(|| self.fetch(room))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<(Timer, Instant)> {
        let repair = self.ring.due_at(self.wanted).into_iter().chain(self.pull.due_at());
        let repair = repair.map(|at| (Timer::Repair, at));
        let acknowledgement = self.debts.due_at().map(|at| (Timer::Acknowledgement, at));
        repair.chain(acknowledgement).min_by_key(|(_, at)| *at)
    }

    fn peers(&self) -> &[Rank] {
        &self.peers
    }

    fn awaited(&self) -> Vec<Rank> {
        let mut ranks = Vec::new();
        if let Some(operation) = self.operations.get(self.whole) {
            let (root, groups) = operation.context();
            ranks.extend(groups.source(self.me, root).into_iter().chain([root]));
        }
        let blocked = self.wanted.into_iter().flat_map(|slot| self.ring.silent(slot));
        ranks.extend(blocked.take(MOST_ASKED));
        ranks.extend(self.laggard.map(|(rank, _)| rank));
        // A basic broadcast waits for all, and a flush for what is kept.
        let kept = (0..self.config.window).flat_map(|slot| self.ring.silent(slot));
        ranks.extend(kept.take(MOST_ASKED));
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    fn take_partners(&mut self) -> Vec<Rank> {
        std::mem::take(&mut self.partners)
    }

    fn is_drained(&self) -> bool {
        self.debts.is_clear() && self.expected.is_empty()
    }

    fn next_op(&self) -> OpId {
        self.first.plus(self.operations.len() as u32)
    }
}
