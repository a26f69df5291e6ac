//! The symbols of calls in which the ranks of a communicator meet: there they decide about its broadcasts, if all that
//! the program has called were non-blocking ones, which must wait for nobody.
//!
//! All ranks come to a communicator's collective calls in the same order (MPI 4.0, section 6.14), so that the non-blocking
//! ones before are the same at all; and none leaves these calls before all have come.

use super::library::{self, Next, Word, handle};
use super::process;
use mpi::ffi::{self, MPI_Comm};
use std::ffi::c_int;

/// The communicator in an argument of C.
///
/// # Safety
/// It is a handle of this library's MPI.
unsafe fn of_c(comm: Word) -> MPI_Comm {
    // SAFETY: promised by the caller.
    unsafe { handle(comm) }
}

/// That in an argument of Fortran.
///
/// # Safety
/// It is the address of a handle of this library's MPI.
unsafe fn of_fortran(comm: Word) -> MPI_Comm {
    let comm = std::ptr::with_exposed_provenance::<c_int>(comm);
    // SAFETY: promised by the caller.
    unsafe { ffi::RSMPI_Comm_f2c(*comm) }
}

/// A symbol by its name, the next function's, the argument that is the communicator, and all of them, which are passed on
/// untouched.
macro_rules! meets {
    ($name:ident, $next:literal, $of:ident($comm:ident), ($($argument:ident),*)) => {
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As for the function of that name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: Word),*) -> c_int {
            type Function = unsafe extern "C" fn($(meets!(@word $argument)),*) -> c_int;
            static NEXT: Next = Next::new($next);
            // SAFETY: promised by the caller; the handle is of this library's MPI where it says so. A function of Fortran
            // returns nothing, and whoever calls it looks at nothing.
            unsafe {
                if process::has_asked() && library::is_ours() {
                    process::meet($of($comm));
                }
                NEXT.require::<Function>()($($argument),*)
            }
        }
    };
    (@word $argument:ident) => { Word };
}

// Of C, of Fortran by the names that compilers give it, and of Open MPI's `use mpi_f08`.
meets!(MPI_Barrier, c"PMPI_Barrier", of_c(comm), (comm));
meets!(mpi_barrier, c"mpi_barrier", of_fortran(comm), (comm, ierror));
meets!(mpi_barrier_, c"mpi_barrier_", of_fortran(comm), (comm, ierror));
meets!(mpi_barrier__, c"mpi_barrier__", of_fortran(comm), (comm, ierror));
meets!(MPI_BARRIER, c"MPI_BARRIER", of_fortran(comm), (comm, ierror));
meets!(mpi_barrier_f08_, c"mpi_barrier_f08_", of_fortran(comm), (comm, ierror));
meets!(MPI_Allreduce, c"PMPI_Allreduce", of_c(comm), (send, receive, count, datatype, op, comm));
meets!(
    MPI_Allreduce_c,
    c"PMPI_Allreduce_c",
    of_c(comm),
    (send, receive, count, datatype, op, comm)
);
meets!(
    mpi_allreduce,
    c"mpi_allreduce",
    of_fortran(comm),
    (send, receive, count, datatype, op, comm, ierror)
);
meets!(
    mpi_allreduce_,
    c"mpi_allreduce_",
    of_fortran(comm),
    (send, receive, count, datatype, op, comm, ierror)
);
meets!(
    mpi_allreduce__,
    c"mpi_allreduce__",
    of_fortran(comm),
    (send, receive, count, datatype, op, comm, ierror)
);
meets!(
    MPI_ALLREDUCE,
    c"MPI_ALLREDUCE",
    of_fortran(comm),
    (send, receive, count, datatype, op, comm, ierror)
);
meets!(
    mpi_allreduce_f08_,
    c"mpi_allreduce_f08_",
    of_fortran(comm),
    (send, receive, count, datatype, op, comm, ierror)
);
