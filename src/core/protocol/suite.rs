//! All protocols behind one core: which one an operation takes is looked up in a [`Table`].
//!
//! The choice depends only on what all ranks know alike, the length and the number of ranks, so
//! every rank hands an operation to the same protocol. Each protocol counts its own operations; on
//! the wire and to the caller they have one count.
//!
//! # Order
//! A connection carries what the protocols send in the order in which they send it, and a receiver takes
//! only so many packets of a broadcast that it has not begun. The chain of a long two-stage broadcast is
//! more than that, and would hold up behind it what the receiver needs to end an earlier broadcast of
//! another protocol. So a two-stage broadcast begins when this rank will send no more for those. What the
//! other protocols send ahead is bounded by their windows and credits.

mod lane;

use super::choice::{Algorithm, Table};
use super::known_sent::KnownSent;
use super::two_stage::TwoStage;
use super::unicast::{self, Unicast};
use super::window::{self, Repairers, Window};
use super::{
    Core, Counter, Departure, Disposition, Event, Incoming, Limits, Packets, Room, Run, StartError,
    Timer, Token, Transmit, Via,
};
use crate::order::RankOrder;
use crate::rank::{OpId, Rank};
use crate::time::Instant;
use crate::wire::Kind;
use lane::{Entry, LANES, Lane, UNUSED};
use std::collections::VecDeque;

/// An operation that waits for earlier ones.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    root: Rank,
    len: u64,
    algorithm: Algorithm,
}

/// The cores behind a suite, all of the same rank and order.
#[derive(Debug)]
pub struct Parts {
    /// For [`Algorithm::TwoStage`].
    pub two_stage: TwoStage,
    /// For [`Algorithm::Window`], with its own repairers, and [`Algorithm::TwoStageOnDemand`], with each
    /// rank's predecessor.
    pub window: Window,
    /// For [`Algorithm::Binomial`], [`Algorithm::Chain`] and [`Algorithm::ScatterAllgather`].
    pub unicast: Unicast,
    /// Which operation takes which.
    pub table: Table,
    /// Bytes of a message in a fragment, for all of them; but the window has fragments that fill datagrams, too.
    pub fragment_len: usize,
    /// Most operations in flight, for all of them.
    pub in_flight: u32,
    /// Whether the window protocol sends repairs unasked, at any time until an operation is quiescent.
    pub pushes: bool,
    /// Operations of which something may come when they are quiescent here.
    pub history: usize,
}

impl Parts {
    /// Who repairs whom where the window takes an algorithm's operations.
    fn repairers(&self, algorithm: Algorithm) -> Option<Repairers> {
        match algorithm {
            Algorithm::Window => Some(self.window.repairers()),
            Algorithm::TwoStageOnDemand => Some(Repairers::Predecessor),
            Algorithm::TwoStage
            | Algorithm::Binomial
            | Algorithm::Chain
            | Algorithm::ScatterAllgather => None,
        }
    }

    fn have_events(&self) -> bool {
        self.window.has_events() || self.two_stage.has_events() || self.unicast.has_events()
    }
}

/// All protocols at one rank.
#[derive(Debug)]
pub struct Suite {
    parts: Parts,
    size: u32,
    peers: Vec<Rank>,
    /// Operations from `first` on, without gaps. Quiescent ones leave from the front, but the latest
    /// `history` stay: their protocol counts copies that come late.
    entries: VecDeque<Entry>,
    history: usize,
    first: OpId,
    /// Which of [`LANES`] operations have gone to. The others have nothing to send, no timers and no events, and are not
    /// asked for any.
    used: [bool; 3],
    /// An operation has begun since the protocols were asked for [partners](Core::take_partners).
    may_have_partners: bool,
    /// How many entries at the front are not in flight any more. Those behind one that is count, as each protocol counts
    /// its own.
    over: usize,
    /// Operations that the caller has begun, but their protocols have not.
    waiting: VecDeque<Waiting>,
    /// Since when broadcasts that have not begun are known to have been sent.
    known_sent: KnownSent<OpId>,
    now: Instant,
    departed: Vec<Departure>,
    events: VecDeque<Event>,
}

impl Suite {
    /// The suite of rank `me` of those in `order`. `first` is the id of the first operation, the same at every rank.
    pub fn new(me: Rank, order: impl Into<RankOrder>, first: OpId, parts: Parts) -> Self {
        let order = order.into();
        Suite {
            history: parts.history,
            parts,
            size: order.size(),
            peers: order.ring_peers(me),
            entries: VecDeque::new(),
            first,
            used: UNUSED,
            may_have_partners: false,
            over: 0,
            waiting: VecDeque::new(),
            known_sent: KnownSent::default(),
            now: Instant::ZERO,
            departed: Vec::new(),
            events: VecDeque::new(),
        }
    }

    /// As if broadcasts of so many fragments had gone by: [`Window::pass`].
    pub fn pass(&mut self, fragments: u64) {
        self.parts.window.pass(fragments);
    }

    fn lane(&mut self, lane: Lane) -> &mut dyn Core {
        match lane {
            Lane::TwoStage => &mut self.parts.two_stage,
            Lane::Window => &mut self.parts.window,
            Lane::Unicast => &mut self.parts.unicast,
        }
    }

    fn lanes(&self) -> [&dyn Core; 3] {
        [&self.parts.two_stage, &self.parts.window, &self.parts.unicast]
    }

    fn used_lanes(&self) -> impl Iterator<Item = &dyn Core> {
        let used = self.lanes().into_iter().zip(self.used).filter(|(_, is_used)| *is_used);
        used.map(|(core, _)| core)
    }

    fn entry(&self, op: OpId) -> Option<Entry> {
        let index = usize::try_from(op.after(self.first)).ok()?;
        self.entries.get(index).copied()
    }

    /// The operation that a protocol calls `inner`. One that is not begun, or over, stands for the next.
    fn outer(&self, lane: Lane, inner: OpId) -> OpId {
        let is_it = |entry: &Entry| entry.lane == lane && entry.inner == inner;
        match self.entries.iter().rposition(is_it) {
            Some(index) => self.first.plus(index as u32),
            None => self.next_op(),
        }
    }

    fn outer_token(&self, lane: Lane, token: Token) -> Token {
        Token { op: self.outer(lane, token.op), ..token }
    }

    fn translate(&self, lane: Lane, transmit: Transmit) -> Transmit {
        match transmit {
            Transmit::Send { target, mut piece, range } => {
                piece.op = self.outer(lane, piece.op);
                Transmit::Send { target, piece, range }
            }
            Transmit::Retain { mut packets, is_multicast } => {
                packets.first.op = self.outer(lane, packets.first.op);
                Transmit::Retain { packets, is_multicast }
            }
            Transmit::Resend { to, slot, token } => {
                Transmit::Resend { to, slot, token: self.outer_token(lane, token) }
            }
            Transmit::Fetch { from, slot, token } => {
                Transmit::Fetch { from, slot, token: self.outer_token(lane, token) }
            }
            Transmit::Offer { to, mut piece } => {
                piece.op = self.outer(lane, piece.op);
                Transmit::Offer { to, piece }
            }
            Transmit::Write { to, mut piece, range, into } => {
                piece.op = self.outer(lane, piece.op);
                Transmit::Write { to, piece, range, into }
            }
            report @ Transmit::Report { .. } => report,
        }
    }

    fn next_event(&mut self) -> Option<(Lane, Event)> {
        let mut used = LANES.into_iter().zip(self.used).filter(|(_, is_used)| *is_used);
        used.find_map(|(lane, _)| Some((lane, self.lane(lane).poll_event()?)))
    }

    fn collect_events(&mut self) {
        while self.parts.have_events()
            && let Some((lane, event)) = self.next_event()
        {
            let event = match event {
                Event::Complete { op: inner, lost } => {
                    let op = self.outer(lane, inner);
                    self.mark(op, |entry| entry.is_complete = true);
                    Event::Complete { op, lost }
                }
                Event::Quiescent(inner) => {
                    let op = self.outer(lane, inner);
                    self.mark(op, |entry| entry.is_quiescent = true);
                    Event::Quiescent(op)
                }
                Event::Disagreement { op, rank, what } => {
                    Event::Disagreement { op: self.outer(lane, op), rank, what }
                }
            };
            self.events.push_back(event);
        }
    }

    fn mark(&mut self, op: OpId, mark: impl FnOnce(&mut Entry)) {
        let index = usize::try_from(op.after(self.first));
        if let Some(entry) = index.ok().and_then(|index| self.entries.get_mut(index)) {
            mark(entry);
        }
    }

    /// Whether this rank may have more to send for an operation that a two-stage one waits for.
    fn is_busy(&self, entry: &Entry) -> bool {
        match entry.lane {
            Lane::TwoStage => false,
            Lane::Window if self.parts.pushes => !entry.is_quiescent,
            Lane::Window | Lane::Unicast => !entry.is_complete,
        }
    }

    /// Hands waiting operations to their protocols, as far as they may begin.
    fn begin_waiting(&mut self) {
        while let Some(next) = self.waiting.front().copied() {
            let waits = next.algorithm == Algorithm::TwoStage
                && self.entries.iter().any(|entry| self.is_busy(entry));
            if waits {
                return;
            }
            self.waiting.pop_front();
            let op = self.next_op();
            if let Err(error) = self.begin(next) {
                // Its caller was told of all that can be wrong with it.
                unreachable!("{op}: {error}");
            }
            self.collect_events();
        }
    }

    fn begin(&mut self, Waiting { root, len, algorithm }: Waiting) -> Result<(), StartError> {
        let op = self.next_op();
        let now = self.now;
        let Parts { two_stage, window, unicast, .. } = &mut self.parts;
        let inner = match algorithm {
            Algorithm::TwoStage => two_stage.start(now, root, len)?,
            Algorithm::Window => window.start(now, root, len)?,
            Algorithm::TwoStageOnDemand => {
                window.start_with(now, root, len, Repairers::Predecessor)?
            }
            Algorithm::Binomial => {
                unicast.start_with(now, root, len, unicast::Algorithm::Binomial)?
            }
            Algorithm::Chain => unicast.start_with(now, root, len, unicast::Algorithm::Chain)?,
            Algorithm::ScatterAllgather => {
                unicast.start_with(now, root, len, unicast::Algorithm::ScatterAllgather)?
            }
        };
        let lane = Lane::of(algorithm);
        if let (Some(since), Lane::Window) = (self.known_sent.since(op), lane) {
            self.parts.window.note_overtaken(now, since);
        }
        self.known_sent.forget(op);
        self.used[lane as usize] = true;
        self.may_have_partners = true;
        let entry = Entry { lane, inner, is_complete: false, is_quiescent: false };
        self.entries.push_back(entry);
        self.events.extend(self.departed.iter().filter_map(|left| left.disagreement(op)));
        Ok(())
    }

    /// Who repairs whom in the next broadcast of so many bytes, if the window has it and the others leave it to that alone.
    fn repairers_of_short(&self, len: u64) -> Option<Repairers> {
        let Parts { two_stage, unicast, table, .. } = &self.parts;
        let [takes_two_stage, _, takes_unicast] = self.used;
        // Who still gets messages of others' making may have to stay for them.
        let is_drained = self.waiting.is_empty()
            && (!takes_two_stage || two_stage.is_drained())
            && (!takes_unicast || unicast.is_drained());
        let is_alone = is_drained && self.departed.is_empty();
        self.parts.repairers(table.choose(len, self.size)).filter(|_| is_alone)
    }

    fn check(&self, root: Rank, len: u64) -> Result<(), StartError> {
        let begun = self.entries.len() - self.over;
        let (in_flight, fragment_len) = (self.parts.in_flight, self.fragment_len(len));
        let fragments = window::MAX_FRAGMENTS;
        let limits = Limits { size: self.size, in_flight, fragment_len, fragments };
        limits.admit(root, len, begun + self.waiting.len()).map(drop)
    }

    /// Takes the protocols' events, and does what follows from them. Most packets make none, and then nothing follows.
    fn settle(&mut self) {
        if self.waiting.is_empty() && !self.parts.have_events() {
            return;
        }
        self.collect_events();
        self.begin_waiting();
        self.retire();
    }

    /// Lets go of operations that are over, but for the latest.
    fn retire(&mut self) {
        while self.entries.get(self.over).is_some_and(Entry::is_over) {
            self.over += 1;
        }
        let history = self.history;
        let ended = |entry: &Entry| entry.is_quiescent;
        while self.entries.len() > history && self.entries.front().is_some_and(ended) {
            self.entries.pop_front();
            self.over -= 1;
            self.first = self.first.next();
        }
    }
}

impl Core for Suite {
    fn start(&mut self, now: Instant, root: Rank, len: u64) -> Result<OpId, StartError> {
        self.now = now;
        self.check(root, len)?;
        let op = self.next_op().plus(self.waiting.len() as u32);
        let algorithm = self.parts.table.choose(len, self.size);
        self.waiting.push_back(Waiting { root, len, algorithm });
        self.settle();
        Ok(op)
    }

    fn fragment_len(&self, len: u64) -> usize {
        match Lane::of(self.parts.table.choose(len, self.size)) {
            Lane::Window => self.parts.window.fragment_len(len),
            Lane::TwoStage | Lane::Unicast => self.parts.fragment_len,
        }
    }

    fn handle_packet(&mut self, now: Instant, packet: &Incoming) -> Disposition {
        self.now = now;
        let disposition = match (packet.kind, self.entry(packet.op)) {
            (Kind::Acknowledge, _) if !packet.asks => self.parts.window.handle_packet(now, packet),
            (_, Some(Entry { lane, inner, .. })) => {
                let packet = Incoming { op: inner, ..*packet };
                self.lane(lane).handle_packet(now, &packet)
            }
            (_, None) if packet.op.after(self.first) < 0 => Disposition::Late,
            (_, None) => {
                if packet.via == Via::Multicast {
                    self.known_sent.note(now, packet.op);
                    self.parts.window.note_later(now);
                }
                Disposition::Hold
            }
        };
        self.settle();
        disposition
    }

    fn coming(&self, now: Instant) -> Option<Run> {
        let run = self.parts.window.coming(now)?;
        Some(Run { op: self.outer(Lane::Window, run.op), ..run })
    }

    fn handle_run(&mut self, now: Instant, count: u32) {
        self.now = now;
        // It makes no events.
        self.parts.window.handle_run(now, count);
    }

    fn is_short(&self, now: Instant, root: Rank, len: u64) -> bool {
        let window = &self.parts.window;
        let is_short = |repairers| window.is_short_with(now, root, len, repairers);
        self.repairers_of_short(len).is_some_and(is_short)
    }

    fn handle_short(&mut self, now: Instant, called: Instant, root: Rank, len: u64) -> OpId {
        self.now = now;
        let op = self.next_op();
        let repairers = self.parts.repairers(self.parts.table.choose(len, self.size));
        let Some(repairers) = repairers else { unreachable!("{op} is not short") };
        let inner = self.parts.window.handle_short_with((now, called), root, repairers);
        let lane = Lane::Window;
        self.entries.push_back(Entry { lane, inner, is_complete: true, is_quiescent: true });
        self.retire();
        op
    }

    fn send_short(
        &mut self,
        now: Instant,
        looked: Instant,
        len: u64,
        room: &dyn Room,
    ) -> Option<(OpId, Packets)> {
        let repairers = self.repairers_of_short(len)?;
        self.now = now;
        let op = self.next_op();
        let sent = self.parts.window.send_short_with((now, looked), len, repairers, room);
        let (inner, mut packets) = sent?;
        packets.first.op = op;
        let (lane, is_complete, is_quiescent) = (Lane::Window, true, false);
        self.entries.push_back(Entry { lane, inner, is_complete, is_quiescent });
        self.retire();
        Some((op, packets))
    }

    fn has_all(&self) -> bool {
        let [takes_two_stage, _, takes_unicast] = self.used;
        !takes_two_stage && !takes_unicast && self.waiting.is_empty() && self.parts.window.has_all()
    }

    fn handle_delivered(&mut self, now: Instant, to: Rank, token: Token) {
        self.now = now;
        if token.kind == Kind::Acknowledge {
            self.parts.window.handle_delivered(now, to, token);
        } else if let Some(Entry { lane, inner, .. }) = self.entry(token.op) {
            self.lane(lane).handle_delivered(now, to, Token { op: inner, ..token });
        }
        self.settle();
    }

    fn handle_report(&mut self, now: Instant, from: Rank, counter: Counter, value: u64) {
        self.now = now;
        for lane in LANES {
            self.lane(lane).handle_report(now, from, counter, value);
        }
        self.settle();
    }

    fn hears_reports(&self) -> bool {
        let Parts { two_stage, window, unicast, .. } = &self.parts;
        let [takes_two_stage, _, takes_unicast] = self.used;
        window.hears_reports()
            || (takes_two_stage && two_stage.hears_reports())
            || (takes_unicast && unicast.hears_reports())
    }

    fn handle_write_acked(&mut self, now: Instant, to: Rank, counter: Counter) {
        self.now = now;
        for lane in LANES {
            self.lane(lane).handle_write_acked(now, to, counter);
        }
        self.settle();
    }

    fn handle_missed(&mut self, now: Instant, from: Rank, token: Token) {
        self.now = now;
        if let Some(Entry { lane, inner, .. }) = self.entry(token.op) {
            self.lane(lane).handle_missed(now, from, Token { op: inner, ..token });
        }
        self.settle();
    }

    fn handle_flush(&mut self, now: Instant) {
        self.now = now;
        for lane in LANES {
            self.lane(lane).handle_flush(now);
        }
        self.settle();
    }

    fn handle_broken(&mut self, now: Instant, rank: Rank) {
        self.now = now;
        for lane in LANES {
            self.lane(lane).handle_broken(now, rank);
        }
        self.settle();
    }

    fn handle_departed(&mut self, now: Instant, rank: Rank, next: OpId) {
        self.now = now;
        let departure = Departure { rank, next };
        self.departed.push(departure);
        let begun = (0..self.entries.len() as u32).map(|index| self.first.plus(index));
        self.events.extend(begun.filter_map(|op| departure.disagreement(op)));
        for lane in LANES {
            // What it left out is told above; to the protocols it took part in everything.
            let inner = self.lane(lane).next_op().plus(i32::MAX as u32 / 2);
            self.lane(lane).handle_departed(now, rank, inner);
        }
        self.settle();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        for lane in LANES {
            self.lane(lane).handle_timeout(now);
        }
        self.settle();
    }

    fn poll_transmit(&mut self, room: &dyn Room) -> Option<Transmit> {
        for (lane, is_used) in LANES.into_iter().zip(self.used) {
            if is_used && let Some(transmit) = self.lane(lane).poll_transmit(room) {
                let transmit = self.translate(lane, transmit);
                self.settle();
                return Some(transmit);
            }
        }
        None
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<(Timer, Instant)> {
        let Parts { two_stage, window, unicast, .. } = &self.parts;
        let [takes_two_stage, _, takes_unicast] = self.used;
        let window = window.poll_timeout();
        if !takes_two_stage && !takes_unicast {
            return window;
        }
        let two_stage = if takes_two_stage { two_stage.poll_timeout() } else { None };
        let unicast = if takes_unicast { unicast.poll_timeout() } else { None };
        [two_stage, window, unicast].into_iter().flatten().min_by_key(|(_, at)| *at)
    }

    fn peers(&self) -> &[Rank] {
        &self.peers
    }

    fn add_awaited(&self, ranks: &mut Vec<Rank>) {
        self.lanes().into_iter().for_each(|lane| lane.add_awaited(ranks));
    }

    fn take_partners(&mut self) -> Vec<Rank> {
        if !std::mem::take(&mut self.may_have_partners) {
            return Vec::new();
        }
        let mut partners = self.parts.window.take_partners();
        partners.extend(self.parts.two_stage.take_partners());
        partners.extend(self.parts.unicast.take_partners());
        partners
    }

    fn take_wishes(&mut self) -> Vec<Rank> {
        self.parts.window.take_wishes()
    }

    fn expected(&self, before: OpId) -> u64 {
        let begun = usize::try_from(before.after(self.first)).unwrap_or(0);
        let before = |((core, lane), is_used): ((&dyn Core, Lane), bool)| {
            if !is_used {
                return 0;
            }
            let mut later = self.entries.iter().skip(begun);
            let next = later.find(|entry| entry.lane == lane);
            core.expected(next.map_or(core.next_op(), |entry| entry.inner))
        };
        self.lanes().into_iter().zip(LANES).zip(self.used).map(before).sum()
    }

    fn eager(&self) -> u64 {
        let lanes: Vec<_> = self.parts.table.algorithms(self.size).map(Lane::of).collect();
        let may_be = |(core, lane): (&dyn Core, Lane)| lanes.contains(&lane).then(|| core.eager());
        self.lanes().into_iter().zip(LANES).filter_map(may_be).fold(0, u64::saturating_add)
    }

    fn is_drained(&self) -> bool {
        self.waiting.is_empty() && self.used_lanes().all(Core::is_drained)
    }

    fn next_op(&self) -> OpId {
        self.first.plus(self.entries.len() as u32)
    }
}
