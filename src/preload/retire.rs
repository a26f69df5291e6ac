//! Broadcasters whose communicator is gone, and that others may still need.
//!
//! A rank may free a communicator while others compute before their last broadcast there, for as long as
//! they like. So its broadcaster stays, with a thread for all of them that calls no MPI, until nothing is
//! owed.

use super::attendance::Attendance;
use super::slot::Slot;
use super::tally;
use super::threads;
use super::totals;
use multicast::broadcast::{Broadcaster, Error};
use std::mem;
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;
use verbcast_core::driver::Statistics;

/// How often those that are left are looked at: soon after there was something to do, and later.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LAST_LOOK: Duration = Duration::from_millis(16);

static RETIRING: LazyLock<Attendance<Retired>> = LazyLock::new(Attendance::new);

/// A broadcaster whose communicator is gone.
struct Retired {
    broadcaster: Broadcaster,
    /// What was added to the totals of its counters.
    counted: Statistics,
    has_failed: bool,
    /// Given back when it has left.
    _slot: Slot,
}

/// Has a broadcaster, of which so much is counted already, leave when nothing is owed any more, and give its slot back.
pub fn retire(mut broadcaster: Broadcaster, counted: Statistics, slot: Slot, has_failed: bool) {
    broadcaster.while_waiting(|| ());
    let retired = Retired { broadcaster, counted, has_failed, _slot: slot };
    // Where no thread can be started, they wait for the next one, or for the end.
    RETIRING.hand(retired, || threads::start("verbcast-retire", || attend(|| ())));
}

/// Attends to all of them until none is left, and calls `meanwhile` again and again. None may wait for another: ranks come
/// back to them in an order of their own.
fn attend(meanwhile: impl Fn()) {
    /// However it ends, another thread may be started.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            RETIRING.leave();
        }
    }
    let end = End;
    let mut all = Vec::new();
    let mut pause = FIRST_LOOK;
    loop {
        let known = all.len();
        if !RETIRING.take(&mut all) {
            mem::forget(end);
            return;
        }
        let to_attend = all.len();
        all = all.into_iter().filter_map(Retired::attend).collect();
        pause = match to_attend == known && all.len() == known {
            true => (2 * pause).min(LAST_LOOK),
            false => FIRST_LOOK,
        };
        meanwhile();
        thread::sleep(pause);
    }
}

impl Retired {
    /// Does what is due, and leaves if nothing more is owed.
    fn attend(mut self) -> Option<Self> {
        let settled = if self.has_failed { Ok(true) } else { self.broadcaster.is_settled() };
        if matches!(settled, Ok(false)) {
            return Some(self);
        }
        let Retired { broadcaster, counted, has_failed, .. } = self;
        let rank = broadcaster.rank();
        totals::add(&broadcaster.statistics().since(counted));
        let left = settled.and_then(|_| broadcaster.close());
        if let (Err(error), false) = (left, has_failed) {
            complain(rank.0, &error);
        }
        None
    }
}

/// The program cannot be told any more. The rank that failed has told of that.
fn complain(rank: u32, error: &Error) {
    let what = format!("rank {rank} of a communicator that was freed: {error}");
    match error {
        Error::Failed(_) => tally::note(&what),
        _ => tally::say(&what),
    }
}

/// Waits for all of them, and calls `meanwhile` again and again.
pub fn wait(meanwhile: impl Fn()) {
    while RETIRING.is_attended() {
        meanwhile();
        thread::sleep(FIRST_LOOK);
    }
    // Those that no thread could be started for.
    attend(meanwhile);
}
