//! All ranks' cores and the packets between them as a state machine, whose every behaviour is
//! explored.
//!
//! What may happen next, at any time: a rank calls its next broadcast; a datagram comes, is lost or is
//! doubled (within a budget); the first message of a connection is taken; a report or a read takes
//! effect; a rank's next timer fires. Time is left out of the comparison of states: a timer may fire
//! at any moment, so it makes no difference how long something took.

mod print;

use print::Fingerprint;
use stateright::{Model, Property};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use verbcast_core::protocol::{
    Core, Counter, Disposition, Event, Fragments, Incoming, Piece, Room, Target, Token, Transmit,
    Via,
};
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::time::Instant;
use verbcast_core::wire::Kind;

/// Bytes of a message in a fragment.
pub const FRAGMENT: usize = 10;
/// The first broadcast's id, after which ids wrap.
pub const FIRST: OpId = OpId(u32::MAX);

/// What is explored: broadcasts, and how much may go wrong.
#[derive(Clone, Debug)]
pub struct Setup<C> {
    /// Makes a rank's core, given the number of ranks.
    pub make: fn(Rank, u32) -> C,
    /// Ranks.
    pub size: u32,
    /// Root and length of each broadcast.
    pub steps: Vec<(Rank, u64)>,
    /// Datagrams that may be lost.
    pub losses: u8,
    /// Datagrams that may be doubled.
    pub doubles: u8,
    /// Timers that may fire while something else could happen.
    pub early_timers: u8,
}

/// A packet on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Flying {
    to: u32,
    from: u32,
    op: u32,
    fragment: u32,
    len: u64,
    report: u64,
    asks: bool,
    /// It asks, and carries nothing else.
    is_question: bool,
}

/// Everything between two steps.
#[derive(Clone, Debug)]
pub struct State<C> {
    ranks: Vec<Member<C>>,
    /// Datagrams on their way, in no order.
    datagrams: Vec<Flying>,
    /// Messages of each connection, in order: what is carried, and its purpose.
    messages: BTreeMap<(u32, u32), VecDeque<(Flying, Token)>>,
    reports: BTreeMap<(u32, u32, u8), u64>,
    reads: Vec<(u32, u32, u32, Token)>,
    losses: u8,
    doubles: u8,
    early_timers: u8,
    /// What must not be, if it is.
    wrong: Option<String>,
}

#[derive(Clone, Debug)]
struct Member<C> {
    core: C,
    called: usize,
    complete: Vec<bool>,
    quiescent: Vec<bool>,
    /// Fragments that are here, by broadcast.
    here: Vec<Vec<bool>>,
    held: Vec<Incoming>,
    ring: BTreeMap<u32, Piece>,
    now: Instant,
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

/// What happens next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A rank calls its next broadcast.
    Call(usize),
    /// A datagram comes.
    Arrive(usize),
    /// A datagram is lost.
    Lose(usize),
    /// A datagram is doubled.
    Double(usize),
    /// The first message from one rank to another is taken.
    Take(u32, u32),
    /// A report from one rank to another takes effect.
    Report(u32, u32, u8),
    /// A read takes effect.
    Read(usize),
    /// A rank's next timer fires.
    Timer(usize),
}

struct Plenty<'a>(&'a [(u32, u32, u8)], u32);

impl Room for Plenty<'_> {
    fn multicast_room(&self) -> usize {
        8
    }

    fn reliable_room(&self, _to: Rank) -> usize {
        8
    }

    fn report_room(&self, to: Rank) -> usize {
        let busy = self.0.iter().any(|(from, other, _)| *from == self.1 && *other == to.0);
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
    fn fail(&mut self, what: String) {
        self.wrong.get_or_insert(what);
    }

    /// Hands a packet to a rank's core, as a driver does.
    fn hand(&mut self, setup: &Setup<C>, to: usize, incoming: Incoming) {
        let now = self.ranks[to].now;
        match self.ranks[to].core.handle_packet(now, &incoming) {
            Disposition::Hold => self.ranks[to].held.push(incoming),
            Disposition::Place(range) => {
                let step = incoming.op.after(FIRST) as usize;
                let here = &mut self.ranks[to].here[step];
                let index = incoming.fragment.index();
                let start = index * FRAGMENT;
                if std::mem::replace(&mut here[index], true) || range.start != start {
                    self.fail(format!("rank {to} places fragment {index} of {step} wrongly"));
                }
            }
            Disposition::Reject => self.fail(format!("rank {to} rejects {incoming:?}")),
            _ => {}
        }
        self.drain(setup, to);
    }

    /// Carries out what a core wants.
    fn drain(&mut self, setup: &Setup<C>, rank: usize) {
        let me = rank as u32;
        loop {
            let busy: Vec<_> = self.reports.keys().copied().collect();
            let Some(transmit) = self.ranks[rank].core.poll_transmit(&Plenty(&busy, me)) else {
                break;
            };
            match transmit {
                Transmit::Send { target: Target::Group, piece, .. } => self.spread(me, &piece),
                Transmit::Send { target: Target::Rank(to), piece, .. } => {
                    self.send(me, to.0, &piece, piece.token());
                }
                Transmit::Retain { slot, piece, .. } => {
                    self.ranks[rank].ring.insert(slot, piece);
                }
                Transmit::Resend { target, slot, token } => {
                    let piece = self.ranks[rank].ring[&slot];
                    match target {
                        Target::Group => self.spread(me, &piece),
                        Target::Rank(to) => self.send(me, to.0, &piece, token),
                    }
                }
                Transmit::Report { to, counter, value } => {
                    self.reports.insert((me, to.0, counter as u8), value);
                }
                Transmit::Fetch { from, slot, token } => {
                    self.reads.push((me, from.0, slot, token));
                }
            }
        }
        while let Some(event) = self.ranks[rank].core.poll_event() {
            match event {
                Event::Complete { op, .. } => {
                    let step = op.after(FIRST) as usize;
                    let is_root = setup.steps[step].0.0 == me;
                    let member = &mut self.ranks[rank];
                    let whole = is_root || member.here[step].iter().all(|here| *here);
                    if std::mem::replace(&mut member.complete[step], true) || !whole {
                        self.fail(format!("rank {rank} completes {step} too soon or twice"));
                    }
                }
                Event::Quiescent(op) => {
                    let step = op.after(FIRST) as usize;
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

    fn flying(from: u32, to: u32, piece: &Piece) -> Flying {
        let Piece { kind, op, fragment, message_len: len, report, asks } = *piece;
        let is_question = kind == Kind::Acknowledge && asks;
        Flying { to, from, op: op.0, fragment: fragment.0, len, report, asks, is_question }
    }

    fn spread(&mut self, from: u32, piece: &Piece) {
        for to in (0..self.ranks.len() as u32).filter(|to| *to != from) {
            self.datagrams.push(Self::flying(from, to, piece));
        }
        self.datagrams.sort();
    }

    fn send(&mut self, from: u32, to: u32, piece: &Piece, token: Token) {
        let queue = self.messages.entry((from, to)).or_default();
        queue.push_back((Self::flying(from, to, piece), token));
    }

    /// Whether everything is over, and over well.
    fn is_over(&self) -> bool {
        self.ranks.iter().all(|member| {
            member.complete.iter().chain(&member.quiescent).all(|done| *done)
                && member.core.is_drained()
        })
    }
}

fn incoming(via: Via, kind: Kind, flying: &Flying) -> Incoming {
    let cut = Fragments::new(flying.len, FRAGMENT).expect("a short message");
    let fragment = verbcast_core::rank::Fragment(flying.fragment);
    let payload_len = match kind {
        Kind::Fragment => cut.range(fragment).map_or(0, |range| range.len()),
        _ => 0,
    };
    Incoming {
        via,
        source: Rank(flying.from),
        kind,
        op: OpId(flying.op),
        fragment,
        message_len: flying.len,
        payload_len,
        report: flying.report,
        asks: flying.asks,
    }
}

impl<C: Core + Clone + Debug> Setup<C> {
    fn member(&self, rank: u32) -> Member<C> {
        let steps = self.steps.len();
        let cut = |len| Fragments::new(len, FRAGMENT).expect("a short message").count() as usize;
        Member {
            core: (self.make)(Rank(rank), self.size),
            called: 0,
            complete: vec![false; steps],
            quiescent: vec![false; steps],
            here: self.steps.iter().map(|(_, len)| vec![false; cut(*len)]).collect(),
            held: Vec::new(),
            ring: BTreeMap::new(),
            now: Instant::ZERO,
        }
    }

    /// Lets something happen.
    fn step(&self, state: &mut State<C>, action: Action) {
        match action {
            Action::Call(rank) => self.call(state, rank),
            Action::Arrive(index) => {
                let flying = state.datagrams.remove(index);
                let kind = if flying.is_question { Kind::Acknowledge } else { Kind::Fragment };
                let packet = incoming(Via::Multicast, kind, &flying);
                state.hand(self, flying.to as usize, packet);
            }
            Action::Lose(index) => {
                state.datagrams.remove(index);
                state.losses -= 1;
            }
            Action::Double(index) => {
                let again = state.datagrams[index].clone();
                state.datagrams.insert(index, again);
                state.doubles -= 1;
            }
            Action::Take(from, to) => {
                let queue = state.messages.get_mut(&(from, to)).expect("there is a message");
                let (flying, token) = queue.pop_front().expect("there is a message");
                if queue.is_empty() {
                    state.messages.remove(&(from, to));
                }
                let now = state.ranks[from as usize].now;
                state.ranks[from as usize].core.handle_delivered(now, Rank(to), token);
                state.drain(self, from as usize);
                let packet = incoming(Via::Reliable, token.kind, &flying);
                state.hand(self, to as usize, packet);
            }
            Action::Report(from, to, counter) => {
                let value = state.reports.remove(&(from, to, counter)).expect("there is a report");
                let counter = Counter::ALL[usize::from(counter)];
                let now = state.ranks[to as usize].now;
                state.ranks[to as usize].core.handle_report(now, Rank(from), counter, value);
                state.drain(self, to as usize);
                let now = state.ranks[from as usize].now;
                state.ranks[from as usize].core.handle_write_acked(now, Rank(to), counter);
                state.drain(self, from as usize);
            }
            Action::Read(index) => self.read(state, index),
            Action::Timer(rank) => {
                state.early_timers = state.early_timers.saturating_sub(1);
                let (_, at) = state.ranks[rank].core.poll_timeout().expect("a timer is set");
                let member = &mut state.ranks[rank];
                member.now = member.now.max(at);
                member.core.handle_timeout(member.now);
                state.drain(self, rank);
            }
        }
    }

    fn call(&self, state: &mut State<C>, rank: usize) {
        let member = &mut state.ranks[rank];
        let (root, len) = self.steps[member.called];
        member.called += 1;
        if let Err(error) = member.core.start(member.now, root, len) {
            state.fail(error.to_string());
        }
        state.drain(self, rank);
        let next = state.ranks[rank].core.next_op();
        let held = std::mem::take(&mut state.ranks[rank].held);
        for packet in held {
            match packet.op.after(next) < 0 {
                true => state.hand(self, rank, packet),
                false => state.ranks[rank].held.push(packet),
            }
        }
    }

    fn read(&self, state: &mut State<C>, index: usize) {
        let (me, owner, slot, token) = state.reads.remove(index);
        let found = state.ranks[owner as usize].ring.get(&slot).copied();
        match found.filter(|piece| piece.token() == token) {
            Some(piece) => {
                let flying = State::<C>::flying(owner, me, &piece);
                state.hand(self, me as usize, incoming(Via::Fetched, Kind::Fragment, &flying));
            }
            None => {
                let now = state.ranks[me as usize].now;
                state.ranks[me as usize].core.handle_missed(now, Rank(owner), token);
                state.drain(self, me as usize);
            }
        }
    }
}

impl<C: Core + Clone + Debug + 'static> Model for Setup<C> {
    type State = State<C>;
    type Action = Action;

    fn init_states(&self) -> Vec<State<C>> {
        vec![State {
            ranks: (0..self.size).map(|rank| self.member(rank)).collect(),
            datagrams: Vec::new(),
            messages: BTreeMap::new(),
            reports: BTreeMap::new(),
            reads: Vec::new(),
            losses: self.losses,
            doubles: self.doubles,
            early_timers: self.early_timers,
            wrong: None,
        }]
    }

    fn actions(&self, state: &State<C>, actions: &mut Vec<Action>) {
        if state.wrong.is_some() {
            return;
        }
        for (rank, member) in state.ranks.iter().enumerate() {
            // Calls are blocking.
            let is_free = member.complete.iter().take(member.called).all(|done| *done);
            if member.called < self.steps.len() && is_free {
                actions.push(Action::Call(rank));
            }
        }
        for index in 0..state.datagrams.len() {
            // Equal datagrams are one choice.
            if index > 0 && state.datagrams[index] == state.datagrams[index - 1] {
                continue;
            }
            actions.push(Action::Arrive(index));
            if state.losses > 0 {
                actions.push(Action::Lose(index));
            }
            if state.doubles > 0 {
                actions.push(Action::Double(index));
            }
        }
        actions.extend(state.messages.keys().map(|(from, to)| Action::Take(*from, *to)));
        let reports = state.reports.keys();
        actions.extend(reports.map(|(from, to, counter)| Action::Report(*from, *to, *counter)));
        actions.extend((0..state.reads.len()).map(Action::Read));
        // Where nothing else can happen, time passes.
        if actions.is_empty() || state.early_timers > 0 {
            let timers = state.ranks.iter().enumerate();
            let set = timers.filter(|(_, member)| member.core.poll_timeout().is_some());
            let over = state.is_over();
            actions.extend(set.filter(|_| !over).map(|(rank, _)| Action::Timer(rank)));
        }
    }

    fn next_state(&self, state: &State<C>, action: Action) -> Option<State<C>> {
        let mut next = state.clone();
        self.step(&mut next, action);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("nothing is wrong", |_, state: &State<C>| state.wrong.is_none()),
            Property::always("where nothing can happen, all is over", |setup, state| {
                let mut actions = Vec::new();
                setup.actions(state, &mut actions);
                !actions.is_empty() || state.wrong.is_some() || state.is_over()
            }),
            Property::sometimes("all is over", |_, state: &State<C>| state.is_over()),
        ]
    }
}
