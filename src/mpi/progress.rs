//! What lets MPI make progress.

use super::MpiError;
use mpi::ffi::{self, MPI_Request, MPI_Status};
use std::ffi::{c_int, c_void};
use std::ptr;

const SUCCESS: c_int = ffi::MPI_SUCCESS as c_int;

/// A request that is incomplete for as long as this exists. MPI makes progress when it is asked for the status of one (MPI
/// 4.0, section 3.7.6), whatever this process waits for. Asked for a message, MPICH makes none on a communicator of one rank.
#[derive(Debug)]
pub(super) struct IncompleteRequest(MPI_Request);

impl IncompleteRequest {
    /// Makes it.
    ///
    /// # Errors
    /// If MPI fails.
    ///
    /// # Safety
    /// MPI is initialised, and the calling thread may call it.
    pub(super) unsafe fn new() -> Result<Self, MpiError> {
        // SAFETY: promised by the caller; the functions have the types that MPI wants, and are given nothing.
        unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let (query, free, cancel) = (Some(query as _), Some(free as _), Some(cancel as _));
            let given = ptr::null_mut();
            let code = ffi::PMPI_Grequest_start(query, free, cancel, given, &mut request);
            MpiError::check("MPI_Grequest_start", code)?;
            Ok(IncompleteRequest(request))
        }
    }

    /// What lets MPI make progress; to be used for as long as this exists.
    pub(super) fn progress(&self) -> Progress {
        Progress(self.0)
    }
}

impl Drop for IncompleteRequest {
    fn drop(&mut self) {
        if !is_over() && !std::thread::panicking() {
            // SAFETY: it is completed and freed once, and nobody uses it any more.
            unsafe {
                ffi::PMPI_Grequest_complete(self.0);
                ffi::PMPI_Request_free(&mut self.0);
            }
        }
    }
}

/// Lets MPI make progress.
#[derive(Clone, Copy, Debug)]
pub struct Progress(MPI_Request);

// SAFETY: a request's handle names the same object in all threads; which of them may call MPI is for the program to keep
// to, whose call it is that runs this.
unsafe impl Send for Progress {}
// SAFETY: the same.
unsafe impl Sync for Progress {}

impl Progress {
    /// Lets MPI make progress.
    pub fn run(&self) {
        if is_over() {
            return;
        }
        let mut is_complete = 0;
        // SAFETY: the request is there for as long as this is used. An error is told by the next call that matters.
        unsafe {
            ffi::PMPI_Request_get_status(self.0, &mut is_complete, ffi::RSMPI_STATUS_IGNORE);
        }
    }
}

/// Whether MPI has ended, and all that was made with it.
pub(super) fn is_over() -> bool {
    let mut is_over = 0;
    // SAFETY: this may be asked at any time.
    let code = unsafe { ffi::PMPI_Finalized(&mut is_over) };
    MpiError::check("MPI_Finalized", code).is_err() || is_over != 0
}

/// Fills the status of a complete request.
///
/// # Safety
/// `status` is one that may be written.
unsafe extern "C" fn query(_: *mut c_void, status: *mut MPI_Status) -> c_int {
    // SAFETY: MPI gives a status to be filled.
    unsafe {
        ffi::PMPI_Status_set_elements(status, ffi::RSMPI_UINT8_T, 0);
        ffi::PMPI_Status_set_cancelled(status, 0);
    }
    SUCCESS
}

extern "C" fn free(_: *mut c_void) -> c_int {
    SUCCESS
}

extern "C" fn cancel(_: *mut c_void, _: c_int) -> c_int {
    SUCCESS
}
