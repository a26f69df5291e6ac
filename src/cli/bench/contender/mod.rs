//! What is compared: ways to broadcast, behind one trait.

mod raw;
mod reliable;

use super::mpi::{Mpi, check_feature};
use raw::Raw;
use reliable::Reliable;
use std::fmt;
use std::ops::DerefMut;
use std::str::FromStr;
use verbcast::bootstrap::Bootstrap;
use verbcast::broadcast::{Config, Endpoint};
use verbcast_core::driver::Statistics;
use verbcast_core::protocol::options::Options;
use verbcast_core::rank::Rank;

/// The name of the multicast without repair, the floor that the others are compared with.
pub const RAW: &str = "raw";
/// The name of the tree of reliable sends.
pub const BINOMIAL: &str = "binomial";
/// The name of what the MPI library does.
pub const MPI: &str = "mpi";

/// A way to broadcast among the ranks of a job. Errors start with the name of a rank.
///
/// Where ranks outnumber cores, how they wait decides how long a small message takes. All contenders but one wait
/// by one policy, that of `VERBCAST_WAIT`; the MPI library waits by its own: Open MPI polls, and yields in
/// between where `mpi_yield_when_idle` is set, as `VERBCAST_WAIT=yield` does; MPICH polls without yielding.
pub trait Contender {
    /// Memory for messages of `len` bytes, as a program that broadcasts again and again would have it.
    fn buffer(&mut self, len: usize) -> Box<dyn DerefMut<Target = [u8]>>;

    /// Broadcasts `message` from `root`; whether it is here whole. Collective.
    fn broadcast(&mut self, root: Rank, message: &mut [u8]) -> Result<bool, String>;

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

/// The name of a contender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Algorithm(String);

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Algorithm, String> {
        if text == MPI {
            check_feature()?;
        } else if text != RAW {
            let expected = |_| format!("there is no algorithm {text:?}; there are {}", names());
            Options::default().set("algorithm", text).map_err(expected)?;
        }
        Ok(Algorithm(text.to_owned()))
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// All names, in words.
fn names() -> String {
    let known = Options::PARAMETERS.iter().find(|known| known.name == "algorithm");
    format!("{RAW}, {MPI}, {}", known.map_or("", |known| known.takes))
}

impl Algorithm {
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Makes the contender. Collective.
    pub fn open<'a>(
        &self,
        bootstrap: &mut dyn Bootstrap,
        endpoint: &Endpoint,
        config: &Config,
        mpi: &'a Mpi,
    ) -> Result<Box<dyn Contender + 'a>, String> {
        match self.name() {
            MPI => mpi.open(bootstrap),
            RAW => Ok(Box::new(Raw::open(bootstrap, endpoint, config)?)),
            name => Ok(Box::new(Reliable::open(name, bootstrap, endpoint, config)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithms_are_read() {
        for name in [RAW, "two-stage", "window", "co-root", "aggregate", "basic", BINOMIAL, "auto"]
        {
            assert_eq!(name.parse::<Algorithm>().unwrap().name(), name);
        }
        let error = "flood".parse::<Algorithm>().unwrap_err();
        assert!(error.contains("\"flood\"; there are raw, mpi, auto, two-stage,"), "{error}");
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
