//! Requests of broadcasts in flight.

use super::{busy, hook};
use mpi::ffi::{self, MPI_Request, MPI_Status};
use multicast::mpi::{MpiError, Progress};
use std::ffi::{c_int, c_void};
use std::sync::{Arc, OnceLock};

/// A request that is to be completed: one of MPI's generalized ones (MPI 4.0, section 13.2), so that all of MPI's
/// calls take it.
#[must_use = "the program waits for it"]
pub struct Promise {
    request: MPI_Request,
    shared: Arc<Shared>,
}

/// What the request's functions are given.
struct Shared {
    /// The code that the program's wait returns; none while the broadcast is in flight.
    outcome: OnceLock<c_int>,
    progress: Progress,
}

// SAFETY: a handle names the same object in all threads; which of them may call MPI is for the program to keep to.
unsafe impl Send for Shared {}
// SAFETY: the same.
unsafe impl Sync for Shared {}

impl Promise {
    /// Makes it, and the program's request at `to`.
    ///
    /// # Errors
    /// If MPI fails.
    ///
    /// # Safety
    /// MPI is initialised, [`hook::is_there`], and `to` is writable.
    pub unsafe fn new(to: *mut MPI_Request, progress: Progress) -> Result<Self, MpiError> {
        let shared = Arc::new(Shared { outcome: OnceLock::new(), progress });
        let given = Arc::into_raw(Arc::clone(&shared));
        // SAFETY: promised by the caller; the functions have the types that MPI wants, and `free` is called
        // once, when the request is gone.
        unsafe {
            let code = hook::start_request(query, free, cancel, given.cast_mut().cast(), to);
            if let Err(error) = MpiError::check("MPI_Grequest_start", code) {
                drop(Arc::from_raw(given));
                return Err(error);
            }
            Ok(Promise { request: *to, shared })
        }
    }

    /// Completes it: the program's wait returns `code`.
    ///
    /// # Safety
    /// MPI is not finalised, and the calling thread may call it.
    pub unsafe fn complete(self, code: c_int) {
        let _ = self.shared.outcome.set(code);
        // SAFETY: promised by the caller; the request is there until it is complete, and it is completed
        // once.
        unsafe { ffi::PMPI_Grequest_complete(self.request) };
    }
}

/// Brings what is in flight forward, and lets MPI make progress, which MPICH does not where it waits for one request.
///
/// # Safety
/// As for [`wait`].
pub unsafe fn poll(given: *mut c_void) {
    // SAFETY: promised by the caller.
    unsafe {
        busy::advance();
        (*given.cast::<Shared>()).progress.run();
    }
}

/// Returns when a request is complete.
///
/// # Safety
/// What is given is what a request's functions are given; a thread of the program's has called MPI.
pub unsafe fn wait(given: *mut c_void) {
    // SAFETY: promised by the caller.
    unsafe {
        let Shared { outcome, progress } = &*given.cast::<Shared>();
        busy::until(|| outcome.get().is_some(), *progress);
    }
}

/// Fills the status of a complete request, and returns its outcome.
///
/// # Safety
/// For MPI alone, which gives what the function's type says.
unsafe extern "C" fn query(given: *mut c_void, status: *mut MPI_Status) -> c_int {
    // SAFETY: what is given is what `new` gave, and MPI gives a status to be filled.
    unsafe {
        let outcome = (*given.cast::<Shared>()).outcome.get();
        let code = outcome.copied().unwrap_or(ffi::MPI_SUCCESS as c_int);
        ffi::PMPI_Status_set_elements(status, ffi::RSMPI_UINT8_T, 0);
        ffi::PMPI_Status_set_cancelled(status, 0);
        (*status).MPI_SOURCE = ffi::RSMPI_UNDEFINED;
        (*status).MPI_TAG = ffi::RSMPI_UNDEFINED;
        // Open MPI's calls return this, MPICH's what is returned here.
        (*status).MPI_ERROR = code;
        code
    }
}

/// # Safety
/// For MPI alone, which gives what the function's type says.
unsafe extern "C" fn free(given: *mut c_void) -> c_int {
    // SAFETY: it is what `new` gave, and this is called once for it.
    drop(unsafe { Arc::from_raw(given.cast_const().cast::<Shared>()) });
    ffi::MPI_SUCCESS as c_int
}

/// A broadcast cannot be cancelled.
///
/// # Safety
/// For MPI alone, which gives what the function's type says.
unsafe extern "C" fn cancel(_: *mut c_void, _: c_int) -> c_int {
    ffi::MPI_SUCCESS as c_int
}
