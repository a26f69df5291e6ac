//! What `verbcast tune` can be told.

use super::candidate::Candidate;
use crate::bench::args::{ALL, CommonArgs, counts_or_doubling, parse_method};
use crate::bench::contender;
use crate::bench::plan::{Plan, Wanted};
use crate::results::Test;
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub struct TuneArgs {
    /// Write the table to this file, for VERBCAST_CHOICE
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Algorithms that the table may choose from, and mpi for the MPI library's own broadcast, which the programs of
    /// that library then take where it is best
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    #[arg(default_value = "two-stage,two-stage-on-demand,window,binomial,chain,scatter-allgather")]
    algorithms: Vec<Candidate>,
    /// Numbers of ranks, of which the first so many take part
    /// [default: 2, 4, 8 and so on, and all]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    counts: Vec<u32>,
    /// Whose median is compared: acknowledge, osu or clock, as verbcast bench latency has them
    #[arg(long, value_name = "NAME", default_value = "osu", value_parser = parse_method)]
    pub method: Test,
    /// By how many percent another algorithm must be better to be taken instead, from one size or
    /// number of ranks to the next
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = parse_percent)]
    pub margin: f64,
    #[command(flatten)]
    pub common: CommonArgs,
}

impl TuneArgs {
    /// What is measured in a job of `size` ranks.
    pub fn plan(&self, size: u32) -> Result<Plan, String> {
        let algorithms: Result<Vec<contender::Algorithm>, _> =
            self.algorithms.iter().map(|candidate| candidate.to_string().parse()).collect();
        let wanted = Wanted {
            algorithms: algorithms?,
            series: vec![(self.method, None)],
            sizes: self.common.sizes.unwrap_or(ALL),
            counts: counts_or_doubling(&self.counts, size),
            leaves_out: true,
        };
        Plan::new(&self.common, size, wanted)
    }
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent| (0.0..100.0).contains(percent));
    percent.ok_or_else(|| "expected a number from 0 to below 100".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_shares_of_a_hundred() {
        assert_eq!((parse_percent("0"), parse_percent("7.5")), (Ok(0.0), Ok(7.5)));
        for text in ["", "-1", "100", "nan", "inf", "5%"] {
            assert!(parse_percent(text).is_err(), "{text}");
        }
    }
}
