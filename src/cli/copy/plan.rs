//! What the ranks agree on before any data flows.

use super::destination::Destination;
use super::source::Source;
use crate::launch;
use crate::launch::decide::{blame, decide};
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

/// What the others say.
#[derive(Serialize, Deserialize)]
struct Writer {
    host: String,
    path: String,
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
    let unreadable = |rank: Rank| blame(rank, "sent a plan that cannot be read");
    let mut blobs = (0..).map(Rank).zip(&blobs);
    let plan: Option<Plan> = blobs.next().and_then(|(_, blob)| serde_json::from_slice(blob).ok());
    let plan = plan
        .filter(|plan| (1..=MAX_CHUNK).contains(&plan.chunk))
        .filter(|plan| plan.job.chars().all(|c| c.is_ascii_hexdigit()))
        .ok_or_else(|| unreadable(Rank(0)))?;
    let mut writers: BTreeMap<(String, String), Vec<Rank>> = BTreeMap::new();
    for (rank, blob) in blobs {
        let writer: Writer = serde_json::from_slice(blob).map_err(|_| unreadable(rank))?;
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

fn encode(value: &impl Serialize) -> Result<Vec<u8>, String> {
    serde_json::to_vec(value).map_err(|error| error.to_string())
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
