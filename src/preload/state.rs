//! What hangs on a communicator.

use super::active::{Active, Ended, NotDone};
use super::alone::Alone;
use super::busy;
use super::call::Call;
use super::codes::Codes;
use super::reason::Reason;
use super::set_up::{Decision, prepare_further, set_up_further};
use super::tally;
use super::totals;
use mpi::ffi::{self, MPI_Request};
use multicast::bootstrap::Bootstrap;
use multicast::mpi::Error;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use verbcast_core::driver::Statistics;

const SUCCESS: c_int = ffi::MPI_SUCCESS as c_int;

/// What hangs on a communicator: the way that all its broadcasts take.
pub struct State {
    /// The same at all ranks, and another for each communicator.
    pub number: u64,
    way: Result<Mutex<Option<Active>>, Reason>,
    /// Non-blocking broadcasts go the same way.
    has_hooks: bool,
    /// Non-blocking broadcasts that have not ended.
    in_flight: AtomicUsize,
    /// What its broadcaster had counted when it was last looked at.
    counted: Mutex<Statistics>,
    /// Who looked found another thread broadcasting, which is to tell when it has.
    is_asked: AtomicBool,
    codes: Codes,
    alone: Alone,
}

// SAFETY: handles name the same objects in all threads; which of them may call MPI is for the program to keep to,
// whose calls bring us here.
unsafe impl Send for State {}
// SAFETY: the same, and what changes is behind a lock.
unsafe impl Sync for State {}

impl State {
    /// What was decided.
    pub fn new(decision: Decision, codes: Codes, alone: Alone) -> Self {
        let Decision { way, has_hooks, number } = decision;
        let way = way.map(|made| Mutex::new(Some(Active::new(made))));
        let (in_flight, counted) = (AtomicUsize::new(0), Mutex::default());
        let is_asked = AtomicBool::new(false);
        State { number, way, has_hooks, in_flight, counted, is_asked, codes, alone }
    }

    /// Broadcasts, and returns what the program's call is to return.
    ///
    /// # Safety
    /// As for `MPI_Bcast`.
    pub unsafe fn broadcast(&self, call: &Call) -> c_int {
        let active = match &self.way {
            // SAFETY: promised by the caller.
            Err(reason) => return unsafe { pass(call, *reason) },
            Ok(active) => active,
        };
        // SAFETY: promised by the caller.
        unsafe {
            self.finish();
            let mut held = lock(active);
            let outcome = unwrap(&mut held).broadcast(call, &self.codes, self.alone.comm);
            if self.is_asked.load(Ordering::Relaxed) {
                self.answer(unwrap(&mut held));
            }
            drop(held);
            // The lock is free again: an error handler may free the communicator.
            match outcome {
                Ok(()) => {
                    tally::count_multicast(call.bytes());
                    SUCCESS
                }
                Err(NotDone::ByMpi(reason)) => pass(call, reason),
                Err(NotDone::Failed(code)) => call.raise(code),
            }
        }
    }

    /// Begins to broadcast, makes the program's request, and returns what its call is to return.
    ///
    /// # Safety
    /// As for `MPI_Ibcast`.
    pub unsafe fn begin(self: &Arc<Self>, call: &Call, request: *mut MPI_Request) -> c_int {
        // SAFETY: promised by the caller.
        unsafe {
            if let Err(reason) = self.later(Reason::NonBlocking) {
                return pass_non_blocking(call, request, reason);
            }
            match self.start(call, request) {
                Ok(()) => SUCCESS,
                Err(NotDone::ByMpi(reason)) => pass_non_blocking(call, request, reason),
                Err(NotDone::Failed(code)) => call.raise(code),
            }
        }
    }

    /// The way of broadcasts that a later call of the program's completes: multicast, or why by MPI's own, which is
    /// `unhooked` where MPI does not call this library meanwhile.
    fn later(&self, unhooked: Reason) -> Result<&Mutex<Option<Active>>, Reason> {
        match &self.way {
            Ok(active) if self.has_hooks => Ok(active),
            Ok(_) => Err(unhooked),
            Err(reason) => Err(*reason),
        }
    }

    /// Begins to broadcast, and makes the program's request.
    ///
    /// # Errors
    /// If the arguments are wrong, or MPI makes no request.
    ///
    /// # Safety
    /// As for `MPI_Ibcast`; broadcasts of this state do not go by MPI's own.
    pub unsafe fn start(
        self: &Arc<Self>,
        call: &Call,
        request: *mut MPI_Request,
    ) -> Result<(), NotDone> {
        let active = self.way.as_ref().map_err(|reason| NotDone::ByMpi(*reason))?;
        let mut held = lock(active);
        // SAFETY: promised by the caller.
        unsafe { unwrap(&mut held).begin(call, request, &self.codes, self.alone) }?;
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        drop(held);
        busy::add(self);
        Ok(())
    }

    /// Another state of the same ranks, for a broadcast whose order among the others only its own ranks'
    /// requests know; or why it goes by MPI's own. It has no communicator of MPI's, and takes one exchange. Collective.
    ///
    /// # Errors
    /// If MPI fails.
    ///
    /// # Safety
    /// MPI runs, and the calling thread may call it.
    pub unsafe fn another(&self) -> Result<Result<Arc<State>, Reason>, Error> {
        let (link, prepared) = match self.later(Reason::Persistent) {
            Ok(active) => {
                let mut held = lock(active);
                let active = unwrap(&mut held);
                (active.link().clone(), prepare_further(active.member_mut()))
            }
            Err(reason) => return Ok(Err(reason)),
        };
        // The lock is free again: what is in flight goes on while this waits for the others.
        let way = set_up_further(link, prepared)?;
        let State { number, has_hooks, .. } = *self;
        let made = |made| {
            State::new(Decision { way: Ok(made), has_hooks, number }, self.codes, self.alone)
        };
        Ok(way.map(|way| {
            let state = Arc::new(made(way));
            totals::note(&state);
            state
        }))
    }

    /// Whether the table leaves a broadcast to MPI: the same at every rank.
    ///
    /// # Safety
    /// MPI has taken the arguments.
    pub unsafe fn leaves_to_mpi(&self, call: &Call) -> bool {
        let Ok(active) = &self.way else { return true };
        // SAFETY: promised by the caller.
        unsafe { unwrap(&mut lock(active)).leaves_to_mpi(call) }
    }

    /// Tells the program of an error that its call met, and returns what the call is to return.
    ///
    /// # Safety
    /// The call's communicator is valid.
    pub unsafe fn raise(&self, call: &Call, error: &Error) -> c_int {
        // SAFETY: promised by the caller.
        unsafe { call.raise(self.codes.of(error, &format!("MPI_Bcast failed: {error}"))) }
    }

    /// MPI has refused a call of the program's here, with this code; the other ranks are told.
    ///
    /// # Safety
    /// MPI runs, and the calling thread may call it.
    pub unsafe fn refuse(&self, call: &Call, code: c_int) {
        let Ok(active) = &self.way else { return };
        let mut held = lock(active);
        let active = unwrap(&mut held);
        let refusal = call.refused(code, active.link().size());
        // SAFETY: promised by the caller.
        unsafe { active.refuse(refusal, &self.codes) };
    }

    /// Non-blocking broadcasts that have not ended.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Acquire)
    }

    /// Brings what is in flight forward, and returns how many requests are complete now. Does nothing while
    /// another thread does.
    ///
    /// # Safety
    /// MPI runs, and the calling thread may call it.
    pub unsafe fn advance(&self) -> c_int {
        let Some(mut held) = self.try_lock() else { return 0 };
        let Some(active) = &mut *held else { return 0 };
        // SAFETY: promised by the caller; each request is completed once.
        unsafe {
            let Ended { complete, lost } = active.advance(&self.codes);
            let failed = active.failed().unwrap_or(SUCCESS);
            drop(held);
            let ended = complete.len() + lost.len();
            complete.into_iter().for_each(|promise| promise.complete(SUCCESS));
            lost.into_iter().for_each(|promise| promise.complete(failed));
            self.in_flight.fetch_sub(ended, Ordering::AcqRel);
            ended as c_int
        }
    }

    /// Serves the other ranks, without a call of MPI.
    pub fn serve(&self) {
        if let Some(active) = self.try_lock().as_deref_mut().and_then(Option::as_mut) {
            active.serve();
        }
    }

    /// What its broadcaster has counted; nothing when it has left. While another thread broadcasts, what it was when that
    /// was last asked for and a broadcast ended.
    pub fn statistics(&self) -> Statistics {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        match self.try_lock() {
            Some(held) => {
                *counted = held.as_ref().map_or_else(Statistics::default, Active::statistics);
            }
            None => self.is_asked.store(true, Ordering::Relaxed),
        }
        *counted
    }

    /// Tells what was counted, for those who could not look.
    fn answer(&self, active: &Active) {
        self.is_asked.store(false, Ordering::Relaxed);
        // Whoever looks now may have this, and waits for nobody.
        if let Ok(mut counted) = self.counted.try_lock() {
            *counted = active.statistics();
        }
    }

    /// Frees everything. Collective.
    ///
    /// # Safety
    /// MPI runs, and the calling thread may call it.
    pub unsafe fn leave(&self) {
        let Ok(active) = &self.way else { return };
        // SAFETY: promised by the caller.
        unsafe { self.finish() };
        let taken = totals::take(&mut lock(active), Active::statistics);
        if let Some((active, counted)) = taken {
            // SAFETY: the same.
            unsafe { active.leave(counted) };
        }
    }

    /// Whether everything is freed, as the communicator is.
    pub fn has_left(&self) -> bool {
        self.way.as_ref().is_ok_and(|active| lock(active).is_none())
    }

    /// Returns when nothing is in flight. The lock is free in between, so that other threads' requests are completed.
    ///
    /// # Safety
    /// MPI runs, and the calling thread may call it.
    unsafe fn finish(&self) {
        // SAFETY: promised by the caller.
        unsafe { busy::until(|| self.in_flight() == 0, self.alone.progress) };
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Option<Active>>> {
        match self.way.as_ref().ok()?.try_lock() {
            Ok(held) => Some(held),
            Err(TryLockError::Poisoned(held)) => Some(held.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

fn lock(active: &Mutex<Option<Active>>) -> MutexGuard<'_, Option<Active>> {
    active.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unwrap(held: &mut Option<Active>) -> &mut Active {
    held.as_mut().expect("the communicator was freed during a broadcast")
}

/// Has MPI's own function do it, and counts why.
///
/// # Safety
/// As for `MPI_Bcast`.
pub unsafe fn pass(call: &Call, reason: Reason) -> c_int {
    // SAFETY: promised by the caller.
    unsafe { count(call, call.pass(), reason) }
}

/// Has MPI's own function begin it, and counts why.
///
/// # Safety
/// As for `MPI_Ibcast`.
pub unsafe fn pass_non_blocking(call: &Call, request: *mut MPI_Request, reason: Reason) -> c_int {
    // SAFETY: promised by the caller.
    unsafe { count(call, call.pass_non_blocking(request), reason) }
}

/// Counts what MPI's own function has done.
///
/// # Safety
/// Where the code says that MPI has taken the call's arguments, it has.
unsafe fn count(call: &Call, code: c_int, reason: Reason) -> c_int {
    // SAFETY: where MPI has taken the arguments, the type is one.
    let bytes = if code == SUCCESS { unsafe { call.bytes() } } else { 0 };
    tally::count_passed(reason, bytes);
    code
}
