//! The parameters of all protocols under the names that users give them.

mod text;

pub use text::Parameter;

use super::ConfigError;
use super::choice::{Algorithm, Table};
use super::depths::{Depths, DepthsError};
use super::suite::{Parts, Suite};
use super::two_stage::{self, TwoStage};
use super::unicast::{self, Unicast};
use super::window::{self, Acknowledge, Bounds, By, Groups, Repair, Repairers, Window};
use crate::model;
use crate::order::RankOrder;
use crate::rank::{OpId, Rank};
use crate::wire::Compact;
use std::num::NonZeroU32;
use std::time::Duration;

/// How the root is kept from multicasting before anybody listens (Hoefler 2007, section 2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronisation {
    /// It is not.
    #[default]
    None,
    /// The root waits this long.
    Delay(Duration),
    /// The root waits for one other rank, drawn anew for each broadcast.
    RandomRank,
    /// The root waits for as long as ranks that lose its multicast came late before, at most this.
    Adaptive(Duration),
}

/// How many groups of ranks have a root or co-root of their own (Liu 2004, section 4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CoRoots {
    /// One: the root repairs all.
    #[default]
    None,
    /// As many as the model finds best (Liu 2004, section 7.2).
    Optimal,
    /// This many, the root's own included.
    Groups(u32),
}

/// What neighbours on the virtual ring, trees and co-roots follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Places {
    /// The hosts that the ranks are on.
    #[default]
    Hosts,
    /// The numbers of the ranks.
    Numbers,
}

/// The parameters of all protocols, the same at every rank.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Which broadcast takes which protocol.
    pub table: Table,
    /// What rings, trees and co-roots follow.
    pub places: Places,
    /// Most broadcasts in flight at a rank.
    pub in_flight: u32,
    /// Two-stage: how the root is kept from running ahead.
    pub synchronisation: Synchronisation,
    /// Two-stage: most fragments that the root multicasts ahead of its successor's acknowledgements;
    /// none: half of the receives that are posted for datagrams.
    pub run_ahead: Option<u32>,
    /// Window: slots of the ring that are used, a power of two; none: all.
    pub window: Option<u32>,
    /// Window: whether the root waits for all acknowledgements (the basic design).
    pub blocking: bool,
    /// Window: who keeps a message for whom.
    pub co_roots: CoRoots,
    /// Window: without co-roots, where acknowledgements are asked for, the fan-out at each level of the
    /// [tree](window::Repairers::Tree) by which ranks acknowledge and read what they miss; none: to and from the root.
    pub repair_tree: Option<NonZeroU32>,
    /// Window: when broadcasts are acknowledged.
    pub acknowledge: Acknowledge,
    /// Window: whether acknowledgements wait for something to go along with.
    pub piggyback: bool,
    /// Window: by what is acknowledged otherwise.
    pub by: By,
    /// Window: how long an acknowledgement may be owed.
    pub acknowledge_after: Duration,
    /// Window: who acts when a fragment is lost.
    pub repair: Repair,
    /// Window: whether the root sends only what every rank has a receive posted for.
    pub credits: bool,
    /// Window: bounds of the timeouts.
    pub patience: Bounds,
    /// Unicast: bytes of a message that are written into another rank's memory at a time, at most; messages of at least half
    /// as many go so. None: all go in packets.
    pub segment: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        let window = window::Config::new(1, 1);
        Options {
            table: Table::default(),
            places: Places::default(),
            in_flight: 64,
            synchronisation: Synchronisation::default(),
            run_ahead: None,
            window: None,
            blocking: false,
            co_roots: CoRoots::default(),
            repair_tree: NonZeroU32::new(16),
            acknowledge: Acknowledge::Needed,
            piggyback: window.piggyback,
            by: window.by,
            acknowledge_after: window.acknowledge_after,
            repair: window.repair,
            credits: true,
            patience: window.patience,
            segment: Some(128 << 10),
        }
    }
}

/// An option that cannot be read, or contradicts another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// No option is called that.
    #[error("there is no option {name:?}")]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// A value that the option does not take.
    #[error("{name}={value}: expected {takes}")]
    Value {
        /// The option.
        name: &'static str,
        /// What it was to be set to.
        value: String,
        /// What it takes, in words.
        takes: &'static str,
    },
    /// More would be sent than can be received.
    #[error(
        "a run-ahead of {run_ahead} fragments is not between 1 and the receive depth of {receive}: more \
         would be sent than can be received"
    )]
    RunAhead {
        /// Fragments that the root sends ahead.
        run_ahead: u32,
        /// Receives posted for datagrams.
        receive: u32,
    },
    /// A number of broadcasts in flight that cannot be numbered, or zero.
    #[error("{0} broadcasts in flight are not between 1 and {MAX_IN_FLIGHT}")]
    InFlight(u32),
    /// A window that the ring cannot hold.
    #[error(
        "a window of {window} fragments is not a power of two of at most the ring depth of {ring}"
    )]
    Window {
        /// Fragments of the window.
        window: u32,
        /// Slots of the ring.
        ring: u32,
    },
    /// A depth that nothing works with.
    #[error(transparent)]
    Depths(#[from] DepthsError),
    /// A protocol does not work with its parameters.
    #[error(transparent)]
    Protocol(#[from] ConfigError),
}

/// Broadcasts in flight at most.
const MAX_IN_FLIGHT: u32 = 1 << 20;
/// Messages of the chain that a rank sends ahead of its successor. They take receives from those kept for all
/// communicators, so they are few.
const EAGER: u32 = 4;

/// Runtime parameters of a rank's protocol suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuiteParameters {
    /// The rank.
    pub rank: Rank,
    /// All ranks by switch and host, as far as these are known, the same at every rank.
    pub order: RankOrder,
    /// The id of the first operation, the same at every rank.
    pub first_op: OpId,
    /// A random number that all ranks share.
    pub seed: u64,
    /// Bytes of a message in a fragment.
    pub fragment_len: usize,
    /// Bytes of a fragment that fills its datagram, where all ranks understand [compact headers](crate::wire::Compact).
    pub whole: Option<usize>,
    /// Whether there is a group.
    pub multicast: bool,
    /// How many requests the transport's queues hold.
    pub depths: Depths,
}

impl Options {
    /// Most fragments that the root of a two-stage broadcast multicasts ahead.
    pub fn run_ahead(&self, depths: &Depths) -> u32 {
        self.run_ahead.unwrap_or(depths.max_held())
    }

    /// Checks the options against the depths of the transport.
    ///
    /// # Errors
    /// If they contradict each other; the error says how.
    pub fn validate(&self, depths: &Depths) -> Result<(), OptionsError> {
        let Depths { receive, ring, .. } = *depths;
        let run_ahead = self.run_ahead(depths);
        if !(1..=receive).contains(&run_ahead) {
            return Err(OptionsError::RunAhead { run_ahead, receive });
        }
        if !(1..=MAX_IN_FLIGHT).contains(&self.in_flight) {
            return Err(OptionsError::InFlight(self.in_flight));
        }
        let window = self.window.unwrap_or(ring);
        if window > ring || !window.is_power_of_two() {
            return Err(OptionsError::Window { window, ring });
        }
        Ok(())
    }

    /// The order in which the ranks are counted that are in this one by switch and host.
    pub fn order(&self, by_host: &RankOrder) -> RankOrder {
        match self.places {
            Places::Hosts => by_host.clone(),
            Places::Numbers => RankOrder::by_number(by_host.size()),
        }
    }

    /// The core of one rank.
    ///
    /// # Errors
    /// If the options contradict each other or the parameters, or nothing can work with the depths.
    pub fn suite(&self, parameters: &SuiteParameters) -> Result<Suite, OptionsError> {
        parameters.depths.validate(0)?;
        self.validate(&parameters.depths)?;
        let SuiteParameters { rank, first_op, fragment_len, depths, .. } = *parameters;
        let order = self.order(&parameters.order);
        let size = order.size();
        let is_possible = parameters.multicast || self.table.is_unicast(size);
        let parts = Parts {
            two_stage: TwoStage::new(rank, order.clone(), first_op, self.two_stage(parameters))?,
            window: Window::new(rank, order.clone(), first_op, self.window(parameters))?,
            unicast: Unicast::new(rank, order.clone(), first_op, self.unicast(parameters))?,
            history: (self.in_flight + depths.reliable_receive) as usize,
            table: if is_possible { self.table.clone() } else { Table::unicast() },
            fragment_len,
            in_flight: self.in_flight,
            pushes: self.repair == Repair::Push,
        };
        Ok(Suite::new(rank, order, first_op, parts))
    }

    /// Whether the ranks of a communicator of `size` speak to their neighbours on the ring alone, if
    /// there is a group.
    pub fn keeps_to_the_ring(&self, size: u32) -> bool {
        let is_waited_for = match self.synchronisation {
            Synchronisation::None | Synchronisation::Delay(_) => false,
            Synchronisation::RandomRank | Synchronisation::Adaptive(_) => true,
        };
        !is_waited_for && self.table.keeps_to_the_ring(size)
    }

    /// The ranks that `me` speaks to in broadcasts from rank 0, if there is a group: with the window, those that it repairs and
    /// the one that repairs it. Otherwise its neighbours on the ring.
    pub fn neighbours(&self, me: Rank, order: &RankOrder) -> Vec<Rank> {
        let mut algorithms = self.table.algorithms(order.size());
        let is_tree = self.co_roots == CoRoots::None;
        if !is_tree || algorithms.any(|one| one != Algorithm::Window) {
            return order.ring_peers(me);
        }
        let under = Groups::new(self.repairers(order), order.size()).under(Rank(0), order);
        under.repairer(me).into_iter().chain(under.leaves(me)).collect()
    }

    fn two_stage(&self, parameters: &SuiteParameters) -> two_stage::Config {
        two_stage::Config {
            fragment_len: parameters.fragment_len,
            run_ahead: self.run_ahead(&parameters.depths),
            in_flight: self.in_flight,
            absorbed: parameters.depths.absorbed(),
            eager: EAGER.min(parameters.depths.absorbed()),
            synchronisation: match self.synchronisation {
                Synchronisation::None => two_stage::Synchronisation::None,
                Synchronisation::Delay(delay) => two_stage::Synchronisation::Delay(delay),
                Synchronisation::RandomRank => {
                    two_stage::Synchronisation::RandomRank { seed: parameters.seed }
                }
                Synchronisation::Adaptive(most) => {
                    two_stage::Synchronisation::Adaptive { seed: parameters.seed, most }
                }
            },
            multicast: parameters.multicast,
        }
    }

    fn window(&self, parameters: &SuiteParameters) -> window::Config {
        let SuiteParameters { order, depths, .. } = parameters;
        let size = order.size();
        // What a repairer pushes to a rank that is elsewhere must fit there, or wait.
        let pushed = depths.absorbed() + depths.max_copied(size);
        let credits = self.credits.then_some(depths.receive.min(pushed));
        // Without credits a root may be ahead of a rank by any number of operations.
        let is_op_told = credits.is_some_and(|ahead| ahead <= Compact::MAX_AHEAD);
        window::Config {
            fragment_len: parameters.fragment_len,
            // What waits for a fragment to go along with would wait for one that has room for it.
            whole: parameters.whole.filter(|_| is_op_told && !self.piggyback),
            window: self.window.unwrap_or(depths.ring),
            in_flight: self.in_flight,
            blocking: self.blocking,
            repairers: self.repairers(order),
            acknowledge: self.acknowledge,
            piggyback: self.piggyback,
            by: self.by,
            acknowledge_after: self.acknowledge_after,
            repair: self.repair,
            absorbed: parameters.depths.absorbed(),
            credits,
            patience: self.patience,
        }
    }

    /// Window: who keeps a message for whom, among the ranks in this order.
    pub fn repairers(&self, order: &RankOrder) -> Repairers {
        match self.co_roots {
            CoRoots::None => self.tree(order),
            CoRoots::Groups(groups) => Repairers::CoRoots(groups),
            CoRoots::Optimal => {
                Repairers::CoRoots(model::Parameters::paper().optimal_co_roots(order.size()))
            }
        }
    }

    /// Who does without co-roots. The papers' own rules of acknowledgement are of ranks that acknowledge to the root.
    fn tree(&self, order: &RankOrder) -> Repairers {
        let fan_out = self.repair_tree.filter(|_| self.acknowledge == Acknowledge::Needed);
        fan_out.map_or(Repairers::Root, |fan_out| Repairers::tree(fan_out.get(), order))
    }

    fn unicast(&self, parameters: &SuiteParameters) -> unicast::Config {
        let SuiteParameters { order, depths, .. } = parameters;
        let size = order.size();
        // Every other rank may have this many packets at one that is behind.
        let share = (depths.absorbed() + depths.max_copied(size)) / size;
        unicast::Config {
            algorithm: unicast::Algorithm::Binomial,
            fragment_len: parameters.fragment_len,
            segment_len: self.segment.unwrap_or(0),
            long_from: self.segment.map(|segment| segment as u64 / 2),
            in_flight: self.in_flight,
            eager: share.clamp(1, 16),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Core;

    /// Options with those that are given by name and value.
    pub(super) fn read(pairs: &[(&str, &str)]) -> Result<Options, OptionsError> {
        let mut options = Options::default();
        pairs.iter().try_for_each(|(name, value)| options.set(name, value))?;
        Ok(options)
    }

    #[test]
    fn it_is_known_who_speaks_to_whom() {
        let ring = |pairs: &[(&str, &str)], size| read(pairs).unwrap().keeps_to_the_ring(size);
        let two_stage = ("algorithm", "two-stage");
        assert!(ring(&[two_stage], 33) && ring(&[two_stage, ("sync", "delay:50")], 3));
        assert!(!ring(&[], 33) && !ring(&[], 2), "they take the window, and a tree");
        assert!(!ring(&[two_stage, ("sync", "random")], 33));
        // The window among 20 hosts of two ranks each: the first rank of a host repairs the second.
        let order = RankOrder::by_host(&Vec::from_iter((0..40).map(|rank| Some(rank / 2))));
        let of = |pairs: &[_], rank| read(pairs).unwrap().neighbours(Rank(rank), &order);
        assert_eq!((of(&[], 39), of(&[], 2)[0]), (vec![Rank(38)], Rank(0)));
        assert_eq!(of(&[two_stage], 39), [Rank(38), Rank(0)]);
        assert_eq!(of(&[("repair-tree", "off")], 0).len(), 39);
    }

    /// A header of few bits tells operations apart that are near one another.
    #[test]
    fn fragments_fill_their_datagrams_only_where_a_root_is_not_too_far_ahead() {
        let fragment_len = |pairs: &[(&str, &str)], depths| {
            let options = read(pairs).unwrap();
            let suite = SuiteParameters {
                rank: Rank(1),
                order: 3.into(),
                first_op: OpId(0),
                seed: 1,
                fragment_len: 4048,
                whole: Some(4096),
                multicast: true,
                depths,
            };
            options.suite(&suite).unwrap().fragment_len(4096)
        };
        let deep = Depths { receive: 1 << 16, reliable_receive: 1 << 16, ..Depths::DEFAULT };
        assert_eq!(fragment_len(&[], Depths::DEFAULT), 4096);
        assert_eq!(fragment_len(&[("credits", "off")], Depths::DEFAULT), 4048);
        assert_eq!(fragment_len(&[], deep), 4048);
    }

    #[test]
    fn ranks_keep_their_numbers_where_that_is_asked_for() {
        let by_host = RankOrder::by_host(&[1, 2, 1, 2].map(Some));
        let order = |places| read(&[("places", places)]).unwrap().order(&by_host);
        assert_eq!(order("hosts"), by_host);
        assert_eq!(order("numbers"), RankOrder::by_number(4));
    }

    #[test]
    fn options_that_contradict_are_refused() {
        let refused = |name: &str, value: &str| {
            let options = read(&[(name, value)]).unwrap();
            let depths = Depths { receive: 64, ring: 32, ..Depths::DEFAULT };
            options.validate(&depths).unwrap_err().to_string()
        };
        assert!(refused("run-ahead", "65").contains("run-ahead of 65"));
        assert!(refused("window", "64").contains("window of 64"));
        assert!(refused("window", "3").contains("window of 3"));
        assert!(refused("in-flight", "0").contains("0 broadcasts in flight"));
    }
}
