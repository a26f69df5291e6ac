//! `verbcast bench`: ways to broadcast, measured side by side.

pub mod args;
mod campaign;
mod clock;
pub mod contender;
mod control;
mod cpu;
mod lab;
mod log;
mod measure;
mod mpi;
mod order;
pub mod plan;
mod sizes;
mod system;
pub mod text;
mod transport;
mod validate;
mod word;

use crate::failure::Failure;
use crate::files::{check_file, write_whole};
use crate::launch::Job;
use crate::launch::decide::{blame, collect, settle};
use crate::message::{decode, encode};
use crate::progress::Progress;
use crate::results::{Device, FORMAT, Results};
use args::{BenchArgs, CommonArgs};
use campaign::{Campaign, Findings};
use contender::{Algorithm, MPI};
use control::Control;
use mpi::{Mpi, check_launcher};
use plan::Plan;
use verbcast::bootstrap::{Bootstrap, Environment, Star};
use verbcast::broadcast::{Config, Endpoint};
use verbcast_core::rank::Rank;

pub fn run(args: &BenchArgs) -> Result<(), Failure> {
    let common = args.common();
    let Some(results) = measure(common, &args.algorithms(), |size| args.plan(size))? else {
        return Ok(());
    };
    crate::print(&text::tables(&results))?;
    save(common, &results)
}

/// Measures `algorithms`, as `plan` says for a number of ranks. Returns the results in the process that tells
/// the user.
pub fn measure(
    common: &CommonArgs,
    algorithms: &[Algorithm],
    plan: impl Fn(u32) -> Result<Plan, String>,
) -> Result<Option<Results>, Failure> {
    let mut config = common.transport.configure().map_err(Failure::usage)?;
    // All contenders, and what the ranks tell one another beside them, have rings of the same depth.
    config.device.deep_rings = config.device.deep_rings.max(algorithms.len() as u32 + 1);
    let needs_mpi = algorithms.iter().any(|algorithm| algorithm.name() == MPI);
    if needs_mpi {
        let is_set = |name: &str| std::env::var_os(name).is_some();
        check_launcher(common.transport.ranks, is_set).map_err(Failure::usage)?;
    }
    for algorithm in algorithms {
        algorithm.configure(&config).map_err(Failure::usage)?;
    }
    if let Some(ranks) = common.transport.ranks {
        plan(ranks).map_err(Failure::usage)?;
    }
    if let Some(path) = &common.json {
        check_file("--json", path).map_err(Failure::usage)?;
    }
    let job = Job {
        ranks: common.transport.ranks,
        timeout: config.device.timeout,
        interrupted: "interrupted",
        finds_rendezvous: needs_mpi,
        reads_stdin: false,
    };
    job.run(
        |_| (),
        |environment, _| {
            let plan = plan(environment.size).map_err(|what| blame(environment.rank, what))?;
            run_rank(&plan, &config, environment)
        },
    )
}

/// Writes the file that is asked for, if one is.
pub fn save(common: &CommonArgs, results: &Results) -> Result<(), Failure> {
    let Some(path) = &common.json else { return Ok(()) };
    let text = serde_json::to_string(results).map_err(Failure::new)?;
    write_whole(path, &(text + "\n"))
}

/// This process as one rank. Rank 0 gets the results.
fn run_rank(
    plan: &Plan,
    config: &Config,
    environment: &Environment,
) -> Result<Option<Results>, String> {
    let (mpi, environment) = Mpi::start(plan, environment)?;
    let environment = &environment;
    let mut star =
        Star::join(environment, config.device.timeout).map_err(|error| error.to_string())?;
    let rank = star.rank();
    agree(&mut star, plan)?;
    let endpoint = Endpoint::new(&config.device);
    let mut control = Control::open(&mut star, &endpoint, config)?;
    let devices = devices(&mut star, &control)?;
    let progress = Progress::of_rank(rank, plan.total(), "slices");
    let findings = Campaign {
        plan,
        config,
        environment,
        endpoint: &endpoint,
        mpi: &mpi,
        control: &mut control,
        progress: &progress,
    }
    .run(&mut star);
    drop(progress);
    if let Err(what) = &findings {
        control.abort(what);
    }
    collect(&mut star, findings.as_ref().map(|_| Vec::new()).map_err(Clone::clone))?;
    let Findings { points, left_out } = findings?;
    let mut system = system::system(&config.device, control.fragment_len(), devices);
    system.mpi = mpi.version();
    let configuration = system::configuration(plan, config, &star, system.mpi.is_some());
    mpi.finish();
    let results = Results { format: FORMAT.to_owned(), system, configuration, points, left_out };
    Ok((rank == Rank(0)).then_some(results))
}

/// Makes sure that all ranks measure the same.
fn agree(star: &mut Star, plan: &Plan) -> Result<(), String> {
    let own = format!("{plan:?}").into_bytes();
    let others = |blobs: Vec<Vec<u8>>| match blobs.iter().position(|blob| *blob != blobs[0]) {
        Some(rank) => Err(blame(Rank(rank as u32), "was given other options than rank 0")),
        None => Ok(Vec::new()),
    };
    settle(star, Ok(own), others).map(drop)
}

/// What each rank uses, at rank 0.
fn devices(star: &mut Star, control: &Control) -> Result<Vec<Device>, String> {
    let own = encode(&system::device(control.description()));
    let blobs = collect(star, own.map_err(|what| blame(control.rank(), what)))?;
    let all: Result<_, _> = blobs.iter().map(|blob| decode(blob)).collect();
    all.map_err(|why| format!("a rank's device cannot be read: it {why}"))
}
