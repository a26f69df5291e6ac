//! What has MPI call this library while a program waits for or tests a request.
//!
//! The standard's generalized requests are completed by somebody else's thread, which only programs with
//! `MPI_THREAD_MULTIPLE` may have. Both libraries have a way to complete them from within their own calls: Open
//! MPI's progress engine calls what is registered with it, and MPICH polls a request that is made with its extension
//! `MPIX_Grequest_start` (Latham and others, "Extending the MPI-2 generalized request interface", 2007), in all calls
//! but one, which this library has in its place.

use super::library::{Next, POLLS_REQUESTS};
use super::{busy, promise};
use mpi::ffi::{self, MPI_Request, MPI_Status};
use std::ffi::{c_int, c_void};
use std::sync::Once;

/// Fills the status of a complete request.
pub type Query = unsafe extern "C" fn(*mut c_void, *mut MPI_Status) -> c_int;
/// Frees what a request's functions are given.
pub type Free = unsafe extern "C" fn(*mut c_void) -> c_int;
/// Cancels a request.
pub type Cancel = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

type Poll = unsafe extern "C" fn(*mut c_void, *mut MPI_Status) -> c_int;
type Wait = unsafe extern "C" fn(c_int, *mut *mut c_void, f64, *mut MPI_Status) -> c_int;
type StartPolled = unsafe extern "C" fn(
    Option<Query>,
    Option<Free>,
    Option<Cancel>,
    Option<Poll>,
    Option<Wait>,
    *mut c_void,
    *mut MPI_Request,
) -> c_int;
type Register = unsafe extern "C" fn(unsafe extern "C" fn() -> c_int) -> c_int;

static START_POLLED: Next = Next::new(c"PMPIX_Grequest_start");
static REGISTER: Next = Next::new(c"opal_progress_register");

/// Whether the program's MPI has a way.
pub fn is_there() -> bool {
    // SAFETY: the functions have these types, wherever they are.
    unsafe {
        match POLLS_REQUESTS {
            true => START_POLLED.get::<StartPolled>().is_some(),
            false => REGISTER.get::<Register>().is_some(),
        }
    }
}

/// Makes a request at `to`; while the program waits for it, what is in flight is brought forward.
///
/// # Safety
/// MPI is initialised, [`is_there`], and `to` is writable; `given` is what the functions of a
/// [promise](super::promise::Promise) take.
pub unsafe fn start_request(
    query: Query,
    free: Free,
    cancel: Cancel,
    given: *mut c_void,
    to: *mut MPI_Request,
) -> c_int {
    static REGISTERED: Once = Once::new();
    let (query, free, cancel) = (Some(query), Some(free), Some(cancel));
    // SAFETY: promised by the caller; what is registered stays, and does nothing while nothing is in flight.
    unsafe {
        if POLLS_REQUESTS {
            let start = START_POLLED.require::<StartPolled>();
            return start(query, free, cancel, Some(poll), Some(wait), given, to);
        }
        REGISTERED.call_once(|| {
            REGISTER.require::<Register>()(progress);
        });
        ffi::PMPI_Grequest_start(query, free, cancel, given, to)
    }
}

/// What MPICH calls to test a request.
///
/// # Safety
/// For MPI alone, which gives what the function's type says.
unsafe extern "C" fn poll(given: *mut c_void, _: *mut MPI_Status) -> c_int {
    // SAFETY: it is what a request is given, and a thread of the program's has called MPI, which calls this.
    unsafe { promise::poll(given) };
    ffi::MPI_SUCCESS as c_int
}

/// What MPICH calls to wait for all of some requests, one after another.
///
/// # Safety
/// For MPI alone, which gives what the function's type says.
unsafe extern "C" fn wait(
    number: c_int,
    given: *mut *mut c_void,
    _: f64,
    _: *mut MPI_Status,
) -> c_int {
    for at in 0..number as usize {
        // SAFETY: that many requests' are given, and a thread of the program's has called MPI, which calls this.
        unsafe { promise::wait(*given.add(at)) };
    }
    ffi::MPI_SUCCESS as c_int
}

/// What Open MPI calls; returns how many requests it has completed.
///
/// # Safety
/// For MPI alone, which gives what the function's type says.
unsafe extern "C" fn progress() -> c_int {
    // SAFETY: a thread of the program's has called MPI, which calls this.
    unsafe { busy::advance() }
}
