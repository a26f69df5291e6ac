//! One rank of a copy, from the rendezvous to the renamed file.

use super::destination::{Destination, Partial};
use super::plan;
use super::progress::Progress;
use super::report::{RankReport, Summary};
use super::source::Source;
use super::transfer::{self, End, Trouble};
use crate::cli::CopyArgs;
use crate::launch::cleanup::Cleanup;
use crate::launch::decide::{blame, decide};
use crate::message::{decode, encode};
use crate::units::hex;
use std::time::Instant;
use verbcast::bootstrap::{Environment, Star};
use verbcast::broadcast::{Broadcaster, Config};
use verbcast_core::rank::Rank;

/// Returns the summary at rank 0. Every rank fails with the same message, except where a rank
/// vanished and the others saw different traces of that.
pub fn run(
    args: &CopyArgs,
    config: &Config,
    destination: &Destination,
    environment: &Environment,
    cleanup: &Cleanup,
) -> Result<Option<Summary>, String> {
    let rank = environment.rank;
    if environment.size < 2 {
        return Err("there is only one rank, and nobody to copy to".to_owned());
    }
    let timeout = config.device.timeout;
    let mut star = Star::join(environment, timeout).map_err(|error| error.to_string())?;

    let source = (rank == Rank(0)).then(|| Source::open(&args.src));
    let plan = plan::agree(&mut star, source.as_ref(), args.chunk, destination)?;
    let end = match source {
        Some(source) => source.map(End::Source),
        None => Partial::create(destination, rank, (&plan.job, plan.mode), cleanup)
            .map(End::Destination),
    };
    let ready = end.as_ref().map(|_| Vec::new()).map_err(|what| blame(rank, what));
    decide(&mut star, ready)?;
    let mut end = end?;

    let mut caster = Broadcaster::new(&mut star, config).map_err(|error| error.to_string())?;
    let progress = Progress::new(plan.length, rank == Rank(0));
    let started = Instant::now();
    let mut buffers: Vec<_> =
        transfer::buffer_lengths(&plan).map(|len| caster.buffer(len)).collect();
    let moved = transfer::run(&mut caster, &mut end, &plan, &mut buffers, &progress)
        .map_err(|trouble| match trouble {
            Trouble::Here(reason) => blame(rank, reason),
            Trouble::Channel(reason) => reason,
        })
        .and_then(|hash| {
            caster.flush().map_err(|error| error.to_string())?;
            report(&caster, hash)
        });
    drop(progress);
    let reports = check(decide(&mut star, moved)?)?;
    let seconds = started.elapsed().as_secs_f64();

    let published = match end {
        End::Source(_) => Ok(Vec::new()),
        End::Destination(partial) => partial.publish().map(|()| Vec::new()),
    };
    let published = published.map_err(|what| {
        blame(rank, format!("{what}; a rank that reports no error of its own has the file"))
    });
    decide(&mut star, published)?;
    let fragment_len = caster.fragment_len();
    // All is done; how the others leave changes nothing.
    let _ = caster.close();
    Ok((rank == Rank(0)).then(|| Summary::new(args, &plan, seconds, fragment_len, reports)))
}

fn report(caster: &Broadcaster, hash: [u8; 32]) -> Result<Vec<u8>, String> {
    let report = RankReport {
        rank: caster.rank().0,
        device: caster.description().device.clone(),
        sha256: hex(&hash),
        counters: caster.statistics(),
    };
    encode(&report).map_err(|error| blame(caster.rank(), error))
}

/// Every rank must have what rank 0 sent.
fn check(blobs: Vec<Vec<u8>>) -> Result<Vec<RankReport>, String> {
    let mut reports: Vec<RankReport> = Vec::with_capacity(blobs.len());
    for (rank, blob) in (0..).map(Rank).zip(blobs) {
        let report: RankReport = decode(&blob)
            .map_err(|why| blame(rank, format!("sent a report that cannot be read: it {why}")))?;
        let sent = reports.first().map_or(&report.sha256, |first| &first.sha256);
        if *sent != report.sha256 {
            let what = format!("received a file of SHA-256 {}, not {sent}", report.sha256);
            return Err(blame(rank, what));
        }
        reports.push(report);
    }
    Ok(reports)
}
