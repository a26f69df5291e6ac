//! Ranks on the simulated network: each the real driver with a real core.

mod calls;

use super::communicator::{Channel, Group};
use super::event::Event;
use super::jobs::Jobs;
use super::network::Network;
use super::outcome::{Call, Outcome, Violation};
use super::plan::Plan;
use super::spare::Spare;
use super::transport::SimTransport;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use verbcast_core::driver::{Driver, Failure};
use verbcast_core::protocol::options::Options;
use verbcast_core::protocol::suite::Suite;
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::time::Instant;

/// Turns that a rank takes at one point in time at most, before it must be doing something wrong.
const TURNS_ON_END: u32 = 10_000;

/// One rank.
pub(super) struct Member {
    pub(super) driver: Driver<Suite, SimTransport>,
    /// The next broadcast to call, and when.
    next: usize,
    calls_at: u64,
    /// In flight: the broadcast and its operation.
    flying: VecDeque<(usize, OpId)>,
    ended: usize,
    computes_until: u64,
    failure: Option<Failure>,
    /// It has said farewell.
    is_departing: bool,
}

impl Member {
    fn is_done(&self, steps: usize) -> bool {
        self.ended == steps || self.failure.is_some()
    }

    /// Whether the time of its next call has come.
    fn is_to_call(&self, at: u64, plan: &Plan) -> bool {
        self.next < plan.steps.len() && self.flying.len() < plan.at_once && self.calls_at <= at
    }
}

/// All ranks and the network between them.
pub struct Cluster<'a> {
    pub(super) plan: &'a Plan,
    observe: Box<dyn FnMut(Rank, usize) + 'a>,
    pub(super) network: Rc<RefCell<Network>>,
    pub(super) members: Vec<Member>,
    draw: ChaCha8Rng,
    spare: Spare,
    calls: Vec<Vec<Call>>,
    pub(super) done: u32,
    events: u64,
    trace: u64,
    now: u64,
}

impl<'a> Cluster<'a> {
    /// The ranks of a plan, with the protocols of `options`.
    ///
    /// # Errors
    /// If the options contradict the plan.
    pub fn new(plan: &'a Plan, options: &Options) -> Result<Self, Violation> {
        let Plan { size, costs, depths, faults, seed, .. } = plan;
        let mut network = Network::new(*size, *costs, *depths, *faults, *seed);
        for (rank, factor) in &plan.slow {
            network.port(*rank).slowness = *factor;
        }
        if let Some((rank, at)) = plan.crash {
            network.queue.put(at, Event::Crash(rank));
        }
        network.groups.push(Rc::new(Group::all(*size)));
        network.share_nodes(&plan.order, plan.ranks_per_node);
        let network = Rc::new(RefCell::new(network));
        // Of its size at once: while a list grows, it is there twice.
        let mut members = Vec::with_capacity(*size as usize);
        for rank in (0..*size).map(Rank) {
            let transport = SimTransport::new(rank, Channel::ONLY, plan, &network);
            let driver = Driver::assemble(options, &plan.parameters(rank), transport);
            let mut driver = driver.map_err(|error| Violation(error.to_string()))?;
            driver.pass(plan.passed);
            members.push(Member {
                driver,
                next: 0,
                calls_at: 0,
                flying: VecDeque::new(),
                ended: 0,
                computes_until: 0,
                failure: None,
                is_departing: false,
            });
        }
        let mut draw = ChaCha8Rng::seed_from_u64(*seed);
        draw.set_stream(1);
        let mut cluster = Cluster {
            plan,
            observe: Box::new(|_, _| {}),
            members,
            network,
            draw,
            spare: Spare::default(),
            calls: vec![vec![Call::default(); *size as usize]; plan.steps.len()],
            done: 0,
            events: 0,
            trace: 0xcbf2_9ce4_8422_2325,
            now: 0,
        };
        for rank in (0..*size).map(Rank) {
            cluster.plan_call(rank);
            cluster.network.borrow_mut().wake_at(rank, 0);
        }
        Ok(cluster)
    }

    /// Calls `observe` whenever a broadcast ends at a rank, for whoever waits for the outcome.
    pub fn observed(mut self, observe: impl FnMut(Rank, usize) + 'a) -> Self {
        self.observe = Box::new(observe);
        self
    }

    /// Runs until every rank has ended every broadcast, then until nothing is owed.
    ///
    /// # Errors
    /// If anything does not hold that must.
    pub fn run(self) -> Result<Outcome, Violation> {
        let (mut outcomes, _) = Jobs::one(self).run()?;
        Ok(outcomes.remove(0))
    }

    /// Ranks that are expected to come to an end.
    pub(super) fn expected(&self) -> u32 {
        if self.plan.crash.is_none() {
            return self.plan.size;
        }
        let network = self.network.borrow();
        let dead = network.ports.iter().zip(&self.members);
        let steps = self.plan.steps.len();
        let dead = dead.filter(|(port, member)| port.is_dead && !member.is_done(steps)).count();
        self.plan.size - dead as u32
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.network.borrow().in_transit == 0
            && self.members.iter().all(|member| member.driver.is_quiescent())
    }

    /// When the next event happens that is not on shared links.
    pub(super) fn next_at(&self) -> Option<u64> {
        self.network.borrow().queue.next_at()
    }

    /// Lets that event happen; whether there was any.
    pub(super) fn step(&mut self, what: &str) -> Result<bool, Violation> {
        let next = self.network.borrow_mut().queue.take();
        let Some((now, event)) = next else { return Ok(false) };
        if now > self.plan.limit {
            return Err(self.stuck(what, "the limit of time has passed"));
        }
        self.happen(now, event)?;
        Ok(true)
    }

    /// Lets an event happen. Inlined, as what it takes is large.
    #[inline]
    pub(super) fn happen(&mut self, now: u64, event: Event) -> Result<(), Violation> {
        self.now = now;
        self.events += 1;
        self.note(now, &event);
        match event {
            Event::Turn(rank) => self.turn(now, rank),
            event => {
                self.network.borrow_mut().happen(now, event);
                Ok(())
            }
        }
    }

    pub(super) fn stuck(&self, what: &str, why: &str) -> Violation {
        let steps = self.plan.steps.len();
        let open = self.members.iter().position(|member| !member.is_done(steps));
        let owing = self.members.iter().position(|member| !member.driver.is_quiescent());
        let at = match (open, owing) {
            (Some(rank), _) => {
                format!("rank {rank} is in broadcast {}", self.members[rank].ended)
            }
            (None, Some(rank)) => format!("rank {rank} is not quiescent"),
            (None, None) => format!("{} messages are in transit", self.network.borrow().in_transit),
        };
        Violation(format!("{what} after {} ns, and {why}: {at}", self.now))
    }

    /// Mixes an event into the trace (FNV-1a).
    fn note(&mut self, now: u64, event: &Event) {
        let (kind, rank, more) = match event {
            Event::Turn(rank) => (0, *rank, 0),
            Event::Multicast { from, bytes, .. } => (1, *from, bytes.len() as u64),
            Event::Datagram { to, bytes } => (2, *to, bytes.len() as u64),
            Event::Left(rank, _) => (3, *rank, 0),
            Event::Message(message) => (4, message.to, u64::from(message.token.fragment.0)),
            Event::Report { to, value, .. } => (5, *to, *value),
            Event::Read(read) => (6, read.from, u64::from(read.slot.1)),
            Event::Complete(rank, _) => (7, *rank, 0),
            Event::Crash(rank) => (8, *rank, 0),
            Event::Copy { to, bytes } => (9, *to, bytes.len() as u64),
            Event::Rest(read, _) => (10, read.from, u64::from(read.slot.1)),
            Event::Word { to, .. } => (11, *to, 0),
            Event::Write { to, write, .. } => (12, *to, write.bytes.len() as u64),
            Event::MateReport { to, value, .. } => (13, *to, *value),
        };
        for word in [now, kind, u64::from(rank.0), more] {
            self.trace = (self.trace ^ word).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// A rank takes its turn, if it has one now.
    fn turn(&mut self, now: u64, rank: Rank) -> Result<(), Violation> {
        let Some(has_polled) = self.network.borrow_mut().begin_turn(now, rank) else {
            return Ok(());
        };
        self.take_turns(now, rank)?;
        self.network.borrow_mut().end_turn(rank, has_polled);
        Ok(())
    }

    fn take_turns(&mut self, now: u64, rank: Rank) -> Result<(), Violation> {
        if self.members[rank.index()].is_departing {
            self.linger(rank);
            return Ok(());
        }
        for _ in 0..TURNS_ON_END {
            let at = self.network.borrow_mut().port(rank).cpu;
            let mut member = &mut self.members[rank.index()];
            if at < member.computes_until {
                self.network.borrow_mut().wake_at(rank, member.computes_until);
                return Ok(());
            }
            if member.is_to_call(at, self.plan) {
                self.call(rank, at)?;
                member = &mut self.members[rank.index()];
            }
            if member.failure.is_some() {
                return Ok(());
            }
            let worked = match member.driver.turn(Instant::from_nanos(at), None) {
                Ok(worked) => worked,
                Err(failure) => {
                    self.fail(rank, failure);
                    return Ok(());
                }
            };
            let ended = !member.flying.is_empty() && self.end(rank)?;
            if self.plan.departs && self.departs(rank)? {
                return Ok(());
            }
            if !worked && !ended {
                self.rest(rank, at);
                return Ok(());
            }
        }
        Err(Violation(format!("{rank} finds no rest after {now} ns")))
    }

    /// Lets a rank leave if it has everything and owes nothing; whether it does.
    fn departs(&mut self, rank: Rank) -> Result<bool, Violation> {
        let member = &mut self.members[rank.index()];
        if !member.is_done(self.plan.steps.len()) || !member.driver.is_quiescent() {
            return Ok(false);
        }
        member.is_departing = true;
        let said = member.driver.depart();
        said.map_err(|failure| Violation(format!("{rank} cannot leave: {failure}")))?;
        self.linger(rank);
        Ok(true)
    }

    /// A leaving rank stays until its farewells are delivered.
    fn linger(&mut self, rank: Rank) {
        let member = &mut self.members[rank.index()];
        let at = self.network.borrow_mut().port(rank).cpu;
        while member.driver.linger(Instant::from_nanos(at)) {}
        if !member.driver.owes_notices() {
            self.network.borrow_mut().leave(rank);
        }
    }

    fn fail(&mut self, rank: Rank, failure: Failure) {
        let member = &mut self.members[rank.index()];
        if !member.is_done(self.plan.steps.len()) {
            self.done += 1;
        }
        member.failure = Some(failure);
    }

    /// Puts the next turn, where there is a reason for one.
    fn rest(&mut self, rank: Rank, at: u64) {
        let member = &self.members[rank.index()];
        let timer = member.driver.next_timeout().map(Instant::as_nanos);
        let is_open = member.next < self.plan.steps.len() && member.calls_at > at;
        let call = is_open.then_some(member.calls_at);
        let mut network = self.network.borrow_mut();
        network.port(rank).waits = true;
        let look = network.next_look(rank, &[Channel::ONLY], at);
        if let Some(next) = timer.into_iter().chain(call).chain(look).min() {
            network.wake_at(rank, next.max(at));
        }
        if network.has_news(rank, &[Channel::ONLY]) {
            network.wake_at(rank, at);
        }
    }

    pub(super) fn outcome(&self) -> Outcome {
        let failures = self.members.iter().map(|member| {
            let failure = member.failure.as_ref();
            failure.map(|failure| (failure.rank, failure.reason.clone()))
        });
        let network = self.network.borrow();
        let statistics = (0..)
            .map(Rank)
            .zip(&self.members)
            .map(|(rank, member)| network.count_nodes(rank, member.driver.statistics()));
        Outcome {
            calls: self.calls.clone(),
            statistics: statistics.collect(),
            failures: failures.collect(),
            overflowed: network.ports.iter().map(|port| port.overflowed).sum(),
            events: self.events,
            ended: self.now,
            trace: self.trace,
        }
    }
}
