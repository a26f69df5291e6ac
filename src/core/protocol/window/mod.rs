//! The window family of Liu, Mamidala and Panda (2004), and what came after it.
//!
//! The root copies each fragment into a slot of a ring and multicasts it from there; it returns at
//! once, and the slot is free again when everybody has acknowledged (sections 4.2 and 5.1). One core
//! with parameters: the [basic](Config::blocking) design, co-roots, a chain or a tree of
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
//!
//! # Where to find it
//! This file holds the state and the contract; `lifecycle` how a broadcast begins and ends, `keeping` how its
//! fragments are kept and multicast, `transfer` how they are received, pushed and read, `coming` and `short` those that need little, `reporting` what is acknowledged, `questions` when that is asked for.
//! The neighbourhoods of the state: an `operation` and who repairs whom in it (`groups`); the `ring`, which knows who has what by its
//! `report`, and the `patience` of its timers; `debts` of reports; `credits` of the root; `pull`, when to read.

mod arrivals;
mod coming;
mod config;
mod credits;
mod debts;
mod groups;
mod keeping;
mod lifecycle;
mod neighbours;
mod operation;
mod pace;
mod patience;
mod pull;
mod pushes;
mod questions;
mod report;
mod reporting;
mod ring;
mod seq;
mod short;
#[cfg(test)]
mod tests;
mod transfer;
mod tree;

pub use config::{Acknowledge, By, Config, Repair};
pub use groups::{Groups, Repairers};
pub use patience::Bounds;
pub use report::Report;
pub use seq::Seq;

use super::known_sent::KnownSent;
use super::{
    ConfigError, Core, Counter, Departure, Disposition, Event, Incoming, Packets, Room, Run,
    SmallMap, StartError, Timer, ToCome, Token, Transmit, Via,
};
use crate::order::RankOrder;
use crate::rank::{OpId, Rank};
use crate::time::Instant;
use crate::wire::Kind;
use credits::Credits;
use debts::Debts;
use neighbours::Neighbourhoods;
use operation::Operation;
use pace::Pace;
use pull::Pull;
use ring::Ring;
use std::collections::VecDeque;

/// Fragments of a message at most, so that 32 bits tell the positions in flight apart.
pub(super) const MAX_FRAGMENTS: u32 = 1 << 30;
/// Fragments after which reports are looked for, whether this rank waits for any or not: a report is told from others by 32 bits
/// of its position, so that one from too long ago would be taken for one from far ahead.
const MAX_UNREAD: i64 = 1 << 28;
/// Ranks that are asked at once whether they are there, of those whose acknowledgement is awaited.
const MAX_ASKED: usize = 16;

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
    /// Where the next operation began when reports were last to be looked for in any case, and whether they still are.
    looked_at: Seq,
    is_to_look: bool,
    /// Every fragment before this one is here.
    have: Seq,
    /// Before everything up to here is here, no report lags so far that it is owed for that, unless this rank gathers
    /// credits.
    lags_from: Seq,
    /// Whom this rank reported to in the last broadcast in which it reports to anybody.
    last_reported_to: Option<Rank>,
    /// It passes the credits of others on to a root.
    gathers: bool,
    /// Every fragment before this one is known to have been sent, as far as its root goes.
    seen: Seq,
    /// Since when fragments are known to have been sent that others have overtaken.
    known_sent: KnownSent<Seq>,
    /// The same of whole broadcasts that have not begun.
    later_sent: KnownSent<OpId>,
    ring: Ring,
    /// Slots that an operation holds, by its number.
    holding: SmallMap<u32, u32>,
    /// Who it has to do with under each root and groups so far.
    neighbourhoods: Neighbourhoods,
    /// Ranks to be connected with: repairers and those whom this rank repairs.
    partners: Vec<Rank>,
    /// Ranks that this one would read from if it were connected with them.
    wishes: Vec<Rank>,
    /// Reliable copies that this rank will get as a co-root.
    to_come: ToCome,
    /// The slot that the next fragment to keep needs and does not get.
    wanted: Option<u32>,
    /// Acknowledgements are to be asked for unless more can be sent.
    is_asking: bool,
    credits: Credits,
    pace: Pace,
    /// Fragments that did not come by multicast, modulo 256.
    lost: u8,
    debts: Debts,
    pull: Pull,
    /// Of which operation the next fragment may be [taken in short](Self::run).
    coming: Option<OpId>,
    departed: Vec<Departure>,
    events: VecDeque<Event>,
    now: Instant,
}

impl Window {
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
        let groups = Groups::new(config.repairers, order.size());
        // Fragments are counted from the same number as operations.
        let begin = Seq(first.0.into());
        Ok(Window {
            me,
            size: order.size(),
            config,
            peers: order.ring_peers(me),
            operations: VecDeque::new(),
            first,
            whole: 0,
            next_seq: begin,
            looked_at: begin,
            is_to_look: false,
            have: begin,
            lags_from: begin,
            last_reported_to: None,
            gathers: false,
            seen: begin,
            known_sent: KnownSent::default(),
            later_sent: KnownSent::default(),
            ring: Ring::new(me, begin, &config),
            holding: SmallMap::default(),
            neighbourhoods: Neighbourhoods::new(me, order),
            partners: Vec::new(),
            wishes: Vec::new(),
            to_come: ToCome::default(),
            wanted: None,
            is_asking: false,
            credits: Credits::new(config.credits, begin, groups),
            pace: Pace::new(config.window),
            lost: 0,
            debts: Debts::new(begin),
            pull: Pull::new(config.patience),
            coming: None,
            departed: Vec::new(),
            events: VecDeque::new(),
            now: Instant::ZERO,
        })
    }

    /// As if broadcasts of so many fragments had gone by, of which this rank has heard nothing from others nor told them
    /// anything, as where it neither was their root nor repaired them; for simulations, before the first
    /// [start](Core::start).
    pub fn pass(&mut self, fragments: u64) {
        self.next_seq = Seq(self.next_seq.0 + fragments);
        self.have = self.next_seq;
        self.lags_from = self.next_seq;
        self.seen = self.next_seq;
    }

    /// Whether reports may have been left unread for long.
    fn has_long_unread(&self) -> bool {
        self.next_seq.after(self.looked_at) >= MAX_UNREAD
    }

    fn operation(&mut self, op: OpId) -> Option<&mut Operation> {
        let index = usize::try_from(op.after(self.first)).ok()?;
        self.operations.get_mut(index)
    }

    /// Who repairs whom, if nothing else is said.
    pub fn repairers(&self) -> Repairers {
        self.config.repairers
    }

    /// Whether there is an event.
    pub(super) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }
}

impl Core for Window {
    fn start(&mut self, now: Instant, root: Rank, len: u64) -> Result<OpId, StartError> {
        self.start_with(now, root, len, self.config.repairers)
    }

    fn fragment_len(&self, len: u64) -> usize {
        self.config.fragment_len_of(len)
    }

    fn handle_packet(&mut self, now: Instant, packet: &Incoming) -> Disposition {
        if let Some(taken) = self.take_next(now, packet) {
            return taken;
        }
        self.called(now);
        if packet.source.0 >= self.size || packet.source == self.me {
            return Disposition::Reject;
        }
        self.learn(packet.source, packet.report);
        if packet.via == Via::Fetched {
            self.pull.found(now, (packet.op, packet.fragment));
        }
        match packet.kind {
            Kind::Fragment => self.handle_fragment(packet),
            Kind::Acknowledge if packet.asks => self.handle_question(packet),
            Kind::Acknowledge => Disposition::Consumed,
            Kind::Ready
            | Kind::Abort
            | Kind::Bye
            | Kind::Probe
            | Kind::Connect
            | Kind::Offer
            | Kind::Written => Disposition::Reject,
        }
    }

    fn coming(&self, now: Instant) -> Option<Run> {
        self.run(now)
    }

    fn handle_run(&mut self, _now: Instant, count: u32) {
        self.take_run(count);
    }

    fn is_short(&self, now: Instant, root: Rank, len: u64) -> bool {
        self.is_short_with(now, root, len, self.config.repairers)
    }

    fn handle_short(&mut self, now: Instant, called: Instant, root: Rank, _len: u64) -> OpId {
        self.handle_short_with((now, called), root, self.config.repairers)
    }

    fn send_short(
        &mut self,
        now: Instant,
        looked: Instant,
        len: u64,
        room: &dyn Room,
    ) -> Option<(OpId, Packets)> {
        self.send_short_with((now, looked), len, self.config.repairers, room)
    }

    fn has_all(&self) -> bool {
        self.whole == self.operations.len()
    }

    fn handle_delivered(&mut self, now: Instant, to: Rank, token: Token) {
        self.called(now);
        match token.kind {
            Kind::Acknowledge => self.debts.arrived(to),
            _ => self.ring.delivered(to, token),
        }
        self.settle();
    }

    fn handle_report(&mut self, now: Instant, from: Rank, counter: Counter, value: u64) {
        self.called(now);
        if counter == Counter::Acknowledged && from.0 < self.size {
            self.learn(from, value);
        }
    }

    /// Who keeps nothing for others waits for nobody's acknowledgement; for credits waits who has something to send, or
    /// passes them on.
    fn hears_reports(&self) -> bool {
        let is_sending = |one: &Operation| one.root == self.me && !one.keeps_all();
        let awaits = !self.holding.is_empty() || self.operations.iter().any(is_sending);
        self.gathers || self.is_to_look || awaits
    }

    fn handle_write_acked(&mut self, now: Instant, to: Rank, counter: Counter) {
        self.called(now);
        if counter == Counter::Acknowledged {
            self.debts.arrived(to);
        }
    }

    fn handle_missed(&mut self, now: Instant, from: Rank, token: Token) {
        self.called(now);
        self.pull.missed(now, from, (token.op, token.fragment));
    }

    fn handle_flush(&mut self, now: Instant) {
        self.called(now);
        self.is_asking |= self.ring.unasked() > 0;
        if self.config.asks() {
            self.debts.call_in();
        }
    }

    fn handle_broken(&mut self, now: Instant, rank: Rank) {
        self.called(now);
        self.ring.forget(rank);
        self.debts.forget(rank);
        self.pull.forget();
        self.settle();
    }

    fn handle_departed(&mut self, now: Instant, rank: Rank, next: OpId) {
        self.called(now);
        let departure = Departure { rank, next };
        self.departed.push(departure);
        let begun = (0..self.operations.len() as u32).map(|index| self.first.plus(index));
        self.events.extend(begun.filter_map(|op| departure.disagreement(op)));
        // It needs nothing more, and its adapter may answer nothing more.
        self.ring.departed(now, rank);
        self.debts.forget(rank);
        // What is read there may never be answered.
        self.pull.forget();
        self.settle();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.called(now);
        self.debts.fall_due(now);
        self.handle_unasked();
        self.ring.push_overdue(now, self.wanted);
        if self.reads() {
            self.pull.handle_timeout(now);
        }
        self.settle();
    }

    fn poll_transmit(&mut self, room: &dyn Room) -> Option<Transmit> {
        self.coming = None;
        // What has come is taken before anything is sent.
        self.is_to_look = false;
        self.tell(room)
            .or_else(|| self.keep(room))
            .or_else(|| self.ask(room))
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
        let timers = repair.chain(acknowledgement).chain(self.asks_at());
        timers.min_by_key(|(_, at)| *at)
    }

    fn peers(&self) -> &[Rank] {
        &self.peers
    }

    fn add_awaited(&self, ranks: &mut Vec<Rank>) {
        if let Some(operation) = self.operations.get(self.whole) {
            ranks.extend(operation.neighbours.source.into_iter().chain([operation.root]));
        }
        ranks.extend(self.to_come.senders());
        let blocked = self.wanted.into_iter().flat_map(|slot| self.ring.silent(slot));
        ranks.extend(blocked.take(MAX_ASKED));
        ranks.extend(self.credits.laggard());
        // A basic broadcast waits for all, and a flush for what is kept.
        let kept = (0..self.config.window).flat_map(|slot| self.ring.silent(slot));
        ranks.extend(kept.take(MAX_ASKED));
        ranks.sort_unstable();
        ranks.dedup();
    }

    fn take_partners(&mut self) -> Vec<Rank> {
        std::mem::take(&mut self.partners)
    }

    fn take_wishes(&mut self) -> Vec<Rank> {
        std::mem::take(&mut self.wishes)
    }

    fn expected(&self, before: OpId) -> u64 {
        self.to_come.before(before)
    }

    /// What co-roots are sent. Repairs that nobody asked for are few, and are not counted.
    fn eager(&self) -> u64 {
        match self.config.repairers {
            Repairers::CoRoots(_) => self.config.credits.map_or(u64::MAX, u64::from),
            Repairers::Root | Repairers::Predecessor | Repairers::Tree(_) => 0,
        }
    }

    fn is_drained(&self) -> bool {
        self.debts.is_clear() && self.to_come.is_empty()
    }

    fn next_op(&self) -> OpId {
        self.first.plus(self.operations.len() as u32)
    }
}
