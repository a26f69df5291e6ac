//! What `verbcast sim` can be told.

use super::fabric::OnFabricArgs;
use crate::root::Root;
use crate::units;
use clap::Args;
use std::str::FromStr;
use verbcast_core::protocol::options::Options;
use verbcast_sim::Faults;

#[derive(Args)]
pub struct SimArgs {
    /// Number of simulated ranks
    #[arg(long, value_name = "N", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub ranks: u32,
    /// Ranks in a row that share a node: one of them takes each message off the wire, the others get it from memory
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub ranks_per_node: u32,
    /// Protocol: auto, two-stage, two-stage-on-demand, window, co-root, aggregate, basic, binomial,
    /// chain or scatter-allgather
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = parse_algorithm)]
    pub algorithm: String,
    /// Bytes of each message, with K, M or G for 1024, 1024² or 1024³ bytes
    #[arg(long, value_name = "BYTES", default_value = "8", value_parser = units::parse_bytes)]
    pub size: u64,
    /// Number of broadcasts
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub operations: u32,
    /// Who sends: fixed:N is always rank N; rotate is each rank in turn
    #[arg(long, value_name = "fixed:N|rotate", default_value_t = Root::Fixed(0))]
    pub root: Root,
    /// The n-th broadcast is called no earlier than n times this; 0: each follows the one before at
    /// once, which measures throughput [default: long enough that they do not overlap]
    #[arg(long, value_name = "MICROSECONDS", value_parser = units::parse_micros)]
    pub interval: Option<u64>,
    /// Every rank calls each broadcast up to this much later, drawn anew each time
    #[arg(long, value_name = "MICROSECONDS", default_value = "0")]
    #[arg(value_parser = units::parse_micros)]
    pub skew: u64,
    /// Share of the datagrams that each receiver loses, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = units::parse_share)]
    pub loss: u32,
    /// Losses in bursts: with BEGINS of the datagrams a receiver's link turns bad and loses all, with
    /// ENDS of them it turns good again
    #[arg(long, value_name = "BEGINS:ENDS")]
    pub burst: Option<Burst>,
    /// Share of the datagrams that come twice
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = units::parse_share)]
    pub duplicate: u32,
    /// Share of the datagrams that are delayed, and by how much at most, so that later ones overtake
    /// them
    #[arg(long, value_name = "SHARE:MICROSECONDS")]
    pub delay: Option<Delay>,
    /// Sets a parameter of the protocols; can be repeated. --help lists them
    #[arg(long = "option", value_name = "NAME=VALUE")]
    pub options: Vec<Setting>,
    /// Seed of everything that is drawn; with --swarm, the first of the seeds
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Refuse a simulation that would take more memory than about this
    #[arg(long, value_name = "BYTES", default_value = "4G", value_parser = units::parse_bytes)]
    pub memory: u64,
    #[command(flatten)]
    pub fabric: OnFabricArgs,
    /// Instead, run N small simulations that are drawn from the seeds S, S+1, …, on all CPUs
    #[arg(long, value_name = "N", conflicts_with_all = SINGLE)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub swarm: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// What a swarm draws.
const SINGLE: [&str; 14] = [
    "fabric",
    "ranks",
    "ranks_per_node",
    "algorithm",
    "size",
    "operations",
    "root",
    "interval",
    "skew",
    "loss",
    "burst",
    "duplicate",
    "delay",
    "options",
];

impl SimArgs {
    pub fn faults(&self) -> Faults {
        Faults {
            loss: self.loss,
            burst_begins: self.burst.map_or(0, |burst| burst.begins),
            burst_ends: self.burst.map_or(0, |burst| burst.ends),
            duplicate: self.duplicate,
            delay: self.delay.map_or(0, |delay| delay.share),
            longest_delay: self.delay.map_or(0, |delay| delay.longest),
            ..Faults::default()
        }
    }
}

fn parse_algorithm(text: &str) -> Result<String, String> {
    Options::default().set("algorithm", text).map_err(|error| error.to_string())?;
    Ok(text.to_owned())
}

/// Shares in parts per million.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    pub begins: u32,
    pub ends: u32,
}

impl FromStr for Burst {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (begins, ends) = text.split_once(':').ok_or("expected BEGINS:ENDS, two shares")?;
        Ok(Burst { begins: units::parse_share(begins)?, ends: units::parse_share(ends)? })
    }
}

/// A share in parts per million, and a time in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    pub share: u32,
    pub longest: u64,
}

impl FromStr for Delay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (share, longest) = text.split_once(':').ok_or("expected SHARE:MICROSECONDS")?;
        Ok(Delay { share: units::parse_share(share)?, longest: units::parse_micros(longest)? })
    }
}

/// A parameter of the protocols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub name: String,
    pub value: String,
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
        if name == "algorithm" {
            return Err("the algorithm is set with --algorithm".to_owned());
        }
        Options::default().set(name, value).map_err(|error| {
            let names: Vec<_> = settable().map(|(name, _)| name).collect();
            match names.contains(&name) {
                true => error.to_string(),
                false => format!("{error}; there are {}", names.join(", ")),
            }
        })?;
        Ok(Setting { name: name.to_owned(), value: value.to_owned() })
    }
}

/// The names that `--option` takes, and what they take.
pub fn settable() -> impl Iterator<Item = (&'static str, &'static str)> {
    let parameters = Options::PARAMETERS.into_iter().map(|one| (one.name, one.takes));
    parameters.filter(|(name, _)| *name != "algorithm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_delays_and_settings_are_read() {
        assert_eq!("0.01:0.5".parse(), Ok(Burst { begins: 10_000, ends: 500_000 }));
        assert_eq!("0.1:2.5".parse(), Ok(Delay { share: 100_000, longest: 2500 }));
        let setting = Setting { name: "window".to_owned(), value: "4".to_owned() };
        assert_eq!("window=4".parse(), Ok(setting));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for text in ["0.1", "0.1:2", ":", "a:b"] {
            assert!(text.parse::<Burst>().is_err(), "{text}");
        }
        assert!("0.1".parse::<Delay>().is_err() && "2:5".parse::<Delay>().is_err());
        for (text, expected) in [
            ("window", "expected NAME=VALUE"),
            ("window=many", "window=many: expected a number of fragments"),
            ("speed=11", "there is no option \"speed\"; there are in-flight, sync,"),
            ("algorithm=chain", "with --algorithm"),
        ] {
            let error = text.parse::<Setting>().unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
