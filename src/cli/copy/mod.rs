//! `verbcast copy`: files and folders from rank 0 to every other rank.

pub mod args;
mod destination;
mod digest;
pub mod host;
mod manifest;
mod meeting;
mod origins;
mod place;
mod plan;
mod progress;
mod rank;
mod report;
mod resume;
mod scan;
#[cfg(test)]
pub mod scratch;
mod source;
mod staging;
mod standing;
mod transfer;

use crate::failure::Failure;
use crate::launch::Job;
use crate::launch::cleanup::remove;
use args::CopyArgs;
use destination::{Destination, Template, tag};
use verbcast::bootstrap::Environment;
use verbcast_core::rank::Rank;

pub fn run(args: &CopyArgs) -> Result<(), Failure> {
    let config = args.transport.configure().map_err(Failure::usage)?;
    let destination = Destination::parse(&args.dst).map_err(Failure::usage)?;
    plan::check_options(args, &destination).map_err(Failure::usage)?;
    let ranks = args.transport.ranks;
    let job = Job {
        ranks,
        timeout: config.device.timeout,
        interrupted: match args.resume {
            true => "interrupted; what came is kept for --resume",
            false => "interrupted; the partial files were removed",
        },
        finds_rendezvous: false,
        reads_stdin: args.src.iter().any(|src| src.as_os_str() == "-"),
    };
    let started = ranks.filter(|_| job.is_launcher()).unwrap_or(0);
    check_writers(args, &destination, started).map_err(Failure::usage)?;
    let forget = |job: &str| {
        let Destination::Path(template) = &destination else { return };
        for rank in (1..started).map(Rank).filter(|_| !args.resume) {
            let (path, tag) = (template.path(rank), tag(job, rank, false));
            // A rank that ended by itself has removed or renamed it.
            remove(&Template::beside(&path, &tag));
            remove(&Template::inside(&path, &tag));
        }
    };
    let copied = job.run(forget, |environment, cleanup| {
        rank::run(args, &config, &destination, environment, cleanup)
    });
    match copied {
        Ok(Some(summary)) => summary.print(args.json, destination == Destination::Output),
        Ok(None) => Ok(()),
        Err(failure) => {
            if args.json && tells(&job) {
                // What is printed besides, on standard error, says the same.
                let _ = report::print_failure(&failure.messages);
            }
            Err(failure)
        }
    }
}

/// Whether this process tells the outcome of all: the launcher, or rank 0.
fn tells(job: &Job<'_>) -> bool {
    let is_first = || {
        Environment::from_env().is_ok_and(|environment| {
            environment.is_none_or(|environment| environment.rank == Rank(0))
        })
    };
    job.is_launcher() || (!crate::launch::is_child() && is_first())
}

/// Checks that the ranks which this process starts can all write what they have to; or says which cannot.
fn check_writers(args: &CopyArgs, destination: &Destination, started: u32) -> Result<(), String> {
    match destination {
        Destination::Output if started > 0 => Err(
            "the ranks that --ranks starts have one standard output together; put {rank} into DST, or start \
             the ranks with srun or mpirun"
                .to_owned(),
        ),
        Destination::Path(template) if started > 2 && !template.is_numbered() => {
            let dst = args.dst.to_string_lossy();
            let dst = dst.trim_end_matches('/');
            let last = started - 1;
            Err(format!(
                "ranks 1-{last} on this host would all write {dst}; put {{rank}} into DST, as in '{dst}.{{rank}}'"
            ))
        }
        _ => Ok(()),
    }
}
