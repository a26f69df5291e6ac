//! Processes on the simulated network, each with an endpoint for all its communicators.

#[cfg(test)]
mod tests;

use super::checkers;
use super::communicator::{Channel, Group};
use super::event::Event;
use super::faults::Faults;
use super::network::Network;
use super::outcome::Violation;
use super::programs::{Act, Programs};
use super::short;
use super::spare::Spare;
use super::transport::SimTransport;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use verbcast_core::driver::{Driver, Failure, Statistics};
use verbcast_core::protocol::options::Options;
use verbcast_core::protocol::suite::Suite;
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::time::Instant;

/// Turns that a process takes at one point in time at most, before it must be doing something wrong.
const TURNS_ON_END: u32 = 10_000;

/// What came of programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Events that happened.
    pub events: u64,
    /// When the last of them happened, in nanoseconds.
    pub ended: u64,
    /// The counters, over all ranks.
    pub total: Statistics,
    /// Datagrams that found no receive, or no room in the inbox of a communicator that nobody polled.
    pub overflowed: u64,
}

/// One process.
struct Process {
    /// By communicator.
    drivers: Vec<Option<Driver<Suite, SimTransport>>>,
    /// The next act.
    next: usize,
    /// What it has begun and not waited for: the communicator, the step and the operation.
    open: VecDeque<(Channel, usize, OpId)>,
    computes_until: u64,
}

/// What a process does next.
enum Next {
    /// It goes on.
    GoesOn,
    /// It waits for the communicators that are noted.
    Polls,
    /// It waits for another process, and polls nothing.
    IsAway,
}

/// All processes and the network between them.
struct Processes<'a> {
    programs: &'a Programs,
    network: Rc<RefCell<Network>>,
    processes: Vec<Process>,
    spare: Spare,
    /// The communicators that a process waits for.
    polled: Vec<Channel>,
    events: u64,
    now: u64,
}

/// Runs programs with the protocols and parameters of `options`, until all have come to their ends and nothing is owed.
///
/// # Errors
/// If the options contradict the plan, or anything does not hold that must: the bytes and their order, an end of all
/// waiting, nothing owed in the end.
pub fn run(programs: &Programs, options: &Options) -> Result<Ran, Violation> {
    Processes::new(programs, options)?.run()
}

impl<'a> Processes<'a> {
    fn new(programs: &'a Programs, options: &Options) -> Result<Self, Violation> {
        let plan = &programs.plan;
        let mut network = Network::new(plan.size, plan.costs, plan.depths, plan.faults, plan.seed);
        network.batch = programs.batch;
        for (process, factor) in &plan.slow {
            network.port(*process).slowness = *factor;
        }
        for communicator in &programs.communicators {
            let group = Group::new(communicator.members.clone(), plan.size);
            network.groups.push(Rc::new(group));
        }
        network.share_nodes(&plan.order, plan.ranks_per_node);
        let network = Rc::new(RefCell::new(network));
        let orders: Vec<_> = programs.channels().map(|channel| programs.order(channel)).collect();
        let driver = |channel: Channel, process| {
            let order = &orders[usize::from(channel.0)];
            let parameters = programs.parameters(channel, process, order);
            let Some(parameters) = parameters else { return Ok(None) };
            let transport = SimTransport::new(process, channel, plan, &network);
            let driver = Driver::assemble(options, &parameters, transport);
            let mut driver = driver.map_err(|error| Violation(error.to_string()))?;
            driver.pass(programs.communicators[usize::from(channel.0)].passed);
            Ok(Some(driver))
        };
        let process = |process| {
            let drivers = programs.channels().map(|channel| driver(channel, process));
            let drivers = drivers.collect::<Result<_, Violation>>()?;
            Ok(Process { drivers, next: 0, open: VecDeque::new(), computes_until: 0 })
        };
        let processes = (0..plan.size).map(Rank).map(process).collect::<Result<_, Violation>>()?;
        let (spare, polled) = (Spare::default(), Vec::new());
        Ok(Processes { programs, network, processes, spare, polled, events: 0, now: 0 })
    }

    fn run(mut self) -> Result<Ran, Violation> {
        self.wake_all();
        self.run_until("a program goes on", Self::have_ended)?;
        self.network.borrow_mut().faults = Faults::default();
        self.wake_all();
        self.run_until("something is owed", Self::are_quiet)?;
        let drivers = self.processes.iter().flat_map(|process| process.drivers.iter().flatten());
        let total = drivers.map(Driver::statistics).sum();
        let overflowed = self.network.borrow().ports.iter().map(|port| port.overflowed).sum();
        Ok(Ran { events: self.events, ended: self.now, total, overflowed })
    }

    fn wake_all(&mut self) {
        for process in (0..self.programs.plan.size).map(Rank) {
            self.network.borrow_mut().wake(process);
        }
    }

    fn have_ended(&self) -> bool {
        self.processes.iter().all(|process| process.next == self.programs.acts.len())
    }

    fn are_quiet(&self) -> bool {
        let mut drivers =
            self.processes.iter().flat_map(|process| process.drivers.iter().flatten());
        self.network.borrow().in_transit == 0 && drivers.all(Driver::is_quiescent)
    }

    fn run_until(&mut self, what: &str, ends: impl Fn(&Self) -> bool) -> Result<(), Violation> {
        while !ends(self) {
            let next = self.network.borrow_mut().queue.take();
            let Some((now, event)) = next else {
                return Err(self.stuck(what, "nothing happens any more"));
            };
            if now > self.programs.plan.limit {
                return Err(self.stuck(what, "the limit of time has passed"));
            }
            self.now = now;
            self.events += 1;
            match event {
                Event::Turn(process) => self.turn(now, process)?,
                event => self.network.borrow_mut().happen(now, event),
            }
        }
        Ok(())
    }

    fn stuck(&self, what: &str, why: &str) -> Violation {
        let acts = &self.programs.acts;
        let at =
            (0..).map(Rank).zip(&self.processes).map(|(process, one)| match acts.get(one.next) {
                Some(act) => format!("{process} is in act {} ({act:?})", one.next),
                None => format!("{process} has ended"),
            });
        let at: Vec<_> = at.collect();
        Violation(format!("{what} after {} ns, and {why}: {}", self.now, at.join(", ")))
    }

    fn turn(&mut self, now: u64, process: Rank) -> Result<(), Violation> {
        let Some(has_polled) = self.network.borrow_mut().begin_turn(now, process) else {
            return Ok(());
        };
        self.take_turns(now, process)?;
        self.network.borrow_mut().end_turn(process, has_polled);
        Ok(())
    }

    fn take_turns(&mut self, now: u64, process: Rank) -> Result<(), Violation> {
        for _ in 0..TURNS_ON_END {
            let at = self.network.borrow_mut().port(process).cpu;
            let until = self.processes[process.index()].computes_until;
            if at < until {
                self.network.borrow_mut().wake_at(process, until);
                return Ok(());
            }
            match self.act(process, at)? {
                Next::GoesOn => {}
                Next::IsAway => return Ok(()),
                Next::Polls => {
                    let polled = std::mem::take(&mut self.polled);
                    let worked = self.poll(process, &polled, at)?;
                    let rests = !self.end(process)? && !worked;
                    if rests {
                        self.rest(process, &polled, at);
                    }
                    self.polled = polled;
                    if rests {
                        return Ok(());
                    }
                }
            }
        }
        Err(Violation(format!("{process} finds no rest after {now} ns")))
    }

    /// Begins what is next in a process's program.
    fn act(&mut self, rank: Rank, at: u64) -> Result<Next, Violation> {
        let Programs { plan, acts, .. } = self.programs;
        let process = &mut self.processes[rank.index()];
        self.polled.clear();
        let Some(act) = acts.get(process.next) else {
            self.polled.extend(self.programs.channels());
            return Ok(Next::Polls);
        };
        match *act {
            Act::Start { communicator, step } => {
                if let Some(driver) = &mut process.drivers[communicator] {
                    let channel = Channel(communicator as u16);
                    let (root, len) = (plan.steps[step].root, plan.steps[step].len);
                    let is_root =
                        self.programs.communicators[communicator].members[root.index()] == rank;
                    let mut message = match is_root {
                        true => plan.message(step),
                        false => self.spare.take(step, len),
                    };
                    let now = Instant::from_nanos(at);
                    if process.open.is_empty() {
                        let taken = short::call(driver, now, (root, is_root), &mut message);
                        let taken = taken.map_err(|failure| gave_up(rank, &failure))?;
                        if taken.is_some() {
                            checkers::same_bytes(plan, rank, step, &message)?;
                            self.spare.give_back(step, message);
                            process.next += 1;
                            return Ok(Next::GoesOn);
                        }
                    }
                    let started = driver.start_owned(now, root, message);
                    let op = started.map_err(|error| Violation(format!("{rank}: {error}")))?;
                    process.open.push_back((channel, step, op));
                }
            }
            Act::Wait => {
                if !process.open.is_empty() {
                    let many = if self.programs.waits_for_all { usize::MAX } else { 1 };
                    let open = process.open.iter().map(|(channel, ..)| *channel);
                    self.polled.extend(open.take(many));
                    return Ok(Next::Polls);
                }
            }
            Act::Word { from, to } => {
                let mut network = self.network.borrow_mut();
                if from == rank {
                    let arrives = at + network.costs.unicast_latency;
                    network.queue.put(arrives, Event::Word { from, to });
                } else if to == rank {
                    let words = network.port(rank).words.entry(from).or_default();
                    let Some(left) = words.checked_sub(1) else { return Ok(Next::IsAway) };
                    *words = left;
                }
            }
            Act::Compute { process: who, nanos } => {
                if who == rank {
                    process.computes_until = at + nanos;
                }
            }
        }
        process.next += 1;
        Ok(Next::GoesOn)
    }

    /// Gives each of some communicators a turn; whether there was anything to do.
    fn poll(&mut self, rank: Rank, channels: &[Channel], at: u64) -> Result<bool, Violation> {
        let mut worked = false;
        for channel in channels {
            let driver = &mut self.processes[rank.index()].drivers[usize::from(channel.0)];
            let Some(driver) = driver else { continue };
            let turned = driver.turn(Instant::from_nanos(at), None);
            worked |= turned.map_err(|failure| gave_up(rank, &failure))?;
        }
        Ok(worked)
    }

    /// Takes the broadcasts that have ended, in the order in which they were begun; whether there were any.
    fn end(&mut self, rank: Rank) -> Result<bool, Violation> {
        let process = &mut self.processes[rank.index()];
        let mut any = false;
        while let Some((channel, step, op)) = process.open.front().copied() {
            let driver = process.drivers[usize::from(channel.0)].as_mut().expect("it has begun");
            if !driver.take_complete(op) {
                break;
            }
            any = true;
            process.open.pop_front();
            let bytes = driver.take_message(op).unwrap_or_default();
            checkers::same_bytes(&self.programs.plan, rank, step, &bytes)?;
            self.spare.give_back(step, bytes);
        }
        Ok(any)
    }

    /// Puts the next turn of a process that waits for some communicators.
    fn rest(&mut self, rank: Rank, channels: &[Channel], at: u64) {
        let drivers = &self.processes[rank.index()].drivers;
        let polled = channels.iter().filter_map(|channel| drivers[usize::from(channel.0)].as_ref());
        let timer = polled.filter_map(Driver::next_timeout).min();
        let mut network = self.network.borrow_mut();
        network.port(rank).waits = true;
        let look = network.next_look(rank, channels, at);
        if let Some(next) = timer.map(Instant::as_nanos).into_iter().chain(look).min() {
            network.wake_at(rank, next.max(at));
        }
        if network.has_news(rank, channels) {
            network.wake_at(rank, at);
        }
    }
}

/// No process of such a program fails.
fn gave_up(rank: Rank, failure: &Failure) -> Violation {
    Violation(format!("{rank} gave up {}, which lives: {}", failure.rank, failure.reason))
}
