//! What the ranks agree on before any data flows.

use super::destination::Destination;
use super::source::Source;
use crate::launch;
use crate::launch::decide::{blame, decide};
use crate::message::{Message, decode, encode};
use crate::units::MAX_CHUNK;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use verbcast::bootstrap::{Bootstrap, name_ranks};
use verbcast_core::rank::Rank;

/// What rank 0 says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Part of the temporary names.
    pub job: String,
    /// Bytes of the file.
    pub length: u64,
    /// Permissions of the file.
    pub mode: u32,
    /// Bytes of each broadcast but the last.
    pub chunk: u64,
}

impl Message for Plan {
    const FORMAT: &'static str = "verbcast copy plan 1";
}

/// What the others say.
#[derive(Serialize, Deserialize)]
struct Writer {
    host: String,
    path: String,
}

impl Message for Writer {
    const FORMAT: &'static str = "verbcast copy writer 1";
}

/// Exchanges the plan and the writers. `source` is rank 0's attempt to open SRC.
pub fn agree(
    bootstrap: &mut dyn Bootstrap,
    source: Option<&Result<Source, String>>,
    chunk: u64,
    destination: &Destination,
) -> Result<Plan, String> {
    let rank = bootstrap.rank();
    let outcome = match source {
        Some(Ok(source)) => job_name().and_then(|job| {
            let Source { length, mode, .. } = *source;
            encode(&Plan { job, length, mode, chunk })
        }),
        Some(Err(error)) => Err(error.clone()),
        None => {
            let path = destination.path(rank).to_string_lossy().into_owned();
            encode(&Writer { host: host(), path })
        }
    };
    let blobs = decide(bootstrap, outcome.map_err(|what| blame(rank, what)))?;
    let unreadable =
        |rank: Rank, why: String| blame(rank, format!("sent a plan that cannot be read: it {why}"));
    let (first, others) = blobs.split_first().ok_or("nobody has a plan")?;
    let plan: Plan = decode(first).map_err(|why| unreadable(Rank(0), why))?;
    if !plan.is_sound() {
        return Err(unreadable(Rank(0), "has impossible values".to_owned()));
    }
    let mut writers: BTreeMap<(String, String), Vec<Rank>> = BTreeMap::new();
    for (rank, blob) in (1..).map(Rank).zip(others) {
        let writer: Writer = decode(blob).map_err(|why| unreadable(rank, why))?;
        writers.entry((writer.host, writer.path)).or_default().push(rank);
    }
    match writers.into_iter().find(|(_, ranks)| ranks.len() > 1) {
        None => Ok(plan),
        Some(((_, path), ranks)) => Err(format!(
            "{} are on the same host and would all write {path}; put {{rank}} into DST",
            name_ranks(&ranks)
        )),
    }
}

impl Plan {
    /// Whether its values are ones that rank 0 may have chosen.
    fn is_sound(&self) -> bool {
        (1..=MAX_CHUNK).contains(&self.chunk) && self.job.chars().all(|c| c.is_ascii_hexdigit())
    }
}

/// A name for the temporary files, the one that the launcher knows if there is one.
fn job_name() -> Result<String, String> {
    match launch::child_job_name() {
        Some(name) => Ok(name),
        None => launch::random_name(),
    }
}

/// Something that differs between hosts.
fn host() -> String {
    ["/proc/sys/kernel/hostname", "/proc/sys/kernel/random/boot_id"]
        .map(|path| fs::read_to_string(path).unwrap_or_default().trim().to_owned())
        .join(" ")
}
