//! What the ranks agree on before any data flows.

use super::args::CopyArgs;
use super::destination::Destination;
use super::digest::Hash;
use super::host;
use super::manifest::{self, Kind, Manifest};
use crate::launch;
use crate::launch::decide::{blame, settle};
use crate::message::{Message, decode, encode};
use crate::units::MAX_CHUNK;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use verbcast::bootstrap::{Bootstrap, Star, name_ranks};
use verbcast_core::rank::Rank;

/// The most chunks in a copy that can be resumed: each rank holds their hashes, and tells in one message which of them it has.
const MAX_RESUMED: u64 = 1 << 22;

/// What rank 0 says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Part of the temporary names.
    pub job: String,
    /// Bytes of the manifest, which is broadcast first.
    pub manifest: u64,
    /// Bytes of data; none: they come as a stream.
    pub data: Option<u64>,
    /// Whether a folder is copied, and not one file.
    pub is_folder: bool,
    /// Bytes of each broadcast but the last.
    pub chunk: u64,
    pub hash: Hash,
    pub verify: bool,
    pub resume: bool,
    pub times: bool,
}

impl Message for Plan {
    const FORMAT: &'static str = "verbcast copy plan 3";
}

/// What the others say.
#[derive(Serialize, Deserialize)]
struct Writer {
    host: String,
    /// None: standard output.
    path: Option<Vec<u8>>,
}

impl Message for Writer {
    const FORMAT: &'static str = "verbcast copy writer 2";
}

/// What rank 0 has found, and the bytes that tell of it.
pub type Found<'a> = (&'a Manifest, &'a [u8]);

/// Tells all ranks the plan, if they can write what they have to. `found` is what rank 0 is to copy.
pub fn agree(
    star: &mut Star,
    found: Result<Option<Found<'_>>, String>,
    args: &CopyArgs,
    destination: &Destination,
) -> Result<Plan, String> {
    let rank = star.rank();
    let outcome = found.and_then(|found| match found {
        Some(found) => encode(&Plan::new(found, args)?),
        None => {
            let path = destination.path(rank).map(|path| path.into_os_string().into_vec());
            encode(&Writer { host: host::unique(), path })
        }
    });
    let plan = settle(star, outcome.map_err(|what| blame(rank, what)), |mut blobs| {
        check_writers(&blobs[1..])?;
        Ok(blobs.swap_remove(0))
    })?;
    let plan: Plan = decode(&plan).map_err(|why| unreadable(Rank(0), why))?;
    match plan.is_sound() {
        true => Ok(plan),
        false => Err(unreadable(Rank(0), "has impossible values".to_owned())),
    }
}

fn unreadable(rank: Rank, why: String) -> String {
    blame(rank, format!("sent a plan that cannot be read: it {why}"))
}

/// Checks what ranks 1 and up have said: no two may write the same.
fn check_writers(blobs: &[Vec<u8>]) -> Result<(), String> {
    let mut writers: BTreeMap<(String, Vec<u8>), Vec<Rank>> = BTreeMap::new();
    for (rank, blob) in (1..).map(Rank).zip(blobs) {
        let writer: Writer = decode(blob).map_err(|why| unreadable(rank, why))?;
        if let Some(path) = writer.path {
            writers.entry((writer.host, path)).or_default().push(rank);
        }
    }
    match writers.into_iter().find(|(_, ranks)| ranks.len() > 1) {
        None => Ok(()),
        Some(((_, path), ranks)) => Err(format!(
            "{} are on the same host and would all write {}; put {{rank}} into DST",
            name_ranks(&ranks),
            super::destination::shown(Path::new(&OsString::from_vec(path)))
        )),
    }
}

impl Plan {
    fn new((manifest, encoded): (&Manifest, &[u8]), args: &CopyArgs) -> Result<Plan, String> {
        let data = manifest.data();
        let plan = Plan {
            job: job_name()?,
            manifest: encoded.len() as u64,
            data,
            is_folder: manifest.entries.first().is_some_and(|root| root.kind == Kind::Folder),
            chunk: args.chunk,
            hash: args.hash,
            verify: args.verify,
            resume: args.resume,
            times: args.times,
        };
        match data {
            Some(data) if plan.resume && data.div_ceil(plan.chunk) > MAX_RESUMED => Err(format!(
                "--resume: {data} bytes are more than {MAX_RESUMED} chunks; raise --chunk"
            )),
            _ => Ok(plan),
        }
    }

    /// Whether rank 0 may have chosen these values.
    fn is_sound(&self) -> bool {
        let chunks = self.data.map_or(0, |data| data.div_ceil(self.chunk.max(1)));
        (1..=MAX_CHUNK).contains(&self.chunk)
            && (1..=manifest::MAX_BYTES).contains(&self.manifest)
            && (!self.resume || (self.data.is_some() && chunks <= MAX_RESUMED))
            && !(self.hash == Hash::None && (self.resume || self.verify))
            && self.job.chars().all(|c| c.is_ascii_hexdigit())
    }

    /// Whether a manifest is the one that the plan speaks of.
    pub fn fits(&self, manifest: &Manifest) -> bool {
        self.data == manifest.data() && self.is_folder == (manifest.entries[0].kind == Kind::Folder)
    }
}

/// A name for the temporary files, the one that the launcher knows if there is one.
fn job_name() -> Result<String, String> {
    match launch::child_job_name() {
        Some(name) => Ok(name),
        None => launch::random_name(),
    }
}

/// What is wrong with the options together.
pub fn check_options(args: &CopyArgs, destination: &Destination) -> Result<(), String> {
    let from_stdin = args.src.iter().any(|src| src.as_os_str() == "-");
    let to_stdout = *destination == Destination::Output;
    let is_folder = matches!(destination, Destination::Path(path) if path.is_folder());
    let empty = args.src.iter().any(|src| src.as_os_str().as_bytes().is_empty());
    let what = match () {
        () if empty => "SRC is empty",
        () if from_stdin && args.src.len() > 1 => "- as SRC must be the only one",
        () if from_stdin && is_folder => "DST must name a file, as standard input (-) has no name",
        () if from_stdin && args.resume => "--resume: standard input (-) cannot be read again",
        () if to_stdout && (args.verify || args.resume) => {
            "--verify and --resume: standard output (-) cannot be read back"
        }
        () if to_stdout && (args.src.len() > 1 || args.recursive) => {
            "only one file can be written to standard output (-); use tar for more"
        }
        () if args.hash == Hash::None && (args.verify || args.resume) => {
            "--verify and --resume need a hash"
        }
        () => return Ok(()),
    };
    Err(what.to_owned())
}
