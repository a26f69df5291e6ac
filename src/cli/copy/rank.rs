//! One rank of a copy, from the rendezvous to the renamed files.

use super::args::CopyArgs;
use super::destination::Destination;
use super::digest::{self, Hasher};
use super::host;
use super::manifest::{self, Manifest};
use super::meeting::meet;
use super::origins::Origins;
use super::place::Place;
use super::plan::{self, Plan};
use super::progress::Progress;
use super::report::{RankReport, Summary};
use super::resume::{self, Side};
use super::staging::{Output, Pipe, Tree, Writer};
use super::standing::Standing;
use super::transfer::{self, Chunks, End, Outcome, Trouble};
use crate::launch::cleanup::Cleanup;
use crate::launch::decide::{blame, settle};
use crate::message::{decode, encode};
use std::sync::Arc;
use std::time::Instant;
use verbcast::bootstrap::{Environment, Star};
use verbcast::broadcast::{Broadcaster, Buffer, Config};
use verbcast_core::rank::Rank;

/// Returns the summary at rank 0. Every rank fails with the same message, except where a rank
/// vanished and the others saw different traces of that; then it says what has become of its copy.
pub fn run(
    args: &CopyArgs,
    config: &Config,
    destination: &Destination,
    environment: &Environment,
    cleanup: &Cleanup,
) -> Result<Option<Summary>, String> {
    let mut standing = Standing::default();
    let copied = copy(args, config, destination, environment, cleanup, &mut standing);
    copied.map_err(|message| standing.add_to(message, environment.rank))
}

fn copy(
    args: &CopyArgs,
    config: &Config,
    destination: &Destination,
    environment: &Environment,
    cleanup: &Cleanup,
    standing: &mut Standing,
) -> Result<Option<Summary>, String> {
    let rank = environment.rank;
    if environment.size < 2 {
        return Err("there is only one rank, and nobody to copy to".to_owned());
    }
    let timeout = config.device.timeout;
    let mut star = Star::join(environment, timeout).map_err(|error| error.to_string())?;
    let origins = Origins::find(&mut star, timeout, args, destination);
    let found = origins.as_ref().map(|origins| origins.as_ref().map(Origins::found));
    let plan = plan::agree(&mut star, found.map_err(Clone::clone), args, destination)?;
    let origins = origins?;
    let place = step(&mut star, rank, Place::new(destination, rank, &plan, cleanup))?;

    let mut caster = Broadcaster::new(&mut star, config).map_err(|error| error.to_string())?;
    let started = Instant::now();
    let prepared = prepare(&mut caster, &mut star, &plan, origins.as_ref(), &place)?;
    let Prepared { manifest, tree, is_resumed } = prepared;
    place.begin(standing, destination, rank);
    let held = match is_resumed {
        false => Vec::new(),
        true => {
            let side = match (&origins, &tree) {
                (Some(origins), _) => Side::Source(origins.source()?),
                (None, Some(tree)) => Side::Destination(tree),
                (None, None) => return Err("nothing can be resumed in standard output".to_owned()),
            };
            resume::agree(&mut caster, &mut star, &plan, side)?
        }
    };
    let end = match (&origins, &tree) {
        (Some(origins), _) => origins.source().map(End::Source),
        (None, Some(tree)) => Ok(End::Destination(Output::Files(Writer::new(tree)))),
        (None, None) => Pipe::new(&manifest).map(|pipe| End::Destination(Output::Pipe(pipe))),
    };
    let chunks = Chunks::new(&plan, held);
    let moved = move_data(&mut caster, end, &plan, &chunks, rank)
        .and_then(|outcome| meet(&mut caster, complete(tree.as_deref(), &plan, outcome)))
        .and_then(|outcome| {
            caster.flush().map_err(|error| error.to_string())?;
            report(&caster, &plan, outcome)
        });
    // At rank 0, of all ranks.
    let mut reports = Vec::new();
    settle(&mut star, moved, |blobs| {
        reports = check(&plan, blobs)?;
        Ok(Vec::new())
    })?;
    let seconds = started.elapsed().as_secs_f64();

    let published = meet(&mut caster, place.publish(tree.as_deref(), standing));
    settle(&mut star, published.map(|()| Vec::new()), |_| Ok(Vec::new()))?;
    let fragment_len = caster.fragment_len_of(plan.chunk as usize);
    // All is done; how the others leave changes nothing.
    let _ = caster.close();
    let Some(_) = &origins else { return Ok(None) };
    Ok(Some(Summary::new(args, &plan, &manifest, (&chunks, fragment_len, seconds), reports)))
}

/// What a rank has before data flows.
struct Prepared {
    manifest: Arc<Manifest>,
    /// Of a rank that writes files.
    tree: Option<Arc<Tree>>,
    /// Whether any rank has something from an earlier copy.
    is_resumed: bool,
}

/// Tells all ranks what is copied; each makes its files for that.
fn prepare(
    caster: &mut Broadcaster,
    star: &mut Star,
    plan: &Plan,
    origins: Option<&Origins>,
    place: &Place,
) -> Result<Prepared, String> {
    // What the others have of it is known once all have the manifest.
    let manifest = match origins {
        Some(origins) => {
            caster.broadcast_from(&origins.encoded).map_err(|error| error.to_string())?;
            Ok(Arc::clone(&origins.manifest))
        }
        None => receive_manifest(caster, plan)?,
    };
    let prepared = manifest.and_then(|manifest| {
        let tree = place.prepare(&manifest, plan)?;
        Ok((manifest, tree))
    });
    let prepared = meet(caster, prepared);
    let own = prepared.as_ref().map(|_| vec![u8::from(place.is_resumed())]).map_err(Clone::clone);
    let any = settle(star, own, |blobs| Ok(vec![u8::from(blobs.contains(&vec![1]))]))?;
    let (manifest, tree) = prepared?;
    Ok(Prepared { manifest, tree, is_resumed: any == [1] })
}

/// Takes a step together.
fn step<T>(star: &mut Star, rank: Rank, outcome: Result<T, String>) -> Result<T, String> {
    let ready = outcome.as_ref().map(|_| Vec::new()).map_err(|what| blame(rank, what));
    settle(star, ready, |_| Ok(Vec::new()))?;
    outcome
}

/// The outer error is that of the broadcast, the inner one that of what came.
fn receive_manifest(
    caster: &mut Broadcaster,
    plan: &Plan,
) -> Result<Result<Arc<Manifest>, String>, String> {
    // It was checked to be at most so long.
    let mut encoded = vec![0; plan.manifest as usize];
    caster.broadcast_into(Rank(0), &mut encoded).map_err(|error| error.to_string())?;
    let read = manifest::decode(&encoded).and_then(|manifest| match plan.fits(&manifest) {
        true => Ok(Arc::new(manifest)),
        false => Err("it is not the one that was announced".to_owned()),
    });
    Ok(read.map_err(|why| format!("cannot use rank 0's list of files: {why}")))
}

fn move_data(
    caster: &mut Broadcaster,
    end: Result<End, String>,
    plan: &Plan,
    chunks: &Chunks,
    rank: Rank,
) -> Result<Outcome, String> {
    let end = end.map_err(|reason| {
        caster.abort(&reason);
        blame(rank, reason)
    })?;
    let progress = Progress::new(plan.data, rank == Rank(0));
    let (whole, rest) = chunks.buffer_lengths();
    let whole: Vec<Buffer> = whole.into_iter().map(|len| caster.buffer(len)).collect();
    let rest = rest.map(|len| caster.buffer(len));
    transfer::run(caster, end, (chunks, plan.hash), (whole, rest), &progress).map_err(|trouble| {
        match trouble {
            Trouble::Here(reason) => blame(rank, reason),
            Trouble::Channel(reason) => reason,
        }
    })
}

/// Makes durable what was written, and reads it back if that was asked for.
fn complete(tree: Option<&Tree>, plan: &Plan, outcome: Outcome) -> Result<Outcome, String> {
    let Some(tree) = tree else { return Ok(outcome) };
    tree.complete()?;
    if plan.verify && tree.hash(Hasher::new(plan.hash), plan.chunk as usize)? != outcome.digest {
        return Err("what was read back is not what was written".to_owned());
    }
    Ok(outcome)
}

fn report(caster: &Broadcaster, plan: &Plan, outcome: Outcome) -> Result<Vec<u8>, String> {
    let report = RankReport {
        rank: caster.rank().0,
        host: host::name(),
        device: caster.description().device.clone(),
        bytes: outcome.bytes,
        digest: digest::text(plan.hash, outcome.digest),
        counters: caster.statistics(),
    };
    encode(&report).map_err(|error| blame(caster.rank(), error))
}

/// Every rank must have what rank 0 sent.
fn check(plan: &Plan, blobs: Vec<Vec<u8>>) -> Result<Vec<RankReport>, String> {
    let mut reports: Vec<RankReport> = Vec::with_capacity(blobs.len());
    for (rank, blob) in (0..).map(Rank).zip(blobs) {
        let report: RankReport = decode(&blob)
            .map_err(|why| blame(rank, format!("sent a report that cannot be read: it {why}")))?;
        let first = reports.first().unwrap_or(&report);
        if (first.bytes, &first.digest) != (report.bytes, &report.digest) {
            let text = |report: &RankReport| {
                let digest = report.digest.as_deref().unwrap_or("unknown");
                format!("{} bytes of {} {digest}", report.bytes, plan.hash.name())
            };
            return Err(blame(rank, format!("received {}, not {}", text(&report), text(first))));
        }
        reports.push(report);
    }
    Ok(reports)
}
