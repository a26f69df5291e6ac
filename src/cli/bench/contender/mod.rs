//! What is compared: ways to broadcast, behind one trait.

mod bare;
mod raw;
mod reliable;
mod settings;

use super::mpi::{Mpi, check_feature};
use crate::launch::decide::blame;
use bare::Bare;
use raw::Raw;
use reliable::Reliable;
use settings::OwnSettings;
use std::fmt;
use std::ops::{DerefMut, Range};
use std::str::FromStr;
use verbcast::bootstrap::Bootstrap;
use verbcast::broadcast::{Config, Endpoint};
use verbcast_core::driver::Statistics;
use verbcast_core::protocol::options::Options;
use verbcast_core::rank::Rank;

/// The name of the multicast without repair, the floor that the others are compared with.
pub const RAW: &str = "raw";
/// The name of what the device costs by itself, where nothing is lost.
pub const BARE: &str = "bare";
/// The name of the tree of reliable sends.
pub const BINOMIAL: &str = "binomial";
/// The name of what the MPI library does.
pub const MPI: &str = "mpi";
/// The name of what a program gets with the settings that there are.
const AUTO: &str = "auto";
/// The option that says which algorithm a broadcast takes.
const ALGORITHM: &str = "algorithm";

/// A way to broadcast among the ranks of a job. Errors start with the name of a rank.
///
/// Where ranks outnumber cores, how they wait decides how long a small message takes. All contenders but one wait
/// by one policy, that of `VERBCAST_WAIT`; the MPI library waits by its own: Open MPI polls, and yields in
/// between where `mpi_yield_when_idle` is set, as `VERBCAST_WAIT=yield` does; MPICH polls without yielding.
pub trait Contender {
    /// Memory for messages of `len` bytes, as a program that broadcasts again and again would have it.
    fn buffer(&mut self, len: usize) -> Box<dyn DerefMut<Target = [u8]>>;

    /// At the root, what the following broadcasts send, for a contender that takes it from memory of its own. Not
    /// timed.
    fn load(&mut self, _message: &[u8]) -> Result<(), String> {
        Ok(())
    }

    /// Broadcasts `message` from `root`; whether it is here whole. Collective.
    fn broadcast(&mut self, root: Rank, message: &mut [u8]) -> Result<bool, String>;

    /// Puts into `message` what the last broadcast has left elsewhere; which part of it is the message then. Not timed.
    fn unload(&mut self, message: &mut [u8]) -> Range<usize> {
        0..message.len()
    }

    /// Does what others may wait for, without waiting.
    fn progress(&mut self) -> Result<(), String>;

    /// Returns when nothing is owed for the broadcasts so far.
    fn settle(&mut self) -> Result<(), String>;

    fn counters(&self) -> Statistics;

    /// Lets the others fail, where they wait in a broadcast.
    fn abort(&mut self, reason: &str);

    /// Leaves in good order.
    fn close(self: Box<Self>) -> Result<(), String>;
}

/// What a contender does, and in which settings it differs from the others: `NAME` or
/// `NAME:SETTING=VALUE,...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// As it was written, which is what results are called by.
    text: String,
    name: String,
    settings: OwnSettings,
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Algorithm, String> {
        let (name, settings) = match text.split_once(':') {
            Some((name, settings)) => (name, settings.parse()?),
            None => (text, OwnSettings::default()),
        };
        if name == MPI {
            check_feature()?;
            if !settings.is_empty() {
                return Err(
                    "mpi takes no settings: it is the MPI library's own broadcast".to_owned()
                );
            }
        } else if name == BARE {
            if !settings.is_empty() {
                return Err("bare takes no settings: it is the floor".to_owned());
            }
        } else if name != RAW {
            let expected = |_| format!("there is no algorithm {name:?}; there are {}", names());
            Options::default().set(ALGORITHM, name).map_err(expected)?;
        }
        Ok(Algorithm { text: text.to_owned(), name: name.to_owned(), settings })
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// All names, in words.
fn names() -> String {
    let known = Options::PARAMETERS.iter().find(|known| known.name == ALGORITHM);
    format!("{RAW}, {BARE}, {MPI}, {}", known.map_or("", |known| known.takes))
}

impl Algorithm {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is measured with, where all have `config` otherwise.
    pub fn configure(&self, config: &Config) -> Result<Config, String> {
        let mut config = config.clone();
        if ![RAW, BARE, MPI, AUTO].contains(&self.name()) {
            config.protocol.set(ALGORITHM, &self.name).map_err(|error| error.to_string())?;
        }
        self.settings.apply(&mut config).map_err(|what| format!("{self}: {what}"))?;
        config.validate().map_err(|error| format!("{self}: {error}"))?;
        Ok(config)
    }

    /// Makes the contender, on the endpoint that all share unless its device has settings of its own. Collective.
    pub fn open<'a>(
        &self,
        bootstrap: &mut dyn Bootstrap,
        endpoint: &Endpoint,
        config: &Config,
        mpi: &'a Mpi,
    ) -> Result<Box<dyn Contender + 'a>, String> {
        let own = self.configure(config).map_err(|what| blame(bootstrap.rank(), what))?;
        let own_endpoint = (own.device != config.device).then(|| Endpoint::new(&own.device));
        let (endpoint, config) = (own_endpoint.as_ref().unwrap_or(endpoint), &own);
        match self.name() {
            MPI => mpi.open(bootstrap),
            BARE => Ok(Box::new(Bare::open(bootstrap, endpoint, config)?)),
            RAW => Ok(Box::new(Raw::open(bootstrap, endpoint, config)?)),
            name => Ok(Box::new(Reliable::open(name, bootstrap, endpoint, config)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbcast_core::protocol::options::CoRoots;
    use verbcast_core::protocol::window::{Acknowledge, Repair};

    #[test]
    fn algorithms_are_read() {
        for name in
            [RAW, BARE, "two-stage", "window", "co-root", "aggregate", "basic", BINOMIAL, "auto"]
        {
            assert_eq!(name.parse::<Algorithm>().unwrap().name(), name);
        }
        let error = "flood".parse::<Algorithm>().unwrap_err();
        assert!(error.contains("\"flood\"; there are raw, bare, mpi, auto, two-stage,"), "{error}");
    }

    #[test]
    fn a_contender_has_settings_of_its_own() {
        let mut all = Config::default();
        all.set("VERBCAST_ACKNOWLEDGE", "every:3").unwrap();
        let text = "co-root:ring=128,repair=push";
        let contender: Algorithm = text.parse().unwrap();
        assert_eq!((contender.name(), contender.to_string().as_str()), ("co-root", text));
        let own = contender.configure(&all).unwrap();
        assert_eq!((own.device.depths.ring, own.protocol.repair), (128, Repair::Push));
        assert_eq!(
            (own.protocol.acknowledge, own.protocol.co_roots),
            (Acknowledge::Each, CoRoots::Optimal)
        );
        let later: Algorithm = "co-root:acknowledge=every:5".parse().unwrap();
        assert_eq!(later.configure(&all).unwrap().protocol.acknowledge, Acknowledge::Every(5));
        let error = "window:rings=1".parse::<Algorithm>().unwrap_err();
        assert!(error.contains("no setting \"rings\""), "{error}");
        let deep: Algorithm = "window:run-ahead=1000000".parse().unwrap();
        let error = deep.configure(&Config::default()).unwrap_err();
        let expected = "window:run-ahead=1000000: VERBCAST_RUN_AHEAD: a run-ahead of 1000000 ";
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn mpi_needs_a_build_with_it() {
        let algorithm = MPI.parse::<Algorithm>();
        assert_eq!(algorithm.is_ok(), cfg!(feature = "mpi"));
        if let Err(error) = algorithm {
            assert!(error.contains("--features mpi"), "{error}");
        }
    }
}
