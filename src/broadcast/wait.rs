//! Waiting: turns of the driver until something has happened.

use super::told::Broadcast;
use super::{Broadcaster, Error, waits};
use crate::rdma::Claims;
use std::fmt;
use std::time::Duration;
use verbcast_core::driver::{Failure, Lent, LentBytes};
use verbcast_core::protocol::{Core, StartError};
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::time::Instant;
use verbcast_core::transport::{Park, TransportError};

/// Longest sleep between two turns, whatever the timers say.
pub(super) const MAX_PARK: Duration = Duration::from_millis(500);
/// Longest sleep where something else must go on meanwhile.
const MEANWHILE: Duration = Duration::from_millis(1);
/// How long datagrams that are still expected in a message's memory may take when it is complete.
const LEFT_OVER: Duration = Duration::from_millis(1);
/// How long a failed rank stays to have its notices delivered.
pub(super) const LINGER: Duration = Duration::from_secs(3);
/// How long it stays at least, where there are others who may name another one, so that all come to say the same.
const AGREE: Duration = Duration::from_millis(100);

impl Broadcaster {
    pub(super) fn flush_until(&mut self, until: Option<Instant>) -> Result<(), Error> {
        self.driver.transport_mut().begin_wait();
        let flushed = self.turn_until_quiescent(until);
        self.driver.transport_mut().end_wait();
        flushed
    }

    fn turn_until_quiescent(&mut self, until: Option<Instant>) -> Result<(), Error> {
        let mut idle = Idle::default();
        loop {
            let now = self.clock.now();
            self.driver.flush(now);
            let worked = self.turn(now, None)?;
            if self.driver.is_quiescent() {
                return Ok(());
            }
            if until.is_some_and(|until| now >= until) {
                return Err(Error::Timeout { rank: self.rank(), after: self.timeout });
            }
            self.rest(now, worked, &mut idle, MAX_PARK, None)?;
        }
    }

    /// Begins a broadcast, and returns the time when it did. While as many are in flight as may be, it first makes progress until
    /// one has ended.
    pub(super) fn start_when_possible(
        &mut self,
        root: Rank,
        len: usize,
    ) -> Result<(OpId, Ending, Instant), Error> {
        let mut idle = Idle::default();
        let mut now = self.clock.now();
        let ending = Ending { is_one_call: true, ..Ending::new(now, root, len) };
        loop {
            match self.driver.start(now, root, len) {
                Err(StartError::TooManyInFlight(_)) => {
                    let worked = self.turn(now, None)?;
                    self.rest(now, worked, &mut idle, MAX_PARK, None)?;
                    now = self.clock.now();
                }
                started => {
                    self.waits.add_call(now - ending.began);
                    return Ok((started?, ending, now));
                }
            }
        }
    }

    /// Makes progress from now on until the operation is complete and its message can be given back.
    pub(super) fn run_until_complete(
        &mut self,
        op: OpId,
        ending: &mut Ending,
        began: Instant,
        bytes: Option<LentBytes<'_>>,
    ) -> Result<(), Error> {
        self.driver.transport_mut().begin_wait();
        let outcome = self.turn_until_complete(op, ending, began, bytes);
        self.driver.transport_mut().end_wait();
        let ended = outcome.as_ref().copied().unwrap_or_else(|_| self.clock.now());
        let (root, len) = (ending.root, ending.len);
        self.told.call(|| {
            let lost = self.driver.statistics().lost;
            Broadcast { op, root, len, began, ended, lost }
        });
        outcome.map(|_| ())
    }

    /// Returns when that was.
    fn turn_until_complete(
        &mut self,
        op: OpId,
        ending: &mut Ending,
        began: Instant,
        mut bytes: Option<LentBytes<'_>>,
    ) -> Result<Instant, Error> {
        let mut idle = Idle::default();
        let mut now = began;
        self.waits.begin_call(self.received());
        loop {
            let lent = bytes.as_mut().map(|bytes| Lent { op, bytes: bytes.reborrow() });
            let worked = self.turn(now, lent)?;
            match self.time_to_end(op, ending)? {
                None => {
                    let root = Some(ending.root).filter(|root| *root != self.rank());
                    self.end_wait(&mut idle, now, root);
                    self.waits.add_call(now - began);
                    return Ok(now);
                }
                Some(at_most) => self.rest(now, worked, &mut idle, at_most, Some(ending.root))?,
            }
            now = self.clock.now();
        }
    }

    /// How long to wait at most for an operation to end; none if it is complete and its message can be
    /// given back.
    pub(super) fn time_to_end(
        &mut self,
        op: OpId,
        ending: &mut Ending,
    ) -> Result<Option<Duration>, Error> {
        if !ending.is_complete {
            if !self.driver.take_complete(op) {
                return Ok(Some(MAX_PARK));
            }
            ending.is_complete = true;
            if !ending.is_one_call {
                let Ending { began, root, len, .. } = *ending;
                self.told.operation(|| {
                    let (ended, lost) = (self.clock.now(), self.driver.statistics().lost);
                    Broadcast { op, root, len, began, ended, lost }
                });
            }
        }
        match self.driver.transport().inner().first().claims(op) {
            Claims::None => Ok(None),
            Claims::Sends => Ok(Some(MAX_PARK)),
            Claims::Receives => {
                let now = self.clock.now();
                if now - *ending.left_over.get_or_insert(now) < LEFT_OVER {
                    return Ok(Some(LEFT_OVER));
                }
                self.take_receives_back()?;
                Ok(Some(Duration::ZERO))
            }
        }
    }

    fn take_receives_back(&mut self) -> Result<(), Error> {
        self.transport().flush_receives().map_err(|error| self.give_up(&error))
    }

    #[inline]
    pub(super) fn turn(&mut self, now: Instant, lent: Option<Lent<'_>>) -> Result<bool, Error> {
        self.driver.turn(now, lent).map_err(|failure| self.fail(failure))
    }

    /// Waits for something to do, unless there was in the turn at `now`. Where the protocol waits for nobody in particular,
    /// it is for the `root`.
    fn rest(
        &mut self,
        now: Instant,
        worked: bool,
        idle: &mut Idle,
        longest: Duration,
        root: Option<Rank>,
    ) -> Result<(), Error> {
        let root = root.filter(|root| *root != self.rank());
        if worked {
            self.end_wait(idle, now, root);
        }
        idle.update(now, worked);
        let Some(for_long) = idle.time(now) else { return Ok(()) };
        if for_long >= waits::SHORTEST {
            let received = self.received();
            self.waits.begin(idle, received, |ranks| {
                self.driver.core().add_awaited(ranks);
                ranks.retain(|rank| *rank != self.place.rank);
                if ranks.is_empty() {
                    ranks.extend(root);
                }
            });
        }
        self.park(now, for_long, longest)
    }

    /// Lets time pass, after there was nothing to do for so long.
    pub(super) fn park(
        &mut self,
        now: Instant,
        for_long: Duration,
        longest: Duration,
    ) -> Result<(), Error> {
        let at_most = match self.driver.next_timeout() {
            Some(at) => at.since(now).min(longest),
            None => longest,
        };
        let at_most = at_most.min(self.meanwhile.run());
        let parked = self.driver.transport_mut().park(for_long, at_most);
        parked.map_err(|error| self.give_up(&error))
    }

    /// There is something to do again, if there was nothing.
    pub(super) fn end_wait(&mut self, idle: &mut Idle, now: Instant, root: Option<Rank>) {
        if let Some(time) = self.waits.end(idle, now, root) {
            self.told.wait(time, self.waits.awaited());
        }
    }

    /// Packets of others that have come, without copies and what is left of broadcasts before.
    pub(super) fn received(&self) -> u64 {
        let all = self.driver.statistics();
        let came = all.multicast_received + all.reliable_received + all.fetched;
        came.saturating_sub(all.duplicates + all.redundant + all.late)
    }

    /// The device failed this rank, and so this rank the others.
    pub(super) fn give_up(&mut self, error: &TransportError) -> Error {
        let failure = self.driver.abort(&error.to_string());
        self.fail(failure)
    }

    #[cold]
    pub(super) fn fail(&mut self, failure: Failure) -> Error {
        let others = if self.size() > 2 { AGREE } else { Duration::ZERO };
        self.linger(others, LINGER);
        let agreed = self.driver.failure().cloned();
        self.failed(agreed.unwrap_or(failure))
    }

    /// Stays until aborts and farewells are delivered, then says nothing more. What others say is heard meanwhile.
    pub(super) fn linger(&mut self, at_least: Duration, at_most: Duration) {
        let began = self.clock.now();
        let mut now = began;
        while now < began + at_least || (self.driver.owes_notices() && now < began + at_most) {
            if !self.driver.linger(now) {
                std::thread::sleep(Duration::from_micros(200));
            }
            now = self.clock.now();
        }
        self.is_silent = true;
    }
}

/// A broadcast in flight, and how far it is from giving its message back.
#[derive(Debug)]
pub(super) struct Ending {
    began: Instant,
    root: Rank,
    len: usize,
    /// The call that began it ends with it, and tells of it.
    is_one_call: bool,
    is_complete: bool,
    /// Since when only receives that are left over use the message.
    left_over: Option<Instant>,
}

impl Ending {
    /// Of a broadcast of `len` bytes of `root` that begins now, and goes on when the call that began it has ended.
    pub fn new(now: Instant, root: Rank, len: usize) -> Ending {
        Ending { began: now, root, len, is_one_call: false, is_complete: false, left_over: None }
    }
}

/// What is called while a rank waits.
#[derive(Default)]
pub(super) struct Meanwhile {
    pub call: Option<Box<dyn FnMut() + Send>>,
}

impl Meanwhile {
    /// Calls it; how long to wait at most before it is called again.
    fn run(&mut self) -> Duration {
        match &mut self.call {
            Some(call) => {
                call();
                MEANWHILE
            }
            None => MAX_PARK,
        }
    }
}

impl fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meanwhile").field("is_some", &self.call.is_some()).finish()
    }
}

/// Since when there has been nothing to do.
#[derive(Debug, Default)]
pub(super) struct Idle {
    /// None while there may be more.
    since: Option<Instant>,
    /// Whether it was [noted](super::waits::Waits::begin) for whom this rank waits.
    pub(super) is_noted: bool,
}

impl Idle {
    /// A turn has ended, in which there was something to do or not.
    pub fn update(&mut self, now: Instant, worked: bool) {
        match worked {
            true => *self = Idle::default(),
            false => _ = self.since.get_or_insert(now),
        }
    }

    /// For how long there has been nothing to do; none if there was in the last turn.
    pub fn time(&self, now: Instant) -> Option<Duration> {
        self.since.map(|since| now - since)
    }
}
