//! How many broadcasts went which way, and what is said about it.

use super::adapter;
use super::place;
use super::reason::Reason;
use super::settings::{Report, Settings};
use super::summary::{Summary, WORDS};
use super::totals;
use super::verdict;
use mpi::ffi;
use std::ffi::{c_int, c_void};
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::io::Write as _;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Multicast, and then each reason for MPI's own.
const WAYS: usize = 1 + Reason::ALL.len();
static BROADCASTS: [AtomicU64; WAYS] = [const { AtomicU64::new(0) }; WAYS];
static BYTES: [AtomicU64; WAYS] = [const { AtomicU64::new(0) }; WAYS];
static WARNED: [AtomicBool; WAYS] = [const { AtomicBool::new(false) }; WAYS];
/// Whether all ranks of `MPI_COMM_WORLD` know that a sum is wanted.
static SUM: AtomicBool = AtomicBool::new(false);

/// Counts a broadcast by multicast.
pub fn count_multicast(bytes: u64) {
    count(0, bytes);
}

/// Counts a broadcast by MPI's own.
pub fn count_passed(reason: Reason, bytes: u64) {
    count(1 + reason.index(), bytes);
}

fn count(way: usize, bytes: u64) {
    BROADCASTS[way].fetch_add(1, Ordering::Relaxed);
    BYTES[way].fetch_add(bytes, Ordering::Relaxed);
}

/// Says once for each reason why broadcasts go by MPI's own: by one rank of the communicator, which `says` it. The others
/// then know that it was said, and do not say it again of a part of them.
pub fn warn(reason: Reason, what: &str, says: bool) {
    let was_said = WARNED[1 + reason.index()].swap(true, Ordering::Relaxed);
    if says && !was_said && reason.is_worth_a_warning() {
        say(&format!("broadcasts go by MPI's own: {}: {what}", reason.text()));
    }
}

/// Writes a line to stderr, as a whole.
pub fn say(what: &str) {
    // Nobody is left to be told of an error here.
    let _ = io::stderr().write_all(format!("{}\n", line(what)).as_bytes());
}

/// Writes a line to where the environment wants what was counted, if it does: the program is told in another way.
pub fn note(what: &str) {
    publish(&[what.to_owned()], &Settings::get().report);
}

/// One line, which says whose it is.
pub fn line(what: &str) -> String {
    let lines: Vec<_> = what.lines().map(str::trim).collect();
    format!("verbcast: {}", lines.join("; "))
}

fn publish(lines: &[String], to: &Report) {
    let path = match to {
        Report::None => return,
        Report::Stderr => return lines.iter().for_each(|what| say(what)),
        Report::File(path) => path,
    };
    // In one piece, as all ranks may write to the same file.
    let text: String = lines.iter().map(|what| line(what) + "\n").collect();
    let opened = File::options().append(true).create(true).open(path);
    if let Err(error) = opened.and_then(|mut file| file.write_all(text.as_bytes())) {
        say(&format!("VERBCAST_STATS: cannot write to {}: {error}", path.display()));
    }
}

/// Takes note that all ranks of `MPI_COMM_WORLD` know that one of them wants statistics.
pub fn sum_is_wanted() {
    SUM.store(true, Ordering::Relaxed);
}

/// Whether anybody here wants to know.
pub fn is_wanted() -> bool {
    Settings::get().report != Report::None
}

/// Broadcasts by multicast, and by MPI's own.
pub struct Ways {
    pub multicast: u64,
    pub multicast_bytes: u64,
    pub passed: u64,
    pub passed_bytes: u64,
}

/// How many went which way so far.
pub fn ways() -> Ways {
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let sum = |counters: &[AtomicU64]| counters.iter().map(read).sum();
    Ways {
        multicast: read(&BROADCASTS[0]),
        multicast_bytes: read(&BYTES[0]),
        passed: sum(&BROADCASTS[1..]),
        passed_bytes: sum(&BYTES[1..]),
    }
}

/// What was counted, in numbers that add up over ranks.
fn counted() -> Vec<u64> {
    let read = |counters: &[AtomicU64]| -> Vec<u64> {
        counters.iter().map(|counter| counter.load(Ordering::Relaxed)).collect()
    };
    [read(&BROADCASTS), read(&BYTES), totals::counted()].concat()
}

/// The lines about `counted`, each of which begins with `who`.
fn lines(who: &str, counted: &[u64]) -> Vec<String> {
    let (broadcasts, rest) = counted.split_at(WAYS);
    let (bytes, totals) = rest.split_at(WAYS);
    let (all, passed) = (broadcasts.iter().sum::<u64>(), broadcasts[1..].iter().sum::<u64>());
    let by_multicast = broadcasts[0];
    let mut first = format!(
        "{who}: {all} broadcasts, {by_multicast} by multicast, {passed} by MPI, {} bytes",
        bytes.iter().sum::<u64>()
    );
    if all == 0 {
        first = format!("{who}: 0 broadcasts");
    }
    let mut lines = vec![first];
    if by_multicast > 0 {
        let mut line = format!("{who}: multicast: {by_multicast} broadcasts, {} bytes", bytes[0]);
        for (name, total) in totals::NAMES.iter().zip(totals) {
            // Writing to a String does not fail.
            let _ = write!(line, ", {total} {name}");
        }
        lines.push(line);
    }
    for (way, reason) in (1..).zip(Reason::ALL) {
        let (broadcasts, bytes) = (broadcasts[way], bytes[way]);
        if broadcasts > 0 {
            let reason = reason.text();
            lines.push(format!("{who}: MPI, {reason}: {broadcasts} broadcasts, {bytes} bytes"));
        }
    }
    lines
}

/// Prints what was counted, where the environment wants it, and the sum and what held the job up at rank 0 where all know
/// that it is wanted. Collective over `MPI_COMM_WORLD` then.
///
/// # Safety
/// MPI is initialised and not finalised.
pub unsafe fn report() {
    let own = counted();
    let mut sum = own.clone();
    let (mut rank, mut size) = (0, 0);
    let is_summed = SUM.load(Ordering::Relaxed);
    let mut summaries = vec![totals::summary().emit()];
    // SAFETY: promised by the caller; both buffers have as many numbers as are summed.
    unsafe {
        let world = ffi::RSMPI_COMM_WORLD;
        ffi::PMPI_Comm_rank(world, &mut rank);
        ffi::PMPI_Comm_size(world, &mut size);
        if is_summed {
            let (from, to) = (own.as_ptr().cast(), sum.as_mut_ptr().cast::<c_void>());
            let (len, kind, add) = (own.len() as c_int, ffi::RSMPI_UINT64_T, ffi::RSMPI_SUM);
            ffi::PMPI_Reduce(from, to, len, kind, add, 0, world);
            let own = summaries[0];
            summaries.resize(if rank == 0 { size as usize } else { 1 }, own);
            let (from, to, words) = (own.as_ptr().cast(), summaries.as_mut_ptr(), WORDS as c_int);
            ffi::PMPI_Gather(from, words, kind, to.cast::<c_void>(), words, kind, 0, world);
        }
    }
    let to = &Settings::get().report;
    let who = format!("rank {rank}");
    let mut said = lines(&who, &own);
    if own[0] > 0 {
        said.push(format!("{who}: adapter: {}", adapter::in_words()));
        said.push(format!("{who}: ring: {}", place::in_words()));
    }
    publish(&said, to);
    if rank == 0 && is_summed {
        let mut said = lines("all ranks", &sum);
        said.extend(held_up(&sum, &summaries));
        // Another rank may be the one that wants it.
        publish(&said, if is_wanted() { to } else { &Report::Stderr });
    } else if size == 1 {
        publish(&lines("all ranks", &sum), to);
    }
}

/// What held up all ranks, if there were broadcasts by multicast: the others are MPI's to speak of.
fn held_up(sum: &[u64], summaries: &[[u64; WORDS]]) -> Vec<String> {
    if sum[0] == 0 {
        return Vec::new();
    }
    let summaries: Vec<_> = summaries.iter().map(Summary::parse).collect();
    let sentences = verdict::sentences(&summaries);
    sentences.into_iter().map(|what| format!("what held it up: {what}")).collect()
}

/// A number that no other communicator has, most likely: none of its ranks has drawn it before.
pub fn draw() -> u64 {
    let mut bytes = [0; 8];
    if getrandom::fill(&mut bytes).is_err() {
        // Two of the same only make their order less certain.
        let address = ptr::from_ref(&bytes) as u64;
        return address ^ u64::from(std::process::id());
    }
    u64::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Reason, WAYS, lines, totals};

    #[test]
    fn a_line_for_each_way_that_was_taken() {
        let mut counted = vec![0; 2 * WAYS + totals::NAMES.len()];
        assert_eq!(lines("rank 1", &counted), ["rank 1: 0 broadcasts"]);
        (counted[0], counted[WAYS]) = (3, 300);
        let one_rank = 1 + Reason::OneRank.index();
        (counted[one_rank], counted[WAYS + one_rank]) = (2, 8);
        counted[2 * WAYS] = 5;
        let lines = lines("all ranks", &counted);
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0], "all ranks: 5 broadcasts, 3 by multicast, 2 by MPI, 308 bytes");
        let begins = "all ranks: multicast: 3 broadcasts, 300 bytes, 5 packets multicast, ";
        assert!(lines[1].starts_with(begins), "{}", lines[1]);
        assert_eq!(lines[2], "all ranks: MPI, one rank: 2 broadcasts, 8 bytes");
    }
}
