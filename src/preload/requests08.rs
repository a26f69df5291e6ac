//! The symbols of MPICH's `use mpi_f08` that take requests, as `requests`: those alone of its Fortran call
//! the `PMPI_` functions of C. Open MPI's have the same names, and pass through.

use super::library::{FORTRAN_CALLS_C, Next};
use super::requests::{StandIns, start, start_all};
use super::{busy, persistent};
use mpi::ffi::MPI_Request;
use std::ffi::{c_int, c_void};

/// Whether Fortran's requests are C's, and some are those of persistent broadcasts.
fn is_any() -> bool {
    FORTRAN_CALLS_C && persistent::is_any()
}

/// Sets what is optional.
unsafe fn set(ierror: *mut c_int, code: c_int) {
    if !ierror.is_null() {
        // SAFETY: Fortran's arguments are valid addresses, where they are there.
        unsafe { *ierror = code };
    }
}

/// A function that completes one request or some of an array, or asks whether it is complete.
macro_rules! completes {
    ($name:ident, $symbol:literal, [$($number:ident)?], $($more:ident),*) => {
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As for the function of that name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $($number: *const c_int,)?
            requests: *mut MPI_Request,
            $($more: *mut c_void,)*
            ierror: *mut c_int,
        ) {
            type Function = unsafe extern "C" fn(
                $(completes!(@number $number),)?
                *mut MPI_Request,
                $(completes!(@more $more),)*
                *mut c_int,
            );
            static NEXT: Next = Next::new($symbol);
            // SAFETY: promised by the caller.
            unsafe {
                let numbers: &[c_int] = &[$(*$number)?];
                let number = numbers.first().copied().unwrap_or(1);
                // MPICH does not poll in all of them.
                if FORTRAN_CALLS_C {
                    busy::advance();
                }
                let stand_ins = is_any().then(|| StandIns::new(number, requests));
                NEXT.require::<Function>()($($number,)? requests, $($more,)* ierror);
                drop(stand_ins);
            }
        }
    };
    (@number $number:ident) => { *const c_int };
    (@more $more:ident) => { *mut c_void };
}

completes!(mpi_wait_f08_, c"mpi_wait_f08_", [], status);
completes!(mpi_test_f08_, c"mpi_test_f08_", [], flag, status);
completes!(mpi_request_get_status_f08_, c"mpi_request_get_status_f08_", [], flag, status);
completes!(mpi_waitall_f08_, c"mpi_waitall_f08_", [number], statuses);
completes!(mpi_testall_f08_, c"mpi_testall_f08_", [number], flag, statuses);
completes!(mpi_waitany_f08_, c"mpi_waitany_f08_", [number], which, status);
completes!(mpi_testany_f08_, c"mpi_testany_f08_", [number], which, flag, status);
completes!(mpi_waitsome_f08_, c"mpi_waitsome_f08_", [number], done, which, statuses);
completes!(mpi_testsome_f08_, c"mpi_testsome_f08_", [number], done, which, statuses);

/// `MPI_Start`.
///
/// # Safety
/// As for the function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpi_start_f08_(request: *mut MPI_Request, ierror: *mut c_int) {
    type Function = unsafe extern "C" fn(*mut MPI_Request, *mut c_int);
    static NEXT: Next = Next::new(c"mpi_start_f08_");
    // SAFETY: promised by the caller.
    unsafe {
        match is_any() {
            true => set(ierror, start(request)),
            false => NEXT.require::<Function>()(request, ierror),
        }
    }
}

/// `MPI_Startall`.
///
/// # Safety
/// As for the function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpi_startall_f08_(
    number: *const c_int,
    requests: *mut MPI_Request,
    ierror: *mut c_int,
) {
    type Function = unsafe extern "C" fn(*const c_int, *mut MPI_Request, *mut c_int);
    static NEXT: Next = Next::new(c"mpi_startall_f08_");
    // SAFETY: promised by the caller.
    unsafe {
        match is_any() {
            true => set(ierror, start_all(*number, requests)),
            false => NEXT.require::<Function>()(number, requests, ierror),
        }
    }
}

/// `MPI_Request_free`.
///
/// # Safety
/// As for the function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpi_request_free_f08_(request: *mut MPI_Request, ierror: *mut c_int) {
    type Function = unsafe extern "C" fn(*mut MPI_Request, *mut c_int);
    static NEXT: Next = Next::new(c"mpi_request_free_f08_");
    // SAFETY: promised by the caller.
    unsafe {
        if is_any() {
            persistent::free(*request);
        }
        NEXT.require::<Function>()(request, ierror);
    }
}
