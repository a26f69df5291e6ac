//! The counters of all broadcasters that this process has had, together.

use super::state::State;
use super::summary::{Awaited, Summary};
use mpi::ffi;
use multicast::broadcast::WaitedFor;
use multicast::mpi::Link;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use verbcast_core::driver::Statistics;
use verbcast_core::rank::Rank;

/// What is counted.
pub const NAMES: [&str; 9] = [
    "packets multicast",
    "received",
    "lost",
    "repaired",
    "reliable messages",
    "fetches",
    "foreign packets",
    "damaged",
    "fragments in place",
];

/// The counters of those that have ended, and how long they waited for which ranks of `MPI_COMM_WORLD`.
#[derive(Default)]
struct Totals {
    counters: Statistics,
    awaited: BTreeMap<u32, WaitedFor>,
}

static TOTALS: Mutex<Option<Totals>> = Mutex::new(None);

fn totals() -> MutexGuard<'static, Option<Totals>> {
    TOTALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds what a broadcaster that has no communicator any more has counted.
pub fn add(statistics: &Statistics) {
    totals().get_or_insert_default().counters += *statistics;
}

/// Adds how long it waited for which ranks of its communicator, of those that are in `MPI_COMM_WORLD`.
///
/// # Safety
/// MPI runs, and the calling thread may call it.
pub unsafe fn add_waits(link: &Link, waited_for: impl Iterator<Item = (Rank, WaitedFor)>) {
    let (ranks, times): (Vec<c_int>, Vec<_>) =
        waited_for.map(|(rank, time)| (rank.0 as c_int, time)).unzip();
    if ranks.is_empty() {
        return;
    }
    let undefined = ffi::MPI_UNDEFINED as c_int;
    let mut in_world = vec![undefined; ranks.len()];
    // SAFETY: promised by the caller; there is room for as many ranks as are given, and the groups are freed once.
    unsafe {
        let (mut own, mut world) = (ffi::RSMPI_GROUP_NULL, ffi::RSMPI_GROUP_NULL);
        ffi::PMPI_Comm_group(link.comm(), &mut own);
        ffi::PMPI_Comm_group(ffi::RSMPI_COMM_WORLD, &mut world);
        let (count, to) = (ranks.len() as c_int, in_world.as_mut_ptr());
        ffi::PMPI_Group_translate_ranks(own, count, ranks.as_ptr(), world, to);
        ffi::PMPI_Group_free(&mut own);
        ffi::PMPI_Group_free(&mut world);
    }
    let mut totals = totals();
    let awaited = &mut totals.get_or_insert_default().awaited;
    for (rank, time) in in_world.into_iter().zip(times) {
        if rank != undefined {
            let waited = awaited.entry(rank as u32).or_default();
            waited.time += time.time;
            waited.first += time.first;
        }
    }
}

/// The sums so far.
pub fn counted() -> Vec<u64> {
    let counters = sum();
    let counted: [u64; NAMES.len()] = [
        counters.multicast_sent,
        counters.multicast_received,
        counters.lost,
        counters.repaired,
        counters.reliable_sent,
        counters.fetches,
        counters.foreign,
        counters.damaged,
        counters.received_in_place,
    ];
    counted.to_vec()
}

/// The sums of those that have ended.
fn sum() -> Statistics {
    totals().as_ref().map_or_else(Statistics::default, |totals| totals.counters)
}

/// The states whose broadcasters have not ended.
static ALIVE: Mutex<Vec<Weak<State>>> = Mutex::new(Vec::new());

/// A state has been made.
pub fn note(state: &Arc<State>) {
    let mut alive = ALIVE.lock().unwrap_or_else(PoisonError::into_inner);
    alive.retain(|one| one.strong_count() > 0);
    alive.push(Arc::downgrade(state));
}

/// Held while counters become those of a broadcaster that has ended, and while all are read: so each is read once.
static ENDING: Mutex<()> = Mutex::new(());

/// Takes what has broadcast out of its place. From now on its counters are among those that have ended.
pub fn take<T>(
    place: &mut Option<T>,
    statistics: impl FnOnce(&T) -> Statistics,
) -> Option<(T, Statistics)> {
    let _ending = ENDING.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = place.take()?;
    let counted = statistics(&taken);
    add(&counted);
    Some((taken, counted))
}

/// The sums of all, also of those that have not ended.
pub fn now() -> Statistics {
    let _ending = ENDING.lock().unwrap_or_else(PoisonError::into_inner);
    let alive = ALIVE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let alive: Vec<_> = alive.iter().filter_map(Weak::upgrade).collect();
    let counters: Statistics = alive.iter().map(|state| state.statistics()).sum();
    let mut all = sum();
    all += counters;
    all
}

/// This host's name.
pub fn host() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    host.trim().replace('/', "_")
}

/// The device of the first broadcaster, once there is one.
static DEVICE: OnceLock<String> = OnceLock::new();

/// A broadcaster uses a device.
pub fn note_device(device: &str) {
    DEVICE.get_or_init(|| device.to_owned());
}

/// The device that this process uses, if any.
pub fn device() -> Option<String> {
    DEVICE.get().cloned()
}

/// What this rank says of what held it up.
pub fn summary() -> Summary {
    let totals = totals();
    let awaited = totals.iter().flat_map(|totals| &totals.awaited);
    let awaited = awaited.map(|(rank, waited)| Awaited {
        rank: *rank,
        micros: waited.time.as_micros() as u64,
        first: waited.first.as_micros() as u64,
    });
    let awaited = awaited.collect();
    let counters = totals.as_ref().map_or_else(Statistics::default, |totals| totals.counters);
    Summary {
        host: host(),
        received: counters.multicast_received,
        lost: counters.lost,
        ran_out: counters.receives_ran_out,
        in_calls: counters.in_calls_us,
        waited: counters.waited_us,
        awaited,
        outage: counters.port_down_ms + counters.rejoin_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_ends_is_counted_once_while_nobody_reads() {
        let statistics = |lost: &u64| {
            assert!(ENDING.try_lock().is_err(), "a reader would have it twice or not at all");
            Statistics { lost: *lost, ..Statistics::default() }
        };
        let before = sum().lost;
        let mut place = Some(7);
        let (taken, counted) = take(&mut place, statistics).unwrap();
        assert_eq!((taken, counted.lost, sum().lost - before), (7, 7, 7));
        assert!(take(&mut place, statistics).is_none());
        assert_eq!(sum().lost - before, 7);
    }
}
