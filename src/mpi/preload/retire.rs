//! Broadcasters whose communicator is gone, and that others may still need.
//!
//! A rank may free a communicator while others compute before their last broadcast there, for as long as
//! they like. So its broadcaster stays, on a thread of its own that calls no MPI, until nothing is owed.

use super::slot::Slot;
use super::tally;
use super::totals;
use crate::broadcast::{Broadcaster, Error};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often those that are left are looked at.
const LOOK: Duration = Duration::from_millis(1);

static RETIRING: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

fn retiring() -> MutexGuard<'static, Vec<JoinHandle<()>>> {
    RETIRING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a broadcaster leave when nothing is owed any more, and give its slot back.
pub fn retire(mut broadcaster: Broadcaster, slot: Slot, has_failed: bool) {
    broadcaster.while_waiting(|| ());
    let leave = move || {
        let rank = broadcaster.rank();
        let flushed = if has_failed { Ok(()) } else { broadcaster.flush() };
        totals::add(&broadcaster.statistics());
        let left = flushed.and_then(|()| broadcaster.close());
        if let (Err(error), false) = (left, has_failed) {
            complain(rank.0, &error);
        }
        drop(slot);
    };
    let mut retiring = retiring();
    retiring.retain(|thread| !thread.is_finished());
    retiring.push(without_signals(|| thread::spawn(leave)));
}

fn complain(rank: u32, error: &Error) {
    tally::say(&format!("rank {rank} of a communicator that was freed: {error}"));
}

/// Waits for all of them, and calls `meanwhile` again and again.
pub fn wait(meanwhile: impl Fn()) {
    loop {
        let Some(thread) = retiring().pop() else { return };
        while !thread.is_finished() {
            meanwhile();
            thread::sleep(LOOK);
        }
        // A panic there has said what there was to say.
        let _ = thread.join();
    }
}

/// Starts threads that no signal is delivered to, so that the program's handlers run where it expects.
pub fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are written before they are read, and what was masked before is again.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let started = start();
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
        started
    }
}
