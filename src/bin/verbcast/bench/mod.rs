//! `verbcast bench`: ways to broadcast, measured side by side.

pub mod args;
mod campaign;
mod clock;
mod contender;
mod control;
mod lab;
mod log;
mod measure;
mod plan;
mod sizes;
mod system;
mod text;
mod transport;
mod validate;

use crate::failure::Failure;
use crate::files::write_whole;
use crate::launch::Job;
use crate::launch::decide::{blame, decide};
use crate::progress::Progress;
use crate::results::{Device, FORMAT, Results};
use args::BenchArgs;
use campaign::Campaign;
use control::Control;
use plan::Plan;
use std::path::Path;
use verbcast::bootstrap::{Bootstrap, Environment, Star};
use verbcast::broadcast::{Config, Endpoint};
use verbcast::rank::Rank;

pub fn run(args: &BenchArgs) -> Result<(), Failure> {
    let common = args.common();
    let config = common.transport.configure().map_err(Failure::usage)?;
    if let Some(ranks) = common.transport.ranks {
        Plan::new(args, ranks).map_err(Failure::usage)?;
    }
    if let Some(path) = &common.json {
        check(path).map_err(Failure::usage)?;
    }
    let job = Job {
        ranks: common.transport.ranks,
        timeout: config.settings.timeout,
        interrupted: "interrupted",
    };
    let outcome = job.run(|_| (), |environment, _| run_rank(args, &config, environment))?;
    let Some(results) = outcome else { return Ok(()) };
    crate::print(&text::tables(&results))?;
    let Some(path) = &common.json else { return Ok(()) };
    let text = serde_json::to_string(&results).map_err(Failure::new)?;
    write_whole(path, &(text + "\n")).map_err(Failure::new)
}

/// Finds out early that a file cannot be written.
fn check(path: &Path) -> Result<(), String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    match path.is_dir() || !folder.is_dir() {
        true => Err(format!("--json {}: not a file in a folder that exists", path.display())),
        false => Ok(()),
    }
}

/// This process as one rank. Rank 0 gets the results.
fn run_rank(
    args: &BenchArgs,
    config: &Config,
    environment: &Environment,
) -> Result<Option<Results>, String> {
    let plan = Plan::new(args, environment.size).map_err(|what| blame(environment.rank, what))?;
    let mut star =
        Star::join(environment, config.settings.timeout).map_err(|error| error.to_string())?;
    let rank = star.rank();
    agree(&mut star, &plan)?;
    let endpoint = Endpoint::new(&config.settings);
    let mut control = Control::open(&mut star, &endpoint, config)?;
    let devices = devices(&mut star, &control)?;
    let progress = Progress::of_rank(rank, plan.total(), "slices");
    let points = Campaign {
        plan: &plan,
        config,
        environment,
        endpoint: &endpoint,
        control: &mut control,
        progress: &progress,
    }
    .run(&mut star);
    drop(progress);
    if points.is_err() {
        control.abort();
    }
    decide(&mut star, points.as_ref().map(|_| Vec::new()).map_err(Clone::clone))?;
    let system = system::system(&config.settings, control.fragment_len(), devices);
    let configuration = system::configuration(&plan, config, &star);
    let results = Results { format: FORMAT.to_owned(), system, configuration, points: points? };
    Ok((rank == Rank(0)).then_some(results))
}

/// Makes sure that all ranks measure the same.
fn agree(star: &mut Star, plan: &Plan) -> Result<(), String> {
    let blobs = decide(star, Ok(format!("{plan:?}").into_bytes()))?;
    match (0..).map(Rank).zip(&blobs).find(|(_, blob)| **blob != blobs[0]) {
        Some((rank, _)) => Err(blame(rank, "was given other options than rank 0")),
        None => Ok(()),
    }
}

/// What each rank uses.
fn devices(star: &mut Star, control: &Control) -> Result<Vec<Device>, String> {
    let own = serde_json::to_vec(&system::device(control.description()));
    let blobs = decide(star, own.map_err(|what| blame(control.rank(), what)))?;
    let all: Result<_, _> = blobs.iter().map(|blob| serde_json::from_slice(blob)).collect();
    all.map_err(|error| format!("a rank's device cannot be read: {error}"))
}
