//! What there is between two steps: the cores of all ranks, and what is on its way among them.

use super::print::Fingerprint;
use super::programs::Process;
use super::{FRAGMENT, Setup};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use verbcast_core::protocol::{
    Core, Counter, Disposition, Event, Fragments, Incoming, Piece, Room, Target, Token, Transmit,
    Via,
};
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::time::Instant;
use verbcast_core::wire::{Kind, Region};

/// A packet on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Flying {
    pub(super) to: u32,
    pub(super) from: u32,
    pub(super) op: u32,
    pub(super) fragment: u32,
    pub(super) len: u64,
    /// Bytes of the message that were written before.
    pub(super) written: usize,
    pub(super) report: u64,
    pub(super) asks: bool,
    /// It asks, and carries nothing else.
    pub(super) is_question: bool,
}

/// Everything between two steps.
#[derive(Clone, Debug)]
pub struct State<C> {
    pub(super) ranks: Vec<Member<C>>,
    /// Those of a program, if there is one.
    pub(super) processes: Vec<Process>,
    /// Datagrams on their way, in no order.
    pub(super) datagrams: Vec<Flying>,
    /// Messages of each connection, in order: what is carried, and its purpose.
    pub(super) messages: BTreeMap<(u32, u32), VecDeque<(Flying, Token)>>,
    pub(super) reports: BTreeMap<(u32, u32, u8), u64>,
    pub(super) reads: Vec<(u32, u32, u32, Token)>,
    pub(super) losses: u8,
    pub(super) doubles: u8,
    pub(super) early_timers: u8,
    /// What must not be, if it is.
    pub(super) wrong: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Member<C> {
    pub(super) core: C,
    pub(super) called: usize,
    pub(super) complete: Vec<bool>,
    pub(super) quiescent: Vec<bool>,
    /// Fragments that are here, by broadcast.
    pub(super) here: Vec<Vec<bool>>,
    pub(super) held: Vec<Incoming>,
    pub(super) ring: BTreeMap<u32, Piece>,
    pub(super) now: Instant,
    /// What came while it was not polled.
    pub(super) inbox: VecDeque<Told>,
}

/// What a core is told.
#[derive(Clone, Debug)]
pub(super) enum Told {
    Packet(Incoming),
    Delivered(Rank, Token),
    Reported(Rank, Counter, u64),
    WriteAcked(Rank, Counter),
    Missed(Rank, Token),
}

impl<C: Debug> Hash for State<C> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        Fingerprint::of(self).hash(hasher);
    }
}

impl<C: Debug> PartialEq for State<C> {
    fn eq(&self, other: &Self) -> bool {
        Fingerprint::of(self) == Fingerprint::of(other)
    }
}

/// The reports under way, who asks, and the first rank of its communicator.
struct Plenty<'a>(&'a [(u32, u32, u8)], u32, u32);

impl Room for Plenty<'_> {
    fn multicast_room(&self) -> usize {
        8
    }

    fn reliable_room(&self, _to: Rank) -> usize {
        8
    }

    fn report_room(&self, to: Rank) -> usize {
        let busy = self.0.iter().any(|(from, other, _)| *from == self.1 && *other == to.0 + self.2);
        usize::from(!busy)
    }

    fn fetch_room(&self, _from: Rank) -> usize {
        8
    }

    fn is_idle(&self, _slot: u32) -> bool {
        true
    }
}

impl<C: Core + Clone + Debug> State<C> {
    pub(super) fn fail(&mut self, what: String) {
        self.wrong.get_or_insert(what);
    }

    /// Hands a packet to a rank's core, as a driver does.
    pub(super) fn hand(&mut self, setup: &Setup<C>, to: usize, incoming: Incoming) {
        let now = self.ranks[to].now;
        match self.ranks[to].core.handle_packet(now, &incoming) {
            Disposition::Hold => self.ranks[to].held.push(incoming),
            Disposition::Place(range) => {
                let step = setup.step_of(to as u32, incoming.op);
                let here = &mut self.ranks[to].here[step];
                let index = incoming.fragment.index();
                let start = index * FRAGMENT;
                if std::mem::replace(&mut here[index], true) || range.start != start {
                    self.fail(format!("rank {to} places fragment {index} of {step} wrongly"));
                }
            }
            Disposition::InPlace(range) => {
                let step = setup.step_of(to as u32, incoming.op);
                let fragments = range.start / FRAGMENT..range.end.div_ceil(FRAGMENT);
                let here = &mut self.ranks[to].here[step][fragments];
                if here.iter_mut().any(|here| std::mem::replace(here, true)) {
                    self.fail(format!("rank {to} gets {range:?} of {step} twice"));
                }
            }
            Disposition::Reject => self.fail(format!("rank {to} rejects {incoming:?}")),
            _ => {}
        }
        self.drain(setup, to);
    }

    /// Carries out what a core wants.
    pub(super) fn drain(&mut self, setup: &Setup<C>, rank: usize) {
        let me = rank as u32;
        let base = setup.base(me);
        loop {
            let busy: Vec<_> = self.reports.keys().copied().collect();
            let Some(transmit) = self.ranks[rank].core.poll_transmit(&Plenty(&busy, me, base))
            else {
                break;
            };
            match transmit {
                Transmit::Send { target: Target::Group, piece, .. } => {
                    self.spread(setup, me, &piece)
                }
                Transmit::Send { target: Target::Rank(to), piece, .. } => {
                    self.send(setup.size, [me, base + to.0], &piece, piece.token());
                }
                Transmit::Retain { packets, is_multicast } => {
                    for (slot, piece, _) in packets.iter() {
                        self.ranks[rank].ring.insert(slot, piece);
                        if is_multicast {
                            self.spread(setup, me, &piece);
                        }
                    }
                }
                Transmit::Resend { to, slot, token } => {
                    let piece = self.ranks[rank].ring[&slot];
                    self.send(setup.size, [me, base + to.0], &piece, token);
                }
                Transmit::Offer { to, piece } => {
                    self.send(setup.size, [me, base + to.0], &piece, piece.token());
                }
                Transmit::Write { to, piece, range, .. } => {
                    self.send(setup.size, [me, base + to.0], &piece, piece.token());
                    let queue = self.messages.get_mut(&(me % setup.size, to.0));
                    if let Some((flying, _)) = queue.and_then(|queue| queue.back_mut()) {
                        flying.written = range.len();
                    }
                }
                Transmit::Report { to, counter, value } => {
                    self.reports.insert((me, base + to.0, counter as u8), value);
                }
                Transmit::Fetch { from, slot, token } => {
                    self.reads.push((me, base + from.0, slot, token));
                }
            }
        }
        while let Some(event) = self.ranks[rank].core.poll_event() {
            match event {
                Event::Complete { op, .. } => {
                    let step = setup.step_of(me, op);
                    let is_root = setup.steps[step].0.0 + base == me;
                    let member = &mut self.ranks[rank];
                    let whole = is_root || member.here[step].iter().all(|here| *here);
                    if std::mem::replace(&mut member.complete[step], true) || !whole {
                        self.fail(format!("rank {rank} completes {step} too soon or twice"));
                    }
                }
                Event::Quiescent(op) => {
                    let step = setup.step_of(me, op);
                    let member = &mut self.ranks[rank];
                    let before = std::mem::replace(&mut member.quiescent[step], true);
                    if before || !member.complete[step] {
                        self.fail(format!("rank {rank} ends {step} too soon or twice"));
                    }
                }
                Event::Disagreement { what, .. } => self.fail(what),
            }
        }
    }

    pub(super) fn flying(from: u32, to: u32, piece: &Piece) -> Flying {
        let Piece { kind, op, fragment, message_len: len, report, asks } = *piece;
        let is_question = kind == Kind::Acknowledge && asks;
        let (op, fragment, written) = (op.0, fragment.0, 0);
        Flying { to, from, op, fragment, len, written, report, asks, is_question }
    }

    pub(super) fn spread(&mut self, setup: &Setup<C>, from: u32, piece: &Piece) {
        let base = setup.base(from);
        for to in (base..base + setup.size).filter(|to| *to != from) {
            self.datagrams.push(Self::flying(from, to, piece));
        }
        self.datagrams.sort();
    }

    pub(super) fn send(&mut self, size: u32, [from, to]: [u32; 2], piece: &Piece, token: Token) {
        // Communicators share the connections of their processes.
        let queue = self.messages.entry((from % size, to % size)).or_default();
        queue.push_back((Self::flying(from, to, piece), token));
    }

    /// Tells a rank's core something, now or when its communicator is polled.
    pub(super) fn tell(&mut self, setup: &Setup<C>, rank: usize, told: Told) {
        if !setup.polls(self, rank) {
            return self.ranks[rank].inbox.push_back(told);
        }
        let Member { core, now, .. } = &mut self.ranks[rank];
        match told {
            Told::Packet(packet) => return self.hand(setup, rank, packet),
            Told::Delivered(to, token) => core.handle_delivered(*now, to, token),
            Told::Reported(from, counter, value) => core.handle_report(*now, from, counter, value),
            Told::WriteAcked(to, counter) => core.handle_write_acked(*now, to, counter),
            Told::Missed(owner, token) => core.handle_missed(*now, owner, token),
        }
        self.drain(setup, rank);
    }

    /// Tells the cores of a process what came while they were not polled.
    pub(super) fn look(&mut self, setup: &Setup<C>, process: usize) {
        self.processes[process].queued = 0;
        for rank in (process..self.ranks.len()).step_by(setup.size as usize) {
            while setup.polls(self, rank)
                && let Some(told) = self.ranks[rank].inbox.pop_front()
            {
                self.tell(setup, rank, told);
            }
        }
    }

    /// Lets processes go on that have what they waited for.
    pub(super) fn go_on(&mut self, setup: &Setup<C>) {
        for process in 0..self.processes.len() {
            while setup.leaves(self, process) {
                let one = &mut self.processes[process];
                (one.next, one.is_in) = (one.next + 1, false);
                if setup.program.next(one).is_none() {
                    self.look(setup, process);
                }
            }
        }
    }

    /// Whether everything is over, and over well.
    pub(super) fn is_over(&self) -> bool {
        let is_free = |member: &Member<C>| member.inbox.is_empty();
        self.ranks.iter().all(is_free)
            && self.ranks.iter().all(|member| {
                member.complete.iter().chain(&member.quiescent).all(|done| *done)
                    && member.core.is_drained()
            })
    }
}

pub(super) fn incoming(size: u32, via: Via, kind: Kind, flying: &Flying) -> Incoming {
    let cut = Fragments::new(flying.len, FRAGMENT).expect("a short message");
    let fragment = verbcast_core::rank::Fragment(flying.fragment);
    let payload_len = match kind {
        Kind::Fragment => cut.range(fragment).map_or(0, |range| range.len()),
        Kind::Written => flying.written,
        _ => 0,
    };
    // The last rank has no memory that another can reach, nor writes any.
    let has_memory = |rank: u32| rank % size + 1 < size;
    let can_write = kind == Kind::Offer && has_memory(flying.from) && has_memory(flying.to);
    Incoming {
        memory: can_write.then_some(Region { address: 0, key: 1 }),
        via,
        source: Rank(flying.from % size),
        kind,
        op: OpId(flying.op),
        fragment,
        message_len: flying.len,
        payload_len,
        report: flying.report,
        asks: flying.asks,
    }
}
