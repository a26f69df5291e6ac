//! The parameters of all protocols under the names that users give them.

use super::ConfigError;
use super::choice::{Algorithm, Table};
use super::suite::{Parts, Suite};
use super::two_stage::{self, TwoStage};
use super::unicast::{self, Unicast};
use super::window::{self, Acknowledge, Bounds, By, Repair, Repairers, Window};
use crate::model;
use crate::rank::{OpId, Rank};
use std::fmt;
use std::str::FromStr;
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

/// The parameters of all protocols, the same at every rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which broadcast takes which protocol.
    pub table: Table,
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
    /// Window: which broadcasts are acknowledged.
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
}

impl Default for Options {
    fn default() -> Self {
        let window = window::Config::new(1, 1);
        Options {
            table: Table::default(),
            in_flight: 64,
            synchronisation: Synchronisation::default(),
            run_ahead: None,
            window: None,
            blocking: false,
            co_roots: CoRoots::default(),
            acknowledge: window.acknowledge,
            piggyback: window.piggyback,
            by: window.by,
            acknowledge_after: window.acknowledge_after,
            repair: window.repair,
            credits: true,
            patience: window.patience,
        }
    }
}

/// An option that cannot be read, or contradicts another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionsError(String);

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OptionsError {}

impl From<ConfigError> for OptionsError {
    fn from(error: ConfigError) -> Self {
        OptionsError(error.to_string())
    }
}

/// Where a suite runs.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The rank.
    pub me: Rank,
    /// The number of ranks.
    pub size: u32,
    /// The id of the first operation.
    pub first: OpId,
    /// A random number that all ranks share.
    pub seed: u64,
    /// Bytes of a message in a fragment.
    pub fragment_len: usize,
    /// Whether there is a group.
    pub multicast: bool,
    /// Receives posted for datagrams.
    pub receive_depth: u32,
    /// Receives posted for reliable messages.
    pub reliable_receive_depth: u32,
    /// Reliable messages of operations to come that a rank keeps as copies.
    pub most_copied: u32,
    /// Slots of the ring.
    pub ring_depth: u32,
}

/// The longest delay of an adaptive root, unless it is given.
const MOST_DELAY: Duration = Duration::from_millis(10);
/// Receives that are left to announcements, aborts and farewells.
const NOTICES: u32 = 8;

impl Options {
    /// The names that [`set`](Self::set) knows, and what they take.
    pub const NAMES: [(&'static str, &'static str); 13] = [
        (
            "algorithm",
            "auto, two-stage, two-stage-on-demand, window, co-root, aggregate, basic, binomial, chain \
             or scatter-allgather",
        ),
        ("in-flight", "a number of broadcasts"),
        ("sync", "none, random, delay:MICROSECONDS, adaptive or adaptive:MOST_MICROSECONDS"),
        ("run-ahead", "a number of fragments"),
        ("window", "a number of fragments, a power of two"),
        ("co-roots", "none, optimal or a number of groups"),
        ("acknowledge", "each, every:M or skewed:M"),
        ("piggyback", "on or off"),
        ("acknowledge-by", "write or message"),
        ("acknowledge-after", "a time in microseconds"),
        ("repair", "push or pull"),
        ("credits", "on or off"),
        ("repair-after", "a time in microseconds"),
    ];

    /// Sets one option from text.
    ///
    /// # Errors
    /// If there is no such option, or its value cannot be read; the error says what is expected.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), OptionsError> {
        let known = Options::NAMES.iter().find(|(known, _)| *known == name);
        let Some((_, expected)) = known else {
            return Err(OptionsError(format!("there is no option {name:?}")));
        };
        self.take(name, value)
            .ok_or_else(|| OptionsError(format!("{name}={value}: expected {expected}")))
    }

    fn take(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "algorithm" => self.take_algorithm(value)?,
            "in-flight" => self.in_flight = value.parse().ok()?,
            "sync" => {
                self.synchronisation = match value.split_once(':') {
                    None if value == "none" => Synchronisation::None,
                    None if value == "random" => Synchronisation::RandomRank,
                    None if value == "adaptive" => Synchronisation::Adaptive(MOST_DELAY),
                    Some(("adaptive", micros)) => Synchronisation::Adaptive(micros_of(micros)?),
                    Some(("delay", micros)) => Synchronisation::Delay(micros_of(micros)?),
                    _ => return None,
                }
            }
            "run-ahead" => self.run_ahead = Some(value.parse().ok()?),
            "window" => self.window = Some(value.parse().ok()?),
            "co-roots" => {
                self.co_roots = match value {
                    "none" => CoRoots::None,
                    "optimal" => CoRoots::Optimal,
                    groups => CoRoots::Groups(groups.parse().ok().filter(|groups| *groups > 0)?),
                }
            }
            "acknowledge" => {
                self.acknowledge = match value.split_once(':') {
                    None if value == "each" => Acknowledge::Each,
                    Some(("every", m)) => Acknowledge::Every(m.parse().ok().filter(|m| *m > 0)?),
                    Some(("skewed", m)) => Acknowledge::Skewed(m.parse().ok().filter(|m| *m > 0)?),
                    _ => return None,
                }
            }
            "piggyback" => self.piggyback = switch(value)?,
            "acknowledge-by" => {
                self.by = match value {
                    "write" => By::Counter,
                    "message" => By::Message,
                    _ => return None,
                }
            }
            "acknowledge-after" => self.acknowledge_after = micros_of(value)?,
            "repair" => {
                self.repair = match value {
                    "push" => Repair::Push,
                    "pull" => Repair::Pull,
                    _ => return None,
                }
            }
            "credits" => self.credits = switch(value)?,
            "repair-after" => {
                let initial = micros_of(value)?;
                let Bounds { least, most, .. } = self.patience;
                let (least, most) = (least.min(initial), most.max(initial));
                self.patience = Bounds { initial, least, most };
            }
            _ => return None,
        }
        Some(())
    }

    /// An algorithm's name, or one of the papers' names for the window family with certain options
    /// (Liu 2004, section 6: Basic, Window, Co-root and Aggregate10).
    fn take_algorithm(&mut self, name: &str) -> Option<()> {
        let algorithm = match name {
            "auto" => {
                self.table = Table::default();
                return Some(());
            }
            "basic" => {
                self.blocking = true;
                self.repair = Repair::Push;
                Algorithm::Window
            }
            "co-root" => {
                self.co_roots = CoRoots::Optimal;
                Algorithm::Window
            }
            "aggregate" => {
                self.acknowledge = Acknowledge::Every(10);
                Algorithm::Window
            }
            name => Algorithm::from_str(name).ok()?,
        };
        self.table = Table::uniform(algorithm);
        Some(())
    }

    /// All options, each with its value in a line, for ranks to compare.
    pub fn describe(&self, receive_depth: u32) -> String {
        let Options { table, in_flight, synchronisation, window, blocking, co_roots, .. } = self;
        let Options { acknowledge, piggyback, by, acknowledge_after, repair, credits, .. } = self;
        let lines = [
            ("choice", table.to_string().trim_end().replace('\n', ", ")),
            ("in-flight", in_flight.to_string()),
            ("sync", format!("{synchronisation:?}")),
            ("run-ahead", self.run_ahead(receive_depth).to_string()),
            ("window", window.map_or("all slots".to_owned(), |window| window.to_string())),
            ("basic", blocking.to_string()),
            ("co-roots", format!("{co_roots:?}")),
            ("acknowledge", format!("{acknowledge:?}")),
            ("piggyback", piggyback.to_string()),
            ("acknowledge-by", format!("{by:?}")),
            ("acknowledge-after", format!("{acknowledge_after:?}")),
            ("repair", format!("{repair:?}")),
            ("credits", credits.to_string()),
            ("repair-after", format!("{:?}", self.patience)),
        ];
        lines.map(|(name, value)| format!("{name}: {value}\n")).concat()
    }

    /// Most fragments that the root of a two-stage broadcast multicasts ahead.
    pub fn run_ahead(&self, receive_depth: u32) -> u32 {
        self.run_ahead.unwrap_or(receive_depth / 2)
    }

    /// Checks the options against the depths of the transport.
    ///
    /// # Errors
    /// If they contradict each other; the error says how.
    pub fn validate(&self, receive_depth: u32, ring_depth: u32) -> Result<(), OptionsError> {
        let run_ahead = self.run_ahead(receive_depth);
        if !(1..=receive_depth).contains(&run_ahead) {
            return Err(OptionsError(format!(
                "a run-ahead of {run_ahead} fragments is not between 1 and the receive depth of \
                 {receive_depth}: more would be sent than can be received"
            )));
        }
        if !(1..=1 << 20).contains(&self.in_flight) {
            let what =
                format!("{} broadcasts in flight are not between 1 and 1048576", self.in_flight);
            return Err(OptionsError(what));
        }
        let window = self.window.unwrap_or(ring_depth);
        if window > ring_depth || !window.is_power_of_two() {
            return Err(OptionsError(format!(
                "a window of {window} fragments is not a power of two of at most the ring depth of \
                 {ring_depth}"
            )));
        }
        Ok(())
    }

    /// The core of one rank.
    ///
    /// # Errors
    /// If the options contradict each other or the place.
    pub fn suite(&self, place: &Place) -> Result<Suite, OptionsError> {
        self.validate(place.receive_depth, place.ring_depth)?;
        let Place { me, size, first, .. } = *place;
        let is_possible = place.multicast || self.table.is_unicast(size);
        let parts = Parts {
            two_stage: TwoStage::new(me, size, first, self.two_stage(place))?,
            window: Window::new(me, size, first, self.window(place))?,
            unicast: Unicast::new(me, size, first, self.unicast(place))?,
            history: (self.in_flight + place.reliable_receive_depth) as usize,
            table: if is_possible { self.table.clone() } else { Table::unicast() },
            fragment_len: place.fragment_len,
            in_flight: self.in_flight,
            pushes: self.repair == Repair::Push,
        };
        Ok(Suite::new(me, size, first, parts))
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

    fn two_stage(&self, place: &Place) -> two_stage::Config {
        two_stage::Config {
            fragment_len: place.fragment_len,
            run_ahead: self.run_ahead(place.receive_depth),
            in_flight: self.in_flight,
            absorbed: place.reliable_receive_depth - NOTICES,
            synchronisation: match self.synchronisation {
                Synchronisation::None => two_stage::Synchronisation::None,
                Synchronisation::Delay(delay) => two_stage::Synchronisation::Delay(delay),
                Synchronisation::RandomRank => {
                    two_stage::Synchronisation::RandomRank { seed: place.seed }
                }
                Synchronisation::Adaptive(most) => {
                    two_stage::Synchronisation::Adaptive { seed: place.seed, most }
                }
            },
            multicast: place.multicast,
        }
    }

    fn window(&self, place: &Place) -> window::Config {
        // What a repairer pushes to a rank that is elsewhere must fit there, or wait.
        let pushed = place.reliable_receive_depth - NOTICES + place.most_copied;
        window::Config {
            fragment_len: place.fragment_len,
            window: self.window.unwrap_or(place.ring_depth),
            in_flight: self.in_flight,
            blocking: self.blocking,
            repairers: match self.co_roots {
                CoRoots::None => Repairers::Root,
                CoRoots::Groups(groups) => Repairers::CoRoots(groups),
                CoRoots::Optimal => {
                    let parameters = model::Parameters::paper();
                    Repairers::CoRoots(parameters.optimal_co_roots(place.size))
                }
            },
            acknowledge: self.acknowledge,
            piggyback: self.piggyback,
            by: self.by,
            acknowledge_after: self.acknowledge_after,
            repair: self.repair,
            absorbed: place.reliable_receive_depth - NOTICES,
            credits: self.credits.then_some(place.receive_depth.min(pushed)),
            patience: self.patience,
        }
    }

    fn unicast(&self, place: &Place) -> unicast::Config {
        // Every other rank may have this many packets at one that is behind.
        let share = (place.reliable_receive_depth - NOTICES + place.most_copied) / place.size;
        unicast::Config {
            algorithm: unicast::Algorithm::Binomial,
            fragment_len: place.fragment_len,
            in_flight: self.in_flight,
            eager: share.clamp(1, 16),
        }
    }
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

fn micros_of(value: &str) -> Option<Duration> {
    value.parse().ok().map(Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Options, OptionsError> {
        let mut options = Options::default();
        pairs.iter().try_for_each(|(name, value)| options.set(name, value))?;
        Ok(options)
    }

    #[test]
    fn options_are_read() {
        let options = read(&[
            ("algorithm", "aggregate"),
            ("co-roots", "4"),
            ("sync", "delay:50"),
            ("repair", "push"),
            ("credits", "off"),
            ("repair-after", "20"),
        ])
        .unwrap();
        assert_eq!(options.acknowledge, Acknowledge::Every(10));
        assert_eq!(options.co_roots, CoRoots::Groups(4));
        assert_eq!(options.synchronisation, Synchronisation::Delay(Duration::from_micros(50)));
        assert_eq!((options.repair, options.credits), (Repair::Push, false));
        assert_eq!(options.patience.least, Duration::from_micros(20));
        assert_eq!(read(&[]).unwrap(), Options::default());
    }

    #[test]
    fn it_is_known_who_speaks_to_whom() {
        let ring = |pairs: &[(&str, &str)], size| read(pairs).unwrap().keeps_to_the_ring(size);
        assert!(ring(&[], 3) && ring(&[("sync", "delay:50")], 3));
        assert!(!ring(&[], 2), "two ranks take the tree");
        assert!(!ring(&[("sync", "random")], 3) && !ring(&[("algorithm", "window")], 3));
    }

    #[test]
    fn a_bad_option_is_named_with_what_is_expected() {
        for (name, value) in [
            ("algorithm", "fast"),
            ("sync", "delay:"),
            ("acknowledge", "every:0"),
            ("co-roots", "0"),
            ("piggyback", "yes"),
            ("in-flight", "many"),
        ] {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(&format!("{name}={value}: expected ")), "{error}");
        }
        let error = read(&[("speed", "11")]).unwrap_err().to_string();
        assert!(error.contains("no option \"speed\""), "{error}");
    }

    #[test]
    fn options_that_contradict_are_refused() {
        let refused = |name: &str, value: &str| {
            let options = read(&[(name, value)]).unwrap();
            options.validate(64, 32).unwrap_err().to_string()
        };
        assert!(refused("run-ahead", "65").contains("run-ahead of 65"));
        assert!(refused("window", "64").contains("window of 64"));
        assert!(refused("window", "3").contains("window of 3"));
        assert!(refused("in-flight", "0").contains("0 broadcasts in flight"));
    }
}
