//! Runs a protocol core over a transport: one turn receives, fires timers, transmits and collects
//! events. It is the same for hardware and simulation, reads no clock and never waits.
//!
//! Besides the core's own packets, the driver speaks the words that all protocols share: it
//! tells its peers when this rank fails or leaves, passes on what it hears of others, and asks the
//! peers' adapters whether they are there when an operation stands still.

mod assembly;
mod failure;
mod held;
mod messages;
mod notices;
mod receive;
mod rest;
mod short;
mod statistics;
#[cfg(test)]
mod tests;
mod transmit;
mod watch;

pub use assembly::Parameters;
pub use failure::Failure;
pub use messages::{Lent, LentBytes};
pub use statistics::Statistics;

pub use crate::wire::FailureKind;

use crate::numbers::NumberSet;
use crate::protocol::{Core, Event, StartError};
use crate::rank::{OpId, Rank};
use crate::time::Instant;
use crate::transport::{Arrival, LentMessages, Purpose, Transport, TransportError};
use crate::wire::{Key, Kind, MacKey};
use held::Held;
use messages::Messages;
use notices::Owed;
use rest::{Looked, Rest};
use std::collections::HashSet;
use watch::Watch;

/// What a driver needs to know besides its core and transport.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// This rank.
    pub rank: Rank,
    /// Ranks of the communicator.
    pub size: u32,
    /// The communicator's key.
    pub key: Key,
    /// Whether payloads have CRCs.
    pub payload_crc: bool,
    /// The key of the packets' authentication codes, if they have any: then in place of all CRCs.
    pub mac: Option<MacKey>,
    /// Most datagrams of operations to come that are kept.
    pub most_held: usize,
    /// Most reliable messages of operations to come whose receive buffers are freed by a copy, so
    /// that what is needed now can come; further ones keep their buffers, and hold back their senders. None: all are
    /// copied, since other communicators need the buffers.
    pub most_copied: Option<usize>,
}

/// A core and a transport, and the messages in flight between them.
#[derive(Debug)]
pub struct Driver<C, T> {
    core: C,
    transport: T,
    identity: Identity,
    messages: Messages,
    held: Held,
    watch: Watch,
    /// Whether this turn has brought anything forward, and not only asked for it.
    progressed: bool,
    rest: Rest,
    looked: Looked,
    /// What was reported, and is to be taken before all else.
    pending: Option<Arrival>,
    completed: NumberSet<OpId>,
    /// Behind the last operation that was taken as complete.
    left: OpId,
    in_flight: usize,
    /// Ranks that must be connected before anything completes.
    connecting: Vec<Rank>,
    /// Peers that left in good order.
    departed: HashSet<Rank>,
    /// A peer whose connection broke while nothing was in flight, and what the adapter said.
    broken: Option<Failure>,
    failure: Option<Failure>,
    /// Aborts and farewells that are not delivered.
    owed: Vec<Owed>,
    statistics: Statistics,
}

impl<C: Core, T: Transport> Driver<C, T> {
    /// Joins a core and a transport.
    pub fn new(core: C, mut transport: T, identity: Identity) -> Self {
        transport.admit_eager(core.eager());
        transport.begin(core.next_op(), core.fragment_len(0));
        Driver {
            left: core.next_op(),
            core,
            transport,
            identity,
            messages: Messages::default(),
            held: Held::new(identity.most_held, identity.most_copied),
            watch: Watch::default(),
            progressed: false,
            rest: Rest::default(),
            looked: Looked::default(),
            pending: None,
            completed: NumberSet::default(),
            in_flight: 0,
            connecting: Vec::new(),
            departed: HashSet::new(),
            broken: None,
            failure: None,
            owed: Vec::new(),
            statistics: Statistics::default(),
        }
    }

    /// The core.
    pub fn core(&self) -> &C {
        &self.core
    }

    /// The transport.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// The transport, to wait on it.
    pub fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    /// The counters so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Joins the next broadcast of `len` bytes. Its message is [given](Self::own) to the driver, lent to
    /// every [`turn`](Self::turn), or lent to the transport until it is complete.
    ///
    /// # Errors
    /// As [`Core::start`].
    pub fn start(&mut self, now: Instant, root: Rank, len: usize) -> Result<OpId, StartError> {
        self.rest = Rest::Disturbed;
        let op = self.core.start(now, root, len as u64)?;
        self.transport.begin(op, self.core.fragment_len(len as u64));
        // What others wrote while that was of no use is looked at before anybody sleeps.
        self.transport.expect_reports(self.core.hears_reports());
        self.in_flight += 1;
        self.statistics.operations += 1;
        self.watch.progress(now);
        Ok(op)
    }

    /// Joins the next broadcast with a message that is [given](Self::own) to the driver.
    ///
    /// # Errors
    /// As [`Core::start`].
    pub fn start_owned(
        &mut self,
        now: Instant,
        root: Rank,
        message: Vec<u8>,
    ) -> Result<OpId, StartError> {
        let op = self.start(now, root, message.len())?;
        self.own(op, root, message);
        Ok(op)
    }

    /// Has the message of an operation of `root` from now on, itself or by its transport, until it is
    /// [taken](Self::take_message).
    pub fn own(&mut self, op: OpId, root: Rank, message: Vec<u8>) {
        let purpose = Purpose::of(self.identity.rank, root);
        if let Some(message) = self.transport.messages_mut().lend(op, message, purpose) {
            self.messages.insert(op, message);
        }
    }

    /// Whether an operation has completed since it was last asked for, all ranks that were to be connected for it are,
    /// and what is still to come can be received while the caller is elsewhere.
    pub fn take_complete(&mut self, op: OpId) -> bool {
        if !self.connecting.is_empty() || !self.completed.contains(&op) {
            return false;
        }
        // Of broadcasts that are not taken yet something comes when others are elsewhere too.
        let next = op.next();
        let left = if next.after(self.left) > 0 { next } else { self.left };
        let may_leave = self.transport.reserve(self.core.expected(left), left);
        if may_leave {
            self.left = left;
            self.completed.remove(&op);
        }
        may_leave
    }

    /// The message of an operation that has completed, once.
    pub fn take_message(&mut self, op: OpId) -> Option<Vec<u8>> {
        self.messages.remove(op).or_else(|| self.transport.messages_mut().take_back(op))
    }

    /// Whether nothing is owed, by this rank or to it, for any operation begun here.
    pub fn is_quiescent(&self) -> bool {
        self.in_flight == 0 && self.connecting.is_empty() && self.core.is_drained()
    }

    /// The caller waits until it [is quiescent](Self::is_quiescent): what would be asked of others or told them in a while
    /// is asked and told in the next turn.
    pub fn flush(&mut self, now: Instant) {
        self.rest = Rest::Disturbed;
        self.core.handle_flush(now);
    }

    /// Packets of operations to come that were kept at once, at most.
    pub fn most_kept(&self) -> usize {
        self.held.most_kept()
    }

    /// How the communicator has failed, as far as is known: while this rank [lingers](Self::linger), others may tell it what all are to
    /// say.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// Whether an abort or farewell is on its way.
    pub fn owes_notices(&self) -> bool {
        !self.owed.is_empty()
    }

    /// The next time at which a turn has something to do, whatever comes.
    pub fn next_timeout(&self) -> Option<Instant> {
        match self.rest {
            Rest::Until(at) => at,
            Rest::Disturbed => self.first_timeout(),
        }
    }

    fn first_timeout(&self) -> Option<Instant> {
        let timer = self.core.poll_timeout().map(|(_, at)| at);
        match (timer, self.watch.due_at()) {
            (Some(timer), Some(due)) => Some(timer.min(due)),
            (timer, due) => timer.or(due),
        }
    }

    /// Receives, fires timers, transmits and collects events; whether there was anything to do.
    ///
    /// # Errors
    /// If this or another rank failed; from then on it is always the same error, but for what others
    /// [tell](Self::failure) while this rank lingers.
    #[inline]
    pub fn turn(&mut self, now: Instant, lent: Option<Lent<'_>>) -> Result<bool, Failure> {
        // Most turns of a rank that waits end here, so this asks for as little as it can.
        if self.failure.is_none() && self.rest.lasts(now) && self.transport.is_quiet(now) {
            return Ok(false);
        }
        self.busy_turn(now, lent)
    }

    /// A turn that may have something to do: by itself, so that the others need not make room for what it keeps.
    #[inline(never)]
    fn busy_turn(&mut self, now: Instant, mut lent: Option<Lent<'_>>) -> Result<bool, Failure> {
        let outcome = self.try_turn(now, &mut lent);
        self.settle(outcome)
    }

    /// This rank gives up: tells its peers, and fails from now on.
    pub fn abort(&mut self, reason: &str) -> Failure {
        let kind = FailureKind::GaveUp;
        self.fail(Failure::new(self.identity.rank, kind, reason.to_owned()))
    }

    /// This rank leaves in good order: tells its peers that it needs nothing more.
    ///
    /// # Errors
    /// If the device fails.
    pub fn depart(&mut self) -> Result<(), Failure> {
        let outcome = self.notify(Kind::Bye, &[]);
        self.settle(outcome)
    }

    fn try_turn(
        &mut self,
        now: Instant,
        lent: &mut Option<Lent<'_>>,
    ) -> Result<bool, TransportError> {
        self.progressed = false;
        self.looked = Looked::now(now);
        let mut worked = self.receive(now, lent)?;
        if self.failure.is_some() {
            // An abort is this rank's last word: others free then what it could write to or read.
            self.transport.submit()?;
            return Ok(worked);
        }
        if !worked && self.rest.lasts(now) {
            return Ok(false);
        }
        if self.core.poll_timeout().is_some_and(|(_, at)| at <= now) {
            self.core.handle_timeout(now);
            worked = true;
        }
        let sent = self.transmit(lent)?;
        worked |= sent.any;
        self.connect()?;
        self.collect_events();
        self.watch(now)?;
        self.transport.expect_reports(self.core.hears_reports());
        self.transport.submit()?;
        let is_waiting = sent.is_refused || !self.connecting.is_empty();
        self.rest = match is_waiting || self.held.has_begun(self.core.next_op()) {
            true => Rest::Disturbed,
            false => Rest::Until(self.first_timeout()),
        };
        Ok(worked)
    }

    /// Connects with the ranks that the core has named. Those that it only wishes for are asked whether they are there, which
    /// connects with them too.
    fn connect(&mut self) -> Result<(), TransportError> {
        for rank in self.core.take_partners() {
            self.transport.connect(rank)?;
            self.connecting.push(rank);
        }
        for rank in self.core.take_wishes() {
            if !self.departed.contains(&rank) {
                self.transport.probe(rank)?;
            }
        }
        let Driver { transport, departed, broken, .. } = self;
        let broken = broken.as_ref().map(|failure| failure.rank);
        self.connecting.retain(|rank| {
            let is_gone = departed.contains(rank) || broken == Some(*rank);
            !is_gone && !transport.is_connected(*rank)
        });
        Ok(())
    }

    fn settle<V>(&mut self, outcome: Result<V, TransportError>) -> Result<V, Failure> {
        match (outcome, &self.failure) {
            (_, Some(failure)) => Err(failure.clone()),
            (Ok(value), None) => Ok(value),
            (Err(error), None) => Err(self.abort(&error.to_string())),
        }
    }

    fn collect_events(&mut self) {
        while let Some(event) = self.core.poll_event() {
            match event {
                Event::Complete { op, lost } => {
                    self.statistics.lost += lost;
                    self.completed.insert(op);
                }
                Event::Quiescent(_) => self.in_flight -= 1,
                Event::Disagreement { op, rank, what } => {
                    let reason = format!("{op}: {what} (as seen by {})", self.identity.rank);
                    self.fail(Failure::new(rank, FailureKind::Erroneous, reason));
                }
            }
        }
    }

    fn watch(&mut self, now: Instant) -> Result<(), TransportError> {
        if self.is_quiescent() {
            self.watch.rest();
            return Ok(());
        }
        // It stays noted, so that the rank that failed is not told.
        if let Some(failure) = self.broken.clone() {
            self.fail(failure);
            return Ok(());
        }
        if self.progressed {
            self.watch.progress(now);
        } else if self.watch.take_due(now) {
            let awaited = self.core.awaited();
            for rank in self.core.peers().iter().chain(&awaited).chain(&self.connecting) {
                if !self.departed.contains(rank) && *rank != self.identity.rank {
                    self.transport.probe(*rank)?;
                }
            }
        }
        Ok(())
    }

    fn broke(&mut self, peer: Rank, reason: String) {
        self.needs_no_notice(peer);
        if !self.departed.contains(&peer) {
            let reason = format!("does not answer: {reason}");
            let kind = FailureKind::Unreachable;
            self.broken.get_or_insert(Failure::new(peer, kind, reason));
        }
    }
}
