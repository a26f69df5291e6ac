//! `verbcast sim`: the deterministic simulator, with the papers' models beside it.

pub mod args;
mod compare;
pub mod fabric;
pub mod help;
pub mod latency;
mod memory;
mod report;
mod setup;
mod swarm;
mod text;
mod totals;

use crate::failure::Failure;
use crate::progress::Progress;
use args::SimArgs;
use report::Report;
use setup::Setup;
use std::time::Instant;
use verbcast_core::rank::Rank;
use verbcast_sim::{Outcome, Plan, Traffic, Violation, simulate_observed, simulate_on};

pub fn run(args: &SimArgs) -> Result<(), Failure> {
    if let Some(count) = args.swarm {
        return swarm::run(args.seed, count, args.json);
    }
    let setup = Setup::new(args)?;
    let report = simulate(args, &setup).map_err(|violation| {
        let words: Vec<_> = std::env::args().skip(1).collect();
        Failure::new(format!("{violation}\nto repeat it: verbcast {}", words.join(" ")))
    })?;
    if args.json {
        let text = serde_json::to_string_pretty(&report).map_err(Failure::new)?;
        crate::print(&(text + "\n"))
    } else {
        crate::print(&report.to_string())
    }
}

fn simulate(args: &SimArgs, setup: &Setup) -> Result<Report, Violation> {
    let ends = u64::from(args.operations) * u64::from(args.ranks) * setup.jobs() as u64;
    let progress = Progress::new(ends, "calls");
    let began = Instant::now();
    let (outcomes, traffic) = outcomes(setup, |_, _| progress.advance())?;
    let wall = began.elapsed();
    drop(progress);
    Report::new(args, setup, &outcomes, traffic, wall)
}

/// Runs all jobs of a setup.
fn outcomes(
    setup: &Setup,
    observe: impl Fn(Rank, usize),
) -> Result<(Vec<Outcome>, Traffic), Violation> {
    let Some(fabric) = &setup.fabric else {
        let outcome = simulate_observed(&setup.plan, &setup.options, observe)?;
        return Ok((vec![outcome], Traffic::default()));
    };
    // Each job draws for itself.
    let seeds = (0..fabric.jobs() as u64).map(|job| setup.plan.seed.wrapping_add(job));
    let plans: Vec<Plan> = seeds.map(|seed| Plan { seed, ..setup.plan.clone() }).collect();
    simulate_on(fabric.fabric(), &plans, &setup.options, observe)
}
