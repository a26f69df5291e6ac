//! Everything that is known after a simulation.

use super::args::SimArgs;
use super::compare::{self, Expected, Model, PenaltyRounds, Throughput};
use super::fabric::LinksReport;
use super::latency::Latency;
use super::memory;
use super::setup::Setup;
use super::totals::Totals;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use verbcast_sim::{CERTAIN, Outcome, Traffic, Violation};

#[derive(Debug, Serialize)]
pub struct Report {
    pub simulated: Simulated,
    pub latency: Compared,
    pub model: Option<Model>,
    pub penalty_rounds: Option<PenaltyRounds>,
    pub throughput: Option<Throughput>,
    pub totals: Totals,
    /// What carried the packets, with --fabric.
    pub links: Option<LinksReport>,
    pub run: Run,
}

/// What was simulated.
#[derive(Debug, Serialize)]
pub struct Simulated {
    pub ranks: u32,
    pub algorithm: String,
    pub protocol: String,
    pub groups: Option<u32>,
    pub size_bytes: u64,
    pub fragments: u32,
    pub fragment_bytes: usize,
    pub operations: u32,
    pub root: String,
    pub interval_ns: u64,
    pub skew_ns: u64,
    pub loss_share: f64,
    pub burst_begins_share: f64,
    pub burst_ends_share: f64,
    pub duplicate_share: f64,
    pub delay_share: f64,
    pub longest_delay_ns: u64,
    pub options: BTreeMap<String, String>,
    pub seed: u64,
}

#[derive(Debug, Serialize)]
pub struct Compared {
    #[serde(flatten)]
    pub simulated: Latency,
    #[serde(flatten)]
    pub expected: Expected,
}

/// The run itself. Only the wall time and the memory are measured.
#[derive(Debug, Serialize)]
pub struct Run {
    pub events: u64,
    pub simulated_ns: u64,
    pub wall_seconds: f64,
    pub events_per_second: f64,
    pub trace: String,
    pub peak_memory_bytes: Option<u64>,
}

impl Report {
    pub fn new(
        args: &SimArgs,
        setup: &Setup,
        outcomes: &[Outcome],
        traffic: Traffic,
        wall: Duration,
    ) -> Result<Report, Violation> {
        let latency = Latency::of(&setup.plan, outcomes);
        let wall_seconds = wall.as_secs_f64();
        let events = outcomes.iter().map(|outcome| outcome.events).sum::<u64>() + traffic.events;
        let trace = outcomes.iter().fold(0_u64, |all, one| all.rotate_left(1) ^ one.trace);
        let root = setup.plan.steps.first().map_or(0, |step| step.root.0);
        Ok(Report {
            simulated: simulated(args, setup),
            model: compare::model(setup),
            penalty_rounds: compare::penalty(setup, &outcomes[0], &latency)?,
            throughput: compare::throughput(setup, outcomes),
            latency: Compared { expected: compare::latency(setup, &latency), simulated: latency },
            totals: Totals::of(outcomes),
            links: setup.fabric.as_ref().map(|fabric| fabric.links(&traffic, root)),
            run: Run {
                events,
                simulated_ns: outcomes.iter().map(|outcome| outcome.ended).max().unwrap_or(0),
                wall_seconds,
                events_per_second: events as f64 / wall_seconds.max(1e-9),
                trace: format!("{trace:016x}"),
                peak_memory_bytes: memory::peak(),
            },
        })
    }
}

fn simulated(args: &SimArgs, setup: &Setup) -> Simulated {
    let Setup { plan, .. } = setup;
    let share = |millionths: u32| f64::from(millionths) / f64::from(CERTAIN);
    let given = args.options.iter().map(|given| (given.name.clone(), given.value.clone()));
    Simulated {
        ranks: plan.size,
        algorithm: args.algorithm.clone(),
        protocol: setup.protocol.to_string(),
        groups: setup.groups,
        size_bytes: args.size,
        fragments: setup.fragments,
        fragment_bytes: setup.fragment_len,
        operations: args.operations,
        root: args.root.to_string(),
        interval_ns: plan.interval,
        skew_ns: plan.skew,
        loss_share: share(plan.faults.loss),
        burst_begins_share: share(plan.faults.burst_begins),
        burst_ends_share: share(plan.faults.burst_ends),
        duplicate_share: share(plan.faults.duplicate),
        delay_share: share(plan.faults.delay),
        longest_delay_ns: plan.faults.longest_delay,
        options: given.collect(),
        seed: plan.seed,
    }
}
