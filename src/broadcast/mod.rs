//! The public interface: a [`Broadcaster`] made from a bootstrap and a [`Config`]. The crate has its names at the top.

mod agree;
mod buffer;
mod builder;
mod config;
mod error;
mod further;
mod hosts;
mod message;
mod pending;
mod preparation;
mod readiness;
mod short;
mod told;
mod topology;
mod variables;
mod wait;
mod waits;

pub use crate::rdma::{SharedEndpoint as Endpoint, Usage};
pub use buffer::Buffer;
pub use builder::ConfigBuilder;
pub use config::{Config, ConfigError};
pub use error::Error;
pub use further::Further;
pub use message::Message;
pub use pending::Pending;
pub use topology::TopologyFileError;
pub use variables::Variable;
pub use waits::WaitedFor;

use crate::bootstrap::{Bootstrap, VoteError, exchange};
use crate::clock::Clock;
use crate::rdma::{self, Agreed, Counters, Description, Origin, RdmaTransport};
use bytemuck::Pod;
use hosts::Hosts;
use pending::BroadcasterId;
pub(crate) use preparation::Preparation;
use std::time::Duration;
use told::Told;
use verbcast_core::driver::{Driver, Failure, LentBytes, Parameters, Statistics};
use verbcast_core::order::RankOrder;
use verbcast_core::protocol::Core;
use verbcast_core::protocol::choice::{Algorithm, Table};
use verbcast_core::protocol::options::SuiteParameters;
use verbcast_core::protocol::suite::Suite;
use verbcast_core::rank::Rank;
use verbcast_core::transport::{Faulty, Rails};
use verbcast_core::wire::HEADER_LEN;
use verbcast_verbs::Context;
use wait::{Idle, LINGER, Meanwhile};
use waits::Waits;

/// Turns at most of a call that does not wait: ranks that answer fast could keep it busy to the end of a long message.
const TURNS: usize = 16;

/// Broadcasts among the ranks of a communicator.
///
/// Every rank makes it, and calls its broadcasts in the same order with the same root and length.
/// After an error the communicator is unusable, at any rank.
#[derive(Debug)]
pub struct Broadcaster {
    id: BroadcasterId,
    driver: Driver<Suite, Faulty<Rails<RdmaTransport>>>,
    clock: Clock,
    place: Place,
    fragment_len: usize,
    description: Description,
    timeout: Duration,
    meanwhile: Meanwhile,
    /// Since when calls that do not wait have found nothing to do.
    idle: Idle,
    waits: Waits,
    told: Told,
    /// Nothing is to be said to the others any more.
    is_silent: bool,
    /// What it was made with, for further ones of the same ranks.
    origin: Box<(Config, Agreed)>,
    /// Further ones that were begun.
    further: u64,
}

/// Where a rank stands among all of a communicator.
#[derive(Clone, Debug)]
struct Place {
    rank: Rank,
    order: RankOrder,
    /// Who is next to it, in words.
    neighbours: Box<str>,
    hosts: Hosts,
}

/// Another thread may go on with a communicator.
const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<Broadcaster>();
};

impl Broadcaster {
    /// Joins the communicator of all ranks of `bootstrap`. Collective.
    ///
    /// # Errors
    /// The same at every rank, if any of them has no usable device, a setting that differs, or
    /// cannot join the group or reach its peers.
    pub fn new(bootstrap: &mut dyn Bootstrap, config: &Config) -> Result<Self, Error> {
        let preparation = Preparation::new(Origin::Own(None), bootstrap, config);
        Self::make(bootstrap, preparation)
    }

    /// As [`new`](Self::new), on an endpoint that this process's communicators share. Of the settings, the
    /// device, the depths and the way to wait are the endpoint's.
    ///
    /// Ranks may be in any order, and be any part of the processes, as long as each has an endpoint of its
    /// own. What others may still reach of a communicator that is closed here is kept until they have
    /// closed it too.
    ///
    /// # Errors
    /// As [`new`](Self::new); and if two ranks have the same endpoint, or a connection between two of them
    /// broke in another communicator.
    pub fn new_on(
        endpoint: &Endpoint,
        bootstrap: &mut dyn Bootstrap,
        config: &Config,
    ) -> Result<Self, Error> {
        let preparation = Preparation::on(endpoint, bootstrap, config);
        Self::make(bootstrap, preparation)
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
        let preparation = Preparation::new(Origin::Own(Some(context)), bootstrap, config);
        Self::make(bootstrap, preparation)
    }

    fn make(bootstrap: &mut dyn Bootstrap, preparation: Preparation) -> Result<Self, Error> {
        let ballots = exchange(bootstrap, &preparation.ballot()).map_err(VoteError::from)?;
        preparation.complete(bootstrap, &ballots)
    }

    /// With a transport that was made for it.
    fn assemble(
        mut config: Config,
        place: Place,
        (rails, agreed, description): (Rails<RdmaTransport>, Agreed, Description),
        is_shared: bool,
    ) -> Result<Self, Error> {
        // Where a multicast is one copy into memory that all share, two ranks have as much use for it as many.
        if rails.first().is_one_node() && config.protocol.table == Table::default() {
            config.protocol.table = Table::uniform(Algorithm::Window);
        }
        let parameters = parameters(&config, &place, agreed, is_shared);
        let transport = Faulty::new(rails, config.faults.unwrap_or_default(), place.rank);
        let driver = Driver::assemble(&config.protocol, &parameters, transport);
        Ok(Broadcaster {
            id: BroadcasterId::next(),
            driver: driver.map_err(ConfigError::from)?,
            clock: Clock::of_process(),
            place,
            fragment_len: parameters.suite.fragment_len,
            description,
            timeout: config.device.timeout,
            meanwhile: Meanwhile::default(),
            idle: Idle::default(),
            waits: Waits::default(),
            told: Told::new(Clock::of_process(), agreed.key),
            is_silent: false,
            origin: Box::new((config, agreed)),
            further: 0,
        })
    }

    /// This process's rank.
    pub fn rank(&self) -> Rank {
        self.place.rank
    }

    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.place.order.size()
    }

    /// The order in which the protocols count the ranks: who this rank's neighbours are, on which hosts and below which
    /// switches.
    pub fn order(&self) -> &RankOrder {
        &self.place.order
    }

    /// Who this rank's neighbours on the ring are, in words; where hosts have several ranks, on which hosts they are, and below
    /// which switches if that is known.
    pub fn neighbours(&self) -> &str {
        &self.place.neighbours
    }

    /// Bytes of a message that one packet carries, besides a header.
    pub fn fragment_len(&self) -> usize {
        self.fragment_len
    }

    /// Bytes of each packet but the last of a message of `len` bytes: as [`fragment_len`](Self::fragment_len), or as many as
    /// fill a datagram.
    pub fn fragment_len_of(&self, len: usize) -> usize {
        self.driver.core().fragment_len(len as u64)
    }

    /// What this rank uses.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The counters so far.
    pub fn statistics(&self) -> Statistics {
        let Counters {
            moved,
            receive_flushes,
            registrations,
            registration_hits,
            foreign,
            forged,
            overflowed,
            ran_out,
            incidents,
            node,
        } = self.driver.transport().inner().iter().map(RdmaTransport::counters).sum();
        let statistics = self.driver.statistics();
        Statistics {
            overflowed: statistics.overflowed + overflowed,
            receives_ran_out: ran_out,
            in_calls_us: self.waits.in_calls().as_micros() as u64,
            waited_us: self.waits.waited().as_micros() as u64,
            moved,
            receive_flushes,
            registrations,
            registration_hits,
            foreign,
            forged: statistics.forged + forged,
            port_errors: incidents.port_errors,
            port_down_ms: incidents.port_down.as_millis() as u64,
            rejoins: incidents.rejoins,
            rejoin_ms: incidents.apart.as_millis() as u64,
            restarts: incidents.restarts,
            node_received: node.taken,
            node_published: node.published,
            node_lost: node.lost,
            node_roles: node.roles,
            node_woken: node.woken,
            ..statistics
        }
    }

    /// How long this rank waited for which others, in calls that wait for broadcasts. Only pauses of more than 50 µs count, and
    /// one for several ranks is shared evenly by them.
    pub fn waited_for(&self) -> impl Iterator<Item = (Rank, WaitedFor)> {
        self.waits.by_rank()
    }

    /// A buffer of `len` bytes whose broadcasts need not register it: for messages that are long
    /// enough to be sent and received [without a copy](crate::Settings::zero_copy). Its first
    /// contents are undefined. When it is dropped, its memory may be given out again.
    ///
    /// Where it does not fit into the [bound](crate::Settings::registration_cache) or the device
    /// refuses it, it is memory as any other.
    pub fn buffer(&mut self, len: usize) -> Buffer {
        Buffer::new(self.transport().block(len), len)
    }

    /// The one that messages are lent to, where there is one.
    fn transport(&mut self) -> &mut RdmaTransport {
        self.driver.transport_mut().inner_mut().first_mut()
    }

    /// Broadcasts `buffer` of `root` to all ranks, and returns when it is here and all that this
    /// rank must send of it was handed to the device. Collective.
    ///
    /// A long message is sent and received [without a copy](crate::Settings::zero_copy); then
    /// it returns when the device is done with the buffer. Where as many broadcasts are in flight as may
    /// be, it waits for one of them first.
    ///
    /// # Errors
    /// If the root is not a rank; or, at every rank, if a rank failed, left, or called with another
    /// root or length. What is in the buffer then is undefined.
    pub fn broadcast_into<T: Pod>(&mut self, root: Rank, buffer: &mut [T]) -> Result<(), Error> {
        match root == self.place.rank {
            true => self.broadcast_from(buffer),
            false => {
                self.broadcast_bytes(root, LentBytes::Receive(bytemuck::cast_slice_mut(buffer)))
            }
        }
    }

    /// Broadcasts this rank's `message` to all ranks, as [`broadcast_into`](Self::broadcast_into) does, which the others
    /// call with this rank as the root. The message is only read: other threads may read it meanwhile, and broadcast it in
    /// other communicators. Collective.
    ///
    /// # Errors
    /// As [`broadcast_into`](Self::broadcast_into).
    pub fn broadcast_from<T: Pod>(&mut self, message: &[T]) -> Result<(), Error> {
        self.broadcast_bytes(self.place.rank, LentBytes::Send(bytemuck::cast_slice(message)))
    }

    fn broadcast_bytes(&mut self, root: Rank, mut bytes: LentBytes<'_>) -> Result<(), Error> {
        let is_over = match &mut bytes {
            LentBytes::Receive(message) => self.receive_short(root, message)?,
            LentBytes::Send(message) => self.send_short(message)?,
        };
        if is_over {
            return Ok(());
        }
        let (op, mut ending, now) = self.start_when_possible(root, bytes.len())?;
        rdma::lend(self, Self::transport, op, bytes, |broadcaster, bytes| {
            broadcaster.run_until_complete(op, &mut ending, now, bytes)
        })
    }

    /// Has `call` called again and again while this rank waits: for a program with other things that
    /// must go on, such as an MPI library. Then no wait sleeps for more than a millisecond.
    pub fn while_waiting(&mut self, call: impl FnMut() + Send + 'static) {
        self.meanwhile.call = Some(Box::new(call));
    }

    /// Makes progress without waiting: for a rank that computes for long while others need it. It takes up what has
    /// come, and returns although more may come of a long message, so it is to be called again.
    ///
    /// # Errors
    /// If a rank failed.
    pub fn progress(&mut self) -> Result<(), Error> {
        for _ in 0..TURNS {
            let now = self.clock.now();
            let worked = self.turn(now, None)?;
            self.idle.update(now, worked);
            if !worked {
                break;
            }
        }
        Ok(())
    }

    /// Makes progress without waiting, and says whether nothing is owed any more, by this rank or to it, for
    /// the broadcasts so far: what [`flush`](Self::flush) waits for.
    ///
    /// # Errors
    /// If a rank failed.
    pub fn is_settled(&mut self) -> Result<bool, Error> {
        self.driver.flush(self.clock.now());
        self.progress()?;
        Ok(self.driver.is_quiescent())
    }

    /// Returns when nothing is owed, by this rank or to it, for the broadcasts so far. A neighbour
    /// that computes is waited for, as in a broadcast.
    ///
    /// # Errors
    /// If a rank failed.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.flush_until(None)
    }

    /// Gives up: every other rank's next or current call fails with this rank and `reason`.
    pub fn abort(&mut self, reason: &str) {
        self.driver.abort(reason);
        self.linger(Duration::ZERO, LINGER);
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
        let until = self.clock.now() + self.timeout;
        let flushed = self.flush_until(Some(until));
        let departed = flushed.and_then(|()| {
            let left = self.driver.depart();
            left.map_err(|failure| self.failed(failure))
        });
        // A rank that has not heard the farewell takes silence for death, as after an outage that is shorter than its
        // adapter's patience. One that is dead is given up by the adapter here.
        let left = until.since(self.clock.now());
        self.linger(Duration::ZERO, left.max(self.timeout.min(LINGER)));
        departed
    }

    /// What a call ends with once a rank has failed.
    fn failed(&self, failure: Failure) -> Error {
        Error::Failed(self.place.hosts.locate(failure))
    }

    /// Tells whoever traces what came of it all.
    fn tell_leaving(&mut self) {
        self.told.end();
        if tracing::enabled!(tracing::Level::DEBUG) {
            let sum = self.statistics();
            tracing::debug!(
                rank = self.place.rank.0,
                size = self.size(),
                communicator = self.told.communicator(),
                operations = sum.operations,
                multicast_received = sum.multicast_received,
                lost = sum.lost,
                repaired = sum.repaired,
                overflowed = sum.overflowed,
                node_received = sum.node_received,
                node_lost = sum.node_lost,
                node_roles = sum.node_roles,
                "left"
            );
        }
    }
}

/// Runtime parameters of a rank's driver on the device.
fn parameters(config: &Config, place: &Place, agreed: Agreed, shares_buffers: bool) -> Parameters {
    let Agreed { key, mac, seed, multicast, packet_len, whole } = agreed;
    let suite = SuiteParameters {
        rank: place.rank,
        order: place.order.clone(),
        first_op: config.first_op,
        seed,
        fragment_len: packet_len - HEADER_LEN,
        whole: whole.then_some(packet_len),
        multicast,
        depths: config.device.depths,
    };
    Parameters { suite, key, payload_crc: config.device.payload_crc, mac, shares_buffers }
}

impl Drop for Broadcaster {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.is_silent {
            self.abort("panicked");
        } else if let Err(error) = self.leave() {
            tracing::warn!("while dropping a broadcaster: {error}");
        }
        self.tell_leaving();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbcast_core::protocol::options::Options;
    use verbcast_sim::Plan;

    /// What one rank is made from is the same, so that what the simulator tests is what runs.
    #[test]
    fn the_defaults_of_the_simulator_are_those_of_the_device() {
        let (config, rank, size) = (Config::default(), Rank(3), 300);
        let plan = Plan::new(size, Vec::new());
        let simulated = plan.parameters(rank);
        let packet_len = plan.packet_len;
        let (key, mac, seed, multicast) = (simulated.key, None, plan.seed, true);
        let agreed = Agreed { key, mac, seed, multicast, packet_len, whole: false };
        let place = Place {
            rank,
            order: RankOrder::by_number(size),
            neighbours: "".into(),
            hosts: Hosts::default(),
        };
        assert_eq!(parameters(&config, &place, agreed, false), simulated);
        assert_eq!(config.protocol, Options::default());
    }
}
