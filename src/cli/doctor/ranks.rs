//! One rank of several: the first of each host tries what a host can try by itself, then all try the rest together.

use super::bounded::step;
use super::progress::Progress;
use super::report::{HostReport, Report};
use super::site::Site;
use super::together;
use super::{examine, surveyed};
use crate::message::{decode, encode};
use std::time::{Duration, Instant};
use verbcast::bootstrap::{Bootstrap, Environment, Star};
use verbcast::rdma::Settings;
use verbcast_core::rank::Rank;

/// What the hosts try by themselves begins before this time.
const APART: Duration = Duration::from_secs(55);
/// How long a rank waits for the others: longer than they take by themselves.
const PATIENCE: Duration = Duration::from_secs(80);

/// Returns the report at rank 0.
pub fn run(
    environment: &Environment,
    settings: &Settings,
    begun: Instant,
    progress: &Progress,
) -> Result<Option<Report>, String> {
    step("meeting the other ranks");
    let mut star = Star::join(environment, PATIENCE).map_err(|error| error.to_string())?;
    let me = star.rank();
    let host = rustix::system::uname().nodename().to_bytes().to_vec();
    let hosts = star.all_gather(&host).map_err(|error| error.to_string())?;
    let is_first = hosts.iter().position(|other| *other == host) == Some(me.index());
    let own = is_first.then(|| examine(me, settings, begun + APART, progress));
    step("waiting for what other hosts try by themselves");
    let blob = own.as_ref().map(encode).transpose()?.unwrap_or_default();
    let mut blobs = Vec::new();
    let keep = |all| {
        blobs = all;
        Vec::new()
    };
    star.judge(&blob, keep).map_err(|error| error.to_string())?;
    let site = Site::of(&surveyed(settings, me), settings);
    let together = together::run(&mut star, site, &names(&hosts), begun);
    if me != Rank(0) {
        return Ok(None);
    }
    let blobs = blobs.iter().filter(|blob| !blob.is_empty());
    let hosts = blobs.map(|blob| decode(blob)).collect::<Result<Vec<HostReport>, _>>()?;
    Ok(Some(Report { ranks: star.size(), hosts, together, ..Report::default() }))
}

/// The ranks with their hosts, as they are told to the user.
fn names(hosts: &[Vec<u8>]) -> Vec<String> {
    let named = |(rank, host): (usize, &Vec<u8>)| {
        format!("rank {rank} ({})", String::from_utf8_lossy(host))
    };
    hosts.iter().enumerate().map(named).collect()
}
