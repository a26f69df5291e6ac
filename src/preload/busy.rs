//! The communicators with non-blocking broadcasts, and what brings these forward.
//!
//! The program's own threads do so whenever they are in MPI; only they complete requests. While they are not, a thread
//! of this library's serves the other ranks, and calls no MPI.

use super::listed::Counted;
use super::roster::Roster;
use super::state::State;
use super::threads;
use multicast::mpi::Progress;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

/// How long the program may be away before the other ranks are served.
const AWAY: Duration = Duration::from_millis(1);
/// Looks of a waiting program before it sleeps between them, and how long.
const LOOKS: u32 = 50;
const NAP: Duration = Duration::from_micros(50);

/// How often the program has been here.
static VISITS: AtomicU64 = AtomicU64::new(0);
static BUSY: LazyLock<Roster<State>> = LazyLock::new(Roster::new);

impl Counted for State {
    fn in_flight(&self) -> usize {
        State::in_flight(self)
    }
}

/// A communicator has one more, which it has counted.
pub fn add(state: &Arc<State>) {
    // It ends with the process, and holds nothing that must be freed.
    BUSY.add(state, || threads::start("verbcast-serve", serve));
}

/// Brings all forward, and returns how many requests it has completed.
///
/// # Safety
/// MPI runs, and the calling thread may call it.
pub unsafe fn advance() -> c_int {
    if !BUSY.is_any() {
        return 0;
    }
    VISITS.fetch_add(1, Ordering::Relaxed);
    let states = BUSY.all();
    // SAFETY: promised by the caller.
    let completed = states.iter().map(|state| unsafe { state.advance() }).sum();
    if completed > 0 {
        BUSY.prune();
    }
    completed
}

/// Brings all forward until something holds, and lets MPI make progress meanwhile.
///
/// # Safety
/// As [`advance`].
pub unsafe fn until(holds: impl Fn() -> bool, mpi: Progress) {
    let mut looks = 0;
    while !holds() {
        // SAFETY: promised by the caller.
        let completed = unsafe { advance() };
        mpi.run();
        looks = if completed > 0 { 0 } else { looks + 1 };
        match looks {
            0..LOOKS => thread::yield_now(),
            _ => thread::sleep(NAP),
        }
    }
}

/// Serves the other ranks while the program is away.
fn serve() {
    /// However it ends, another thread may be started.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            BUSY.leave();
        }
    }
    let _end = End;
    let mut visits = 0;
    loop {
        let states = BUSY.wait();
        let before = visits;
        visits = VISITS.load(Ordering::Relaxed);
        if visits == before {
            for state in states {
                state.serve();
            }
        }
        thread::sleep(AWAY);
    }
}
