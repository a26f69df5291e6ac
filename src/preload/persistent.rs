//! Persistent broadcasts (MPI 4.0, section 6.13).
//!
//! Ranks may start those of one communicator in different orders, so each has a `State` of its own.
//! The program's request is MPI's own persistent one, made by `MPI_Bcast_init`, which is never started: in what the
//! program gives to MPI, a non-blocking one's request stands for it while the broadcast is active, and none while it
//! is not.

use super::active::NotDone;
use super::call::Call;
use super::library::{Word, word};
use super::own_type::OwnType;
use super::reason::Reason;
use super::state::State;
use super::tally;
use mpi::ffi::{self, MPI_Request};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const SUCCESS: c_int = ffi::MPI_SUCCESS as c_int;

/// How many there are, for those who would not take a lock to find out.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// All of them, by their requests.
static ALL: Mutex<BTreeMap<Word, Arc<Persistent>>> = Mutex::new(BTreeMap::new());

/// A persistent broadcast.
pub struct Persistent {
    call: Call,
    bytes: u64,
    /// Where it is started, or why by MPI's own.
    way: Result<Channel, Reason>,
    /// What stands for its request while it is active.
    active: Mutex<Option<MPI_Request>>,
}

/// Where a broadcast is started that goes by multicast.
struct Channel {
    state: Arc<State>,
    /// That of the program's communicator, which may be freed before.
    communicator: Arc<State>,
    /// The call's type.
    _own: OwnType,
}

// SAFETY: handles and addresses of the program's buffers mean the same in all threads; which of them may call MPI is
// for the program to keep to, whose calls bring us here.
unsafe impl Send for Persistent {}
// SAFETY: the same, and what changes is behind a lock.
unsafe impl Sync for Persistent {}

fn all() -> MutexGuard<'static, BTreeMap<Word, Arc<Persistent>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prepares a broadcast to go the way that its ranks have decided on: by a state of its own, beside that of its
/// communicator. Returns what the program's call is to return.
///
/// # Safety
/// As for `MPI_Bcast_init`.
pub unsafe fn prepare(
    call: &Call,
    info: Word,
    request: *mut MPI_Request,
    way: Result<(Arc<State>, Arc<State>), Reason>,
) -> c_int {
    // SAFETY: promised by the caller; where MPI has taken the arguments, the type is one.
    unsafe {
        let code = call.pass_persistent(info, request);
        if code != SUCCESS {
            if let Ok((state, _)) = &way {
                state.refuse(call, code);
                state.leave();
            }
            tally::count_passed(Reason::Refused, 0);
            return code;
        }
        let bytes = call.bytes();
        let mut call = *call;
        let way = match way {
            // Only now is it known to be as long at every rank.
            Ok((state, communicator)) if communicator.leaves_to_mpi(&call) => {
                state.leave();
                Err(Reason::Table)
            }
            Ok((state, communicator)) => match OwnType::copy_of(call.datatype) {
                Ok(own) => {
                    call.datatype = own.get();
                    Ok(Channel { state, communicator, _own: own })
                }
                Err(error) => {
                    ffi::PMPI_Request_free(request);
                    state.refuse(&call, error.code);
                    state.leave();
                    return state.raise(&call, &error.into());
                }
            },
            Err(reason) => Err(reason),
        };
        let made = Persistent { call, bytes, way, active: Mutex::new(None) };
        all().insert(word(*request), Arc::new(made));
        COUNT.fetch_add(1, Ordering::Release);
    }
    SUCCESS
}

/// Whether there are any.
pub fn is_any() -> bool {
    COUNT.load(Ordering::Acquire) > 0
}

/// The broadcast of a request, if it is one's.
pub fn of(request: MPI_Request) -> Option<Arc<Persistent>> {
    all().get(&word(request)).cloned()
}

/// Forgets the broadcast of a request that is freed, if it is one's.
///
/// # Safety
/// The calling thread may call MPI.
pub unsafe fn free(request: MPI_Request) {
    let freed = all().remove(&word(request));
    if let Some(freed) = freed {
        COUNT.fetch_sub(1, Ordering::Release);
        // SAFETY: promised by the caller.
        unsafe { freed.leave() };
    }
}

/// Forgets all that the program has not freed.
///
/// # Safety
/// MPI still runs, and the calling thread may call it.
pub unsafe fn leave() {
    let left = std::mem::take(&mut *all());
    COUNT.store(0, Ordering::Release);
    for one in left.into_values() {
        // SAFETY: promised by the caller.
        unsafe { one.leave() };
    }
}

impl Persistent {
    fn active(&self) -> MutexGuard<'_, Option<MPI_Request>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What stands for the request, unless it is MPI's: a request, or none while the broadcast is inactive, of which
    /// MPICH 4.0 knows only for its point-to-point requests.
    pub fn stand_in(&self) -> Option<MPI_Request> {
        // SAFETY: a constant of MPI's.
        let none = unsafe { ffi::RSMPI_REQUEST_NULL };
        self.way.as_ref().ok().map(|_| self.active().unwrap_or(none))
    }

    /// The broadcast is complete, as MPI has told the program.
    pub fn complete(&self) {
        *self.active() = None;
    }

    /// Starts it, and returns what the program's call is to return.
    ///
    /// # Safety
    /// As for `MPI_Start` of its request.
    pub unsafe fn start(&self, request: *mut MPI_Request) -> c_int {
        // SAFETY: promised by the caller.
        unsafe {
            let channel = match &self.way {
                Ok(channel) => channel,
                Err(reason) => {
                    tally::count_passed(*reason, self.bytes);
                    return ffi::PMPI_Start(request);
                }
            };
            let mut active = self.active();
            if active.is_some() {
                drop(active);
                return channel.raise(&self.call, ffi::MPI_ERR_REQUEST as c_int);
            }
            let mut stand_in = ffi::RSMPI_REQUEST_NULL;
            let outcome = channel.state.start(&self.call, &mut stand_in);
            if outcome.is_ok() {
                *active = Some(stand_in);
            }
            drop(active);
            match outcome {
                Ok(()) => SUCCESS,
                Err(NotDone::ByMpi(_)) => channel.raise(&self.call, ffi::MPI_ERR_ARG as c_int),
                Err(NotDone::Failed(code)) => channel.raise(&self.call, code),
            }
        }
    }

    /// Ends it; one that is active is completed before.
    ///
    /// # Safety
    /// MPI runs, and the calling thread may call it.
    unsafe fn leave(&self) {
        let active = self.active().take();
        // SAFETY: promised by the caller.
        unsafe {
            if let Some(mut stand_in) = active {
                ffi::PMPI_Request_free(&mut stand_in);
            }
            if let Ok(channel) = &self.way {
                channel.state.leave();
            }
        }
    }
}

impl Channel {
    /// Has an error handler run, and returns what the call is to return: the communicator's, or where that is freed the
    /// one of `MPI_COMM_SELF` (MPI 4.0, section 9.3).
    ///
    /// # Safety
    /// MPI runs, and the calling thread may call it.
    unsafe fn raise(&self, call: &Call, code: c_int) -> c_int {
        // SAFETY: promised by the caller; one of them is there.
        unsafe {
            let comm = if self.communicator.has_left() { ffi::RSMPI_COMM_SELF } else { call.comm };
            Call { comm, ..*call }.raise(code)
        }
    }
}
