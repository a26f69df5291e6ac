//! All ranks' cores and the packets between them as a state machine, whose every behaviour is
//! explored.
//!
//! What may happen next, at any time: a rank calls its next broadcast; a datagram comes, is lost or is
//! doubled (within a budget); the first message of a connection is taken; a report or a read takes
//! effect; a rank's next timer fires. Time is left out of the comparison of states: a timer may fire
//! at any moment, so it makes no difference how long something took.
//!
//! With a [`Program`], processes have two communicators or more on one endpoint, and also wait for one another's words.

mod print;
mod programs;
mod state;

pub use programs::{Act, Program};
pub use state::State;

use state::{Member, Told, incoming};
use stateright::{Model, Property};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use verbcast_core::protocol::{Core, Counter, Fragments, Via};
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
    /// What processes with several communicators do. The ranks of the second come after those of the first.
    pub program: Program,
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
    /// A process goes on to its next broadcast, or sends or takes a word.
    Proceed(usize),
}

impl<C: Core + Clone + Debug> Setup<C> {
    fn member(&self, rank: u32) -> Member<C> {
        let steps = self.steps.len();
        let cut = |len| Fragments::new(len, FRAGMENT).expect("a short message").count() as usize;
        // Those of other communicators are none of its business.
        let own = self.program.steps_of(rank / self.size, steps);
        let is_others: Vec<_> = (0..steps).map(|step| !own.contains(&step)).collect();
        Member {
            core: (self.make)(Rank(rank % self.size), self.size),
            called: 0,
            complete: is_others.clone(),
            quiescent: is_others,
            here: self.steps.iter().map(|(_, len)| vec![false; cut(*len)]).collect(),
            held: Vec::new(),
            ring: BTreeMap::new(),
            now: Instant::ZERO,
            inbox: VecDeque::new(),
        }
    }

    /// The first rank of the communicator of a rank.
    fn base(&self, rank: u32) -> u32 {
        rank - rank % self.size
    }

    /// Which step an operation of a rank's communicator is.
    fn step_of(&self, rank: u32, op: OpId) -> usize {
        let steps = self.program.steps_of(rank / self.size, self.steps.len());
        steps[op.after(FIRST) as usize]
    }

    /// Whether a rank's process polls its communicator.
    fn polls(&self, state: &State<C>, rank: usize) -> bool {
        let size = self.size as usize;
        let process = state.processes.get(rank % size);
        process.is_none_or(|process| self.program.polls(process, (rank / size) as u32))
    }

    /// Whether a process is done with its next act, which is not its own or of which it has all.
    fn leaves(&self, state: &mut State<C>, process: usize) -> bool {
        let one = &mut state.processes[process];
        match self.program.next(one) {
            None => false,
            Some(Act::Word(from, to)) => process != from && process != to,
            Some(Act::Broadcast(_)) if !one.is_in => false,
            Some(Act::Broadcast(communicator)) => {
                let core = &state.ranks[(communicator * self.size) as usize + process];
                let is_complete = core.complete[self.program.step(one.next)];
                let next = core.core.next_op();
                is_complete && one.reserved.reserve(communicator, core.core.expected(next), next)
            }
        }
    }

    /// Whether the queue of a process takes a reliable message.
    fn takes(&self, state: &State<C>, process: usize) -> bool {
        let one = state.processes.get(process);
        one.is_none_or(|one| self.program.polls_any(one) || one.queued < self.program.receives)
    }

    /// Begins a process's next broadcast, or sends or takes a word.
    fn proceed(&self, state: &mut State<C>, process: usize) {
        let one = &mut state.processes[process];
        match self.program.next(one).expect("there is an act") {
            Act::Broadcast(communicator) => {
                one.is_in = true;
                self.call(state, (communicator * self.size) as usize + process);
                state.look(self, process);
            }
            Act::Word(from, to) if from == process => {
                one.next += 1;
                state.processes[to].words.push(from);
                if self.program.next(&state.processes[process]).is_none() {
                    state.look(self, process);
                }
            }
            Act::Word(from, _) => {
                let word = one.words.iter().position(|word| *word == from);
                one.words.remove(word.expect("the word is there"));
                one.next += 1;
                if self.program.next(&state.processes[process]).is_none() {
                    state.look(self, process);
                }
            }
        }
    }

    /// Lets something happen.
    fn step(&self, state: &mut State<C>, action: Action) {
        match action {
            Action::Call(rank) => self.call(state, rank),
            Action::Arrive(index) => {
                let flying = state.datagrams.remove(index);
                let kind = if flying.is_question { Kind::Acknowledge } else { Kind::Fragment };
                let packet = incoming(self.size, Via::Multicast, kind, &flying);
                state.tell(self, flying.to as usize, Told::Packet(packet));
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
                if let Some(process) = state.processes.get_mut(to as usize) {
                    process.queued += u32::from(!self.program.polls_any(process));
                    if token.kind == Kind::Fragment {
                        process.reserved.arrived(flying.to / self.size, token.op);
                    }
                }
                let delivered = Told::Delivered(Rank(to), token);
                state.tell(self, flying.from as usize, delivered);
                let packet = incoming(self.size, Via::Reliable, token.kind, &flying);
                state.tell(self, flying.to as usize, Told::Packet(packet));
            }
            Action::Report(from, to, counter) => {
                let value = state.reports.remove(&(from, to, counter)).expect("there is a report");
                let counter = Counter::ALL[usize::from(counter)];
                let [source, target] = [from, to].map(|rank| Rank(rank % self.size));
                state.tell(self, to as usize, Told::Reported(source, counter, value));
                state.tell(self, from as usize, Told::WriteAcked(target, counter));
            }
            Action::Read(index) => self.read(state, index),
            Action::Proceed(process) => self.proceed(state, process),
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
        let steps = self.program.steps_of(rank as u32 / self.size, self.steps.len());
        let (root, len) = self.steps[steps[member.called]];
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
                let packet = incoming(self.size, Via::Fetched, Kind::Fragment, &flying);
                state.tell(self, me as usize, Told::Packet(packet));
            }
            None => {
                let missed = Told::Missed(Rank(owner % self.size), token);
                state.tell(self, me as usize, missed);
            }
        }
    }
}

impl<C: Core + Clone + Debug + 'static> Model for Setup<C> {
    type State = State<C>;
    type Action = Action;

    fn init_states(&self) -> Vec<State<C>> {
        vec![State {
            ranks: (0..self.size * self.program.communicators())
                .map(|rank| self.member(rank))
                .collect(),
            processes: self.program.processes(self.size, self.member(0).core.eager()),
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
            if self.program.acts.is_empty() && member.called < self.steps.len() && is_free {
                actions.push(Action::Call(rank));
            }
        }
        for (index, process) in state.processes.iter().enumerate() {
            let goes_on = match self.program.next(process) {
                Some(Act::Broadcast(_)) => !process.is_in,
                Some(Act::Word(from, _)) => from == index || process.words.contains(&from),
                None => false,
            };
            if goes_on {
                actions.push(Action::Proceed(index));
            }
        }
        for index in 0..state.datagrams.len() {
            // Equal datagrams are one choice.
            if index > 0 && state.datagrams[index] == state.datagrams[index - 1] {
                continue;
            }
            if self.polls(state, state.datagrams[index].to as usize) {
                actions.push(Action::Arrive(index));
            }
            if state.losses > 0 {
                actions.push(Action::Lose(index));
            }
            if state.doubles > 0 {
                actions.push(Action::Double(index));
            }
        }
        let taken = state.messages.keys().filter(|(_, to)| self.takes(state, *to as usize));
        actions.extend(taken.map(|(from, to)| Action::Take(*from, *to)));
        let reports = state.reports.keys();
        actions.extend(reports.map(|(from, to, counter)| Action::Report(*from, *to, *counter)));
        actions.extend((0..state.reads.len()).map(Action::Read));
        // Where nothing else can happen, time passes.
        if actions.is_empty() || state.early_timers > 0 {
            let timers = state.ranks.iter().enumerate();
            let set = timers.filter(|(rank, member)| {
                self.polls(state, *rank) && member.core.poll_timeout().is_some()
            });
            let over = state.is_over();
            actions.extend(set.filter(|_| !over).map(|(rank, _)| Action::Timer(rank)));
        }
    }

    fn next_state(&self, state: &State<C>, action: Action) -> Option<State<C>> {
        let mut next = state.clone();
        self.step(&mut next, action);
        next.go_on(self);
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
