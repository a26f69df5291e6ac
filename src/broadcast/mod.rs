//! The public interface: a [`Broadcaster`] made from a bootstrap and a [`Config`].
//!
//! ```no_run
//! use verbcast::bootstrap::{Environment, Star};
//! use verbcast::broadcast::{Broadcaster, Config};
//! use verbcast::rank::Rank;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config::from_env()?;
//! let environment = Environment::from_env()?.ok_or("not started as a rank of a job")?;
//! let mut bootstrap = Star::join(&environment, config.settings.timeout)?;
//! let mut broadcaster = Broadcaster::new(&mut bootstrap, &config)?;
//! let mut parameters = [0.0_f64; 1000];
//! broadcaster.broadcast_into(Rank(0), &mut parameters)?;
//! broadcaster.close()?;
//! # Ok(())
//! # }
//! ```

mod buffer;
mod config;
mod error;

pub use buffer::Buffer;
pub use config::{Config, ConfigError};
pub use error::Error;

use crate::bootstrap::{Bootstrap, VoteError, vote};
use crate::driver::{Driver, Failure, Identity, Lent, Statistics};
use crate::protocol::options::{self, OptionsError};
use crate::protocol::ring_peers;
use crate::protocol::suite::Suite;
use crate::rank::{OpId, Rank};
use crate::rdma::{self, Agreed, Claims, Counters, Description, Multicast, RdmaTransport};
use crate::time::{Clock, Instant};
use crate::transport::{Faulty, Park};
use crate::verbs::Context;
use crate::wire::HEADER_LEN;
use bytemuck::Pod;
use std::time::Duration;

/// Longest sleep between two turns, whatever the timers say.
const LONGEST_PARK: Duration = Duration::from_millis(500);
/// Reliable messages of operations to come that are copied at most; more among many ranks, each of
/// which may have one.
const LEAST_COPIED: u32 = 256;
/// How long datagrams that are still expected in a message's memory may take when it is complete.
const LEFT_OVER: Duration = Duration::from_millis(1);
/// How long a failed rank stays to have its notices delivered.
const LINGER: Duration = Duration::from_secs(3);

/// Ranks among which all are connected when the communicator is made, where the protocols join more than
/// neighbours on the ring. Among more, a rank that fails before another has ever spoken to it is noticed
/// by its neighbours alone, when they call.
const ALL_CONNECTED: u32 = 32;

/// Broadcasts among the ranks of a communicator.
///
/// Every rank makes it, and calls its broadcasts in the same order with the same root and length.
/// After an error the communicator is of no more use, at any rank.
#[derive(Debug)]
pub struct Broadcaster {
    driver: Driver<Suite, Faulty<RdmaTransport>>,
    clock: Clock,
    rank: Rank,
    size: u32,
    fragment_len: usize,
    description: Description,
    timeout: Duration,
    /// Nothing is to be said to the others any more.
    is_silent: bool,
}

/// A broadcast in flight, to be [waited](Broadcaster::wait) for.
#[must_use = "the message is had by waiting for it"]
#[derive(Debug)]
pub struct Pending {
    op: OpId,
}

impl Broadcaster {
    /// Joins the communicator of all ranks of `bootstrap`. Collective.
    ///
    /// # Errors
    /// The same at every rank, if any of them has no usable device, a setting that differs, or
    /// cannot join the group or reach its peers.
    pub fn new(bootstrap: &mut dyn Bootstrap, config: &Config) -> Result<Self, Error> {
        Self::make(bootstrap, config, None)
    }

    /// As [`new`](Self::new), on a device that the program has opened; its asynchronous events stay
    /// the program's.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_context(
        bootstrap: &mut dyn Bootstrap,
        config: &Config,
        context: Context,
    ) -> Result<Self, Error> {
        Self::make(bootstrap, config, Some(context))
    }

    fn make(
        bootstrap: &mut dyn Bootstrap,
        config: &Config,
        context: Option<Context>,
    ) -> Result<Self, Error> {
        let (rank, size) = (bootstrap.rank(), bootstrap.size());
        agree(bootstrap, config)?;
        let peers = first_peers(rank, size, config);
        let (transport, agreed, description) =
            rdma::establish(bootstrap, &config.settings, &peers, context)?;
        let Agreed { key, seed, multicast, packet_len } = agreed;
        let fragment_len = packet_len - HEADER_LEN;
        let most_copied = LEAST_COPIED.max(size);
        let place = options::Place {
            me: rank,
            size,
            first: config.first_op,
            seed,
            fragment_len,
            multicast,
            receive_depth: config.settings.receive_depth,
            reliable_receive_depth: config.settings.reliable_receive_depth,
            most_copied,
            ring_depth: config.settings.ring_depth,
        };
        let refused = |error: OptionsError| Error::Config(error.to_string());
        let core = config.options.suite(&place).map_err(refused)?;
        let identity = Identity {
            rank,
            key,
            payload_crc: config.payload_crc,
            most_held: (config.settings.receive_depth / 2) as usize,
            most_copied: most_copied as usize,
        };
        let transport = Faulty::new(transport, config.faults.unwrap_or_default(), rank);
        Ok(Broadcaster {
            driver: Driver::new(core, transport, identity),
            clock: Clock::start(),
            rank,
            size,
            fragment_len,
            description,
            timeout: config.settings.timeout,
            is_silent: false,
        })
    }

    /// This process's rank.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Bytes of a message that one packet carries.
    pub fn fragment_len(&self) -> usize {
        self.fragment_len
    }

    /// What this rank uses.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The counters so far.
    pub fn statistics(&self) -> Statistics {
        let Counters { moved, receive_flushes, registrations, registration_hits } =
            self.driver.transport().inner().counters();
        Statistics {
            moved,
            receive_flushes,
            registrations,
            registration_hits,
            ..self.driver.statistics()
        }
    }

    /// A buffer of `len` bytes whose broadcasts need not register it: for messages that are long
    /// enough to be sent and received [without a copy](crate::rdma::Settings::zero_copy). Its first
    /// contents are of no meaning. When it is dropped, its memory may be given out again.
    ///
    /// Where it does not fit into the [bound](crate::rdma::Settings::registration_cache) or the device
    /// refuses it, it is memory as any other.
    pub fn buffer(&mut self, len: usize) -> Buffer {
        Buffer::new(self.transport().block(len), len)
    }

    fn transport(&mut self) -> &mut RdmaTransport {
        self.driver.transport_mut().inner_mut()
    }

    /// Broadcasts `buffer` of `root` to all ranks, and returns when it is here and all that this
    /// rank must send of it was handed to the device. Collective.
    ///
    /// A long message is sent and received [without a copy](crate::rdma::Settings::zero_copy); then
    /// it returns when the device is done with the buffer.
    ///
    /// # Errors
    /// If the root is no rank; or, at every rank, if a rank failed, left, or called with another
    /// root or length. What is in the buffer then is of no meaning.
    pub fn broadcast_into<T: Pod>(&mut self, root: Rank, buffer: &mut [T]) -> Result<(), Error> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(buffer);
        let op = self.driver.start(self.clock.now(), root, bytes.len())?;
        rdma::lend(self, Self::transport, op, bytes, |broadcaster, bytes| {
            broadcaster.run_until_complete(op, bytes)
        })
    }

    /// Begins to broadcast `message` of `root`; at the other ranks it only gives the length. Further
    /// broadcasts may be begun before it is waited for. Collective.
    ///
    /// # Errors
    /// If the root is no rank, or too many broadcasts are in flight.
    pub fn start(&mut self, root: Rank, message: Vec<u8>) -> Result<Pending, Error> {
        let op = self.driver.start(self.clock.now(), root, message.len())?;
        if let Some(message) = self.transport().lend_owned(op, message) {
            self.driver.own(op, message);
        }
        Ok(Pending { op })
    }

    /// Waits for a broadcast that was started here, and returns its message.
    ///
    /// # Errors
    /// As [`broadcast_into`](Self::broadcast_into).
    pub fn wait(&mut self, pending: Pending) -> Result<Vec<u8>, Error> {
        self.run_until_complete(pending.op, None)?;
        let lent = self.transport().take_owned(pending.op);
        Ok(lent.or_else(|| self.driver.take_message(pending.op)).unwrap_or_default())
    }

    /// Makes progress without waiting: for a rank that computes for long while others need it.
    ///
    /// # Errors
    /// If a rank failed.
    pub fn progress(&mut self) -> Result<(), Error> {
        while self.turn(None)? {}
        Ok(())
    }

    /// Returns when nothing is owed, by this rank or to it, for the broadcasts so far. A neighbour
    /// that computes is waited for, as in a broadcast.
    ///
    /// # Errors
    /// If a rank failed.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.flush_until(None)
    }

    fn flush_until(&mut self, until: Option<Instant>) -> Result<(), Error> {
        let mut idle = Idle::default();
        loop {
            let worked = self.turn(None)?;
            if self.driver.is_quiescent() {
                return Ok(());
            }
            if until.is_some_and(|until| self.clock.now() >= until) {
                return Err(Error::Timeout { rank: self.rank, after: self.timeout });
            }
            self.rest(worked, &mut idle, LONGEST_PARK)?;
        }
    }

    /// Gives up: every other rank's next or current call fails with this rank and `reason`.
    pub fn abort(&mut self, reason: &str) {
        self.driver.abort(reason);
        self.linger(LINGER);
    }

    /// Leaves in good order.
    ///
    /// # Errors
    /// If a rank failed, or something is owed for longer than the configured timeout; the resources
    /// are freed all the same.
    pub fn close(mut self) -> Result<(), Error> {
        self.leave()
    }

    fn leave(&mut self) -> Result<(), Error> {
        if self.is_silent {
            return Ok(());
        }
        let flushed = self.flush_until(Some(self.clock.now() + self.timeout));
        let departed = flushed.and_then(|()| self.driver.depart().map_err(Error::Failed));
        self.linger(self.timeout.min(LINGER));
        departed
    }

    /// Makes progress until the operation is complete and its message can be given back.
    fn run_until_complete(&mut self, op: OpId, mut bytes: Option<&mut [u8]>) -> Result<(), Error> {
        let mut idle = Idle::default();
        let mut is_complete = false;
        let mut left_over = None;
        loop {
            let lent = bytes.as_deref_mut().map(|bytes| Lent { op, bytes });
            let worked = self.turn(lent)?;
            is_complete |= self.driver.take_complete(op);
            let claims = is_complete.then(|| self.driver.transport().inner().claims(op));
            let at_most = match claims {
                None | Some(Claims::Sends) => LONGEST_PARK,
                Some(Claims::None) => return Ok(()),
                Some(Claims::Receives) => {
                    let now = self.clock.now();
                    if now - *left_over.get_or_insert(now) >= LEFT_OVER {
                        self.take_receives_back()?;
                        continue;
                    }
                    LEFT_OVER
                }
            };
            self.rest(worked, &mut idle, at_most)?;
        }
    }

    fn take_receives_back(&mut self) -> Result<(), Error> {
        self.transport().flush_receives().map_err(|error| {
            let failure = self.driver.abort(&error.what);
            self.fail(failure)
        })
    }

    fn turn(&mut self, lent: Option<Lent<'_>>) -> Result<bool, Error> {
        let outcome = self.driver.turn(self.clock.now(), lent);
        outcome.map_err(|failure| self.fail(failure))
    }

    /// Waits for something to do, unless there just was.
    fn rest(&mut self, worked: bool, idle: &mut Idle, longest: Duration) -> Result<(), Error> {
        let now = self.clock.now();
        let for_long = idle.update(now, worked);
        if worked {
            return Ok(());
        }
        let at_most = match self.driver.next_timeout() {
            Some(at) => at.since(now).min(longest),
            None => longest,
        };
        self.driver.transport_mut().park(for_long, at_most).map_err(|error| {
            let failure = self.driver.abort(&error.what);
            self.fail(failure)
        })
    }

    fn fail(&mut self, failure: Failure) -> Error {
        self.linger(LINGER);
        Error::Failed(failure)
    }

    /// Stays until aborts and farewells are delivered, then says nothing more.
    fn linger(&mut self, at_most: Duration) {
        let until = self.clock.now() + at_most;
        while self.driver.owes_notices() && self.clock.now() < until {
            if !self.driver.linger(self.clock.now()) {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        self.is_silent = true;
    }
}

impl Drop for Broadcaster {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.is_silent {
            self.abort("panicked");
        } else if let Err(error) = self.leave() {
            log::warn!("while dropping a broadcaster: {error}");
        }
    }
}

/// The ranks that `me` is connected with from the beginning.
fn first_peers(me: Rank, size: u32, config: &Config) -> Vec<Rank> {
    let multicasts = config.settings.multicast == Multicast::Require;
    if size > ALL_CONNECTED || multicasts && config.options.keeps_to_the_ring(size) {
        ring_peers(me, size)
    } else {
        (0..size).map(Rank).filter(|rank| *rank != me).collect()
    }
}

/// Since when there has been nothing to do.
#[derive(Debug, Default)]
struct Idle {
    since: Option<Instant>,
}

impl Idle {
    fn update(&mut self, now: Instant, worked: bool) -> Duration {
        if worked {
            self.since = None;
        }
        now - *self.since.get_or_insert(now)
    }
}

/// Makes sure that all ranks have the settings that must be the same.
fn agree(bootstrap: &mut dyn Bootstrap, config: &Config) -> Result<(), Error> {
    let valid = config.validate().map(|()| config.common()).map_err(|error| error.to_string());
    let ballot = valid.as_ref().map(String::as_bytes).map_err(String::as_str);
    let all = vote(bootstrap, ballot)?;
    let differing = (0..).map(Rank).zip(&all).find(|(_, common)| **common != all[0]);
    match differing {
        None => Ok(()),
        Some((rank, common)) => {
            let what = differences(common, &all[0]);
            Err(Error::Setup(VoteError::Refused(vec![(rank, what)])))
        }
    }
}

/// In which lines a rank's settings differ from those of rank 0.
fn differences(own: &[u8], first: &[u8]) -> String {
    let [own, first] = [own, first].map(String::from_utf8_lossy);
    let pairs = own.lines().zip(first.lines()).filter(|(own, first)| own != first);
    let texts: Vec<_> =
        pairs.map(|(own, first)| format!("has {own}, but rank 0 has {first}")).collect();
    match texts.is_empty() {
        true => "has other settings than rank 0".to_owned(),
        false => texts.join("; "),
    }
}
