//! The simulations that figures are made of.

use crate::failure::Failure;
use crate::sim::latency::throughput;
use verbcast_core::protocol::options::Options;
use verbcast_core::rank::Rank;
use verbcast_sim::{Plan, Step, simulate};

/// The mean is taken over so many broadcasts; each is over before the next begins.
const OPERATIONS: usize = 5;
const APART: u64 = 50_000_000;
/// So many back to back that the second half finds all buffers in use.
const BACK_TO_BACK: usize = 600;

/// Settings of the papers' designs, in which the root or co-roots repair all others.
fn options(settings: &[(&str, &str)]) -> Result<Options, Failure> {
    let mut options = Options::default();
    options.repair_tree = None;
    settings.iter().try_for_each(|(name, value)| options.set(name, value)).map_err(Failure::new)?;
    Ok(options)
}

fn plan(ranks: u32, len: usize, operations: usize) -> Plan {
    Plan::new(ranks, vec![Step { root: Rank(0), len }; operations])
}

/// Microseconds from the root's call to each rank's return, by rank.
pub fn latencies(algorithm: &str, ranks: u32, len: usize) -> Result<Vec<f64>, Failure> {
    let plan = Plan { interval: APART, ..plan(ranks, len, OPERATIONS) };
    let outcome = simulate(&plan, &options(&[("algorithm", algorithm)])?).map_err(Failure::new)?;
    let mean = |rank: usize| {
        let waits = outcome.calls.iter().map(|calls| calls[rank].ended - calls[0].began);
        waits.sum::<u64>() as f64 / 1e3 / outcome.calls.len() as f64
    };
    Ok((0..ranks as usize).map(mean).collect())
}

/// The time of the last rank.
pub fn latency(algorithm: &str, ranks: u32, len: usize) -> Result<f64, Failure> {
    Ok(latencies(algorithm, ranks, len)?.into_iter().fold(0.0, f64::max))
}

/// Broadcasts per second, each right after the one before.
pub fn per_second(settings: &[(&str, &str)], ranks: u32, len: usize) -> Result<f64, Failure> {
    let plan = Plan { interval: 0, ..plan(ranks, len, BACK_TO_BACK) };
    let outcome = simulate(&plan, &options(settings)?).map_err(Failure::new)?;
    throughput(&outcome).ok_or_else(|| Failure::new("broadcasts took no time"))
}
