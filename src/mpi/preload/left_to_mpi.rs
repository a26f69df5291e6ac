//! Broadcasts that are left to MPI's own functions, and counted: persistent ones.
//!
//! They go another way than the others of the same communicator, which is no harm: MPI has all ranks
//! call them in the same order, and while a broadcast waits here, MPI goes on.

use super::call::Call;
use super::library::{self, Next, Word, handle};
use super::reason::Reason;
use super::{process, tally};
use mpi::ffi::{self, MPI_Count};
use std::ffi::{c_int, c_void};

/// Counts a call that MPI has taken.
unsafe fn count(code: c_int, count: MPI_Count, datatype: Word) -> c_int {
    let is_ours = library::is_ours();
    let reason = if is_ours { Reason::Persistent } else { Reason::OtherLibrary };
    let mut bytes = 0;
    if is_ours && code as u32 == ffi::MPI_SUCCESS {
        // SAFETY: MPI has taken the type, and it is the MPI that this library was built with.
        bytes = unsafe {
            let (buffer, comm) = (std::ptr::null_mut(), ffi::RSMPI_COMM_NULL);
            process::attend();
            Call { buffer, count, datatype: handle(datatype), root: 0, comm }.bytes()
        };
    }
    tally::count_passed(reason, bytes);
    code
}

/// What a function returns that the program's MPI does not have.
const MISSING: c_int = ffi::MPI_ERR_OTHER as c_int;

/// A function that prepares a broadcast.
macro_rules! passes_on {
    ($name:ident, $next:literal, $count:ty) => {
        #[doc = concat!("Counts a call of `", stringify!($name), "`, and passes it on.")]
        ///
        /// # Safety
        /// As for the function of that name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            buffer: *mut c_void,
            number: $count,
            datatype: Word,
            root: c_int,
            comm: Word,
            info: Word,
            request: *mut c_void,
        ) -> c_int {
            type Function = unsafe extern "C" fn(
                *mut c_void,
                $count,
                Word,
                c_int,
                Word,
                Word,
                *mut c_void,
            ) -> c_int;
            static NEXT: Next = Next::new($next);
            // SAFETY: promised by the caller.
            unsafe {
                let Some(next) = NEXT.get::<Function>() else { return MISSING };
                let code = next(buffer, number, datatype, root, comm, info, request);
                count(code, number.into(), datatype)
            }
        }
    };
}

passes_on!(MPI_Bcast_init, c"PMPI_Bcast_init", c_int);
passes_on!(MPI_Bcast_init_c, c"PMPI_Bcast_init_c", MPI_Count);
