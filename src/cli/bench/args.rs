//! What `verbcast bench` can be told.

use super::contender::Algorithm;
use super::plan::{Plan, Series, Wanted};
use super::sizes::Sizes;
use crate::results::Test;
use crate::root::Root;
use crate::transport_args::TransportArgs;
use crate::units;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

const SMALL: Sizes = Sizes::new(8, 8);
pub const ALL: Sizes = Sizes::new(1, 1 << 20);
/// What is compared where nothing is named.
const ALGORITHMS: [&str; 8] =
    ["raw", "two-stage", "window", "co-root", "aggregate", "basic", "binomial", "chain"];
/// Mean delays, in microseconds.
const SKEWS: &str = "0,100,200,300,400";

#[derive(Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// How long a broadcast takes, by three methods
    Latency {
        #[command(flatten)]
        methods: Methods,
        #[command(flatten)]
        compared: Compared,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// How many broadcasts and bytes per second go through, back to back (Liu 2004, section 6.3)
    Throughput {
        #[command(flatten)]
        compared: Compared,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// How long ranks stay in a broadcast to which receivers come late, at random (Liu 2004,
    /// section 6.4)
    Skew {
        #[command(flatten)]
        skews: Skews,
        #[command(flatten)]
        compared: Compared,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Any of these over numbers of ranks
    Scale {
        /// What is measured
        #[arg(long, value_name = "TEST", default_value = "latency")]
        test: Scaled,
        /// Numbers of ranks, of which the first so many take part
        /// [default: 2, 4, 8 and so on, and all]
        #[arg(long, value_name = "N,...", value_delimiter = ',')]
        counts: Vec<u32>,
        #[command(flatten)]
        methods: Methods,
        #[command(flatten)]
        skews: Skews,
        #[command(flatten)]
        compared: Compared,
        #[command(flatten)]
        common: CommonArgs,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Scaled {
    Latency,
    Throughput,
    Skew,
}

#[derive(Args)]
struct Methods {
    /// How latency is measured: acknowledge (receivers take turns to acknowledge; Liu 2004, section
    /// 6.2), osu (mean over ranks of broadcasts with barriers between), clock (each rank's return on
    /// a synchronised clock; Hoefler 2007, section 4.3)
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    #[arg(default_value = "acknowledge,osu,clock", value_parser = parse_method)]
    methods: Vec<Test>,
}

#[derive(Args)]
struct Skews {
    /// Mean delays of the receivers
    #[arg(long, value_name = "MICROSECONDS,...", value_delimiter = ',')]
    #[arg(default_value = SKEWS, value_parser = units::parse_micros)]
    skews: Vec<u64>,
}

#[derive(Args)]
struct Compared {
    /// What is compared: raw (the multicast alone, without repair), bare (what it costs on the device, with
    /// nothing around it and nothing lost; one root), auto, two-stage, two-stage-on-demand, window, co-root, aggregate, basic, binomial, chain, scatter-allgather, mpi
    /// (the MPI library's own MPI_Bcast, if its launcher has started the ranks)
    /// [default: raw,two-stage,window,co-root,aggregate,basic,binomial,chain; none with --contender]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    algorithms: Vec<Algorithm>,
    /// One of them with settings of its own, to be compared too; may be given several times. SETTING is the name of a
    /// VERBCAST_ variable in small letters, for example window:ring=512,acknowledge=every:64
    #[arg(long = "contender", value_name = "NAME:SETTING=VALUE,...")]
    contenders: Vec<Algorithm>,
}

impl Compared {
    fn all(&self) -> Vec<Algorithm> {
        match (&self.algorithms[..], &self.contenders[..]) {
            ([], []) => ALGORITHMS.iter().filter_map(|name| name.parse().ok()).collect(),
            (algorithms, contenders) => [algorithms, contenders].concat(),
        }
    }
}

/// The options of all commands that measure.
#[derive(Args)]
pub struct CommonArgs {
    #[command(flatten)]
    pub transport: TransportArgs,
    /// Bytes of the messages, doubled from MIN to MAX or multiplied by FACTOR, with K, M or G for 1024, 1024² or 1024³
    /// [default: 1:1M; for skew and scale 8:8]
    #[arg(long, value_name = "MIN:MAX[:FACTOR]")]
    pub sizes: Option<Sizes>,
    /// Broadcasts before those that count, of each algorithm at each size
    /// [default: 200; beyond 8 KiB 10; no more than iterations]
    #[arg(long, value_name = "N")]
    pub warmup: Option<u64>,
    /// Broadcasts that count [default: 1000; beyond 8 KiB 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub iterations: Option<u64>,
    /// Whether all ranks compare what they receive with what was sent, before anything is measured
    #[arg(long, value_name = "on|off", default_value = "on")]
    pub validate: Switch,
    /// Who sends: fixed:N is always rank N; rotate is each rank in turn
    #[arg(long, value_name = "fixed:N|rotate", default_value_t = Root::Fixed(0))]
    pub root: Root,
    /// Seed of the delays that are drawn, and of the order in which the contenders take turns
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Write everything that was measured to this file, for verbcast report
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

impl Switch {
    pub fn is_on(self) -> bool {
        matches!(self, Switch::On)
    }
}

impl BenchArgs {
    pub fn common(&self) -> &CommonArgs {
        match &self.what {
            What::Latency { common, .. }
            | What::Throughput { common, .. }
            | What::Skew { common, .. }
            | What::Scale { common, .. } => common,
        }
    }

    /// What is measured in a job of `size` ranks.
    pub fn plan(&self, size: u32) -> Result<Plan, String> {
        let wanted = Wanted {
            algorithms: self.algorithms(),
            series: self.series(),
            sizes: self.sizes(),
            counts: self.counts(size),
            leaves_out: false,
        };
        Plan::new(self.common(), size, wanted)
    }

    pub fn algorithms(&self) -> Vec<Algorithm> {
        match &self.what {
            What::Latency { compared, .. }
            | What::Throughput { compared, .. }
            | What::Skew { compared, .. }
            | What::Scale { compared, .. } => compared.all(),
        }
    }

    fn series(&self) -> Vec<Series> {
        match &self.what {
            What::Latency { methods, .. } | What::Scale { test: Scaled::Latency, methods, .. } => {
                methods.methods.iter().map(|test| (*test, None)).collect()
            }
            What::Throughput { .. } | What::Scale { test: Scaled::Throughput, .. } => {
                vec![(Test::Throughput, None)]
            }
            What::Skew { skews, .. } | What::Scale { test: Scaled::Skew, skews, .. } => {
                skews.skews.iter().map(|skew| (Test::Skew, Some(*skew))).collect()
            }
        }
    }

    fn sizes(&self) -> Sizes {
        let usual = match &self.what {
            What::Latency { .. } | What::Throughput { .. } => ALL,
            What::Skew { .. } | What::Scale { .. } => SMALL,
        };
        self.common().sizes.unwrap_or(usual)
    }

    /// The numbers of ranks in a job of `size`.
    fn counts(&self, size: u32) -> Vec<u32> {
        match &self.what {
            What::Scale { counts, .. } => counts_or_doubling(counts, size),
            _ => vec![size],
        }
    }
}

/// The numbers of ranks that are asked for, or where none are, the usual ones in a job of `size`.
pub fn counts_or_doubling(counts: &[u32], size: u32) -> Vec<u32> {
    match counts.is_empty() {
        true => doubling(size),
        false => counts.to_vec(),
    }
}

/// The powers of two from 2 to `size`, and `size`.
fn doubling(size: u32) -> Vec<u32> {
    let powers = std::iter::successors(Some(2_u32), |count| count.checked_mul(2));
    powers.take_while(|count| *count < size).chain([size]).collect()
}

pub fn parse_method(text: &str) -> Result<Test, String> {
    let found = Test::LATENCY.into_iter().find(|test| test.name() == text);
    found.ok_or_else(|| "expected acknowledge, osu or clock".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_ranks_double() {
        assert_eq!(
            (doubling(8), doubling(12), doubling(2)),
            (vec![2, 4, 8], vec![2, 4, 8, 12], vec![2])
        );
    }

    #[test]
    fn methods_are_read() {
        assert_eq!(parse_method("clock"), Ok(Test::Clock));
        assert!(parse_method("throughput").is_err());
    }
}
