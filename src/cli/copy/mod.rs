//! `verbcast copy`: one file from rank 0 to every other rank.

mod destination;
mod plan;
mod progress;
mod rank;
mod report;
mod source;
mod transfer;

use crate::cli::CopyArgs;
use crate::failure::Failure;
use crate::launch::Job;
use destination::Destination;
use verbcast_core::rank::Rank;

pub fn run(args: &CopyArgs) -> Result<(), Failure> {
    let config = args.transport.configure().map_err(Failure::usage)?;
    let destination: Destination = args.dst.parse().map_err(Failure::usage)?;
    if args.src.as_os_str() == "-" {
        let what = "SRC must be a regular file: its length is sent first, so that standard input \
                    ('-') cannot be copied";
        return Err(Failure::usage(what));
    }
    let ranks = args.transport.ranks;
    let job = Job {
        ranks,
        timeout: config.device.timeout,
        interrupted: "interrupted; the partial files were removed",
        finds_rendezvous: false,
    };
    let started = ranks.filter(|_| job.is_launcher()).unwrap_or(0);
    if started > 2 && !destination.is_numbered() {
        return Err(Failure::usage(format!(
            "ranks 1-{} on this host would all write {}; put {{rank}} into DST, as in '{}.{{rank}}'",
            started - 1,
            args.dst,
            args.dst
        )));
    }
    let forget = |job: &str| {
        for rank in (1..started).map(Rank) {
            // A rank that ended by itself has removed or renamed it.
            let _ = std::fs::remove_file(destination.temporary(rank, job));
        }
    };
    let summary = job.run(forget, |environment, cleanup| {
        rank::run(args, &config, &destination, environment, cleanup)
    })?;
    summary.map_or(Ok(()), |summary| summary.print(args.json))
}
