//! The symbols of C that this library has in place of MPI's, for broadcasts that it does itself.

use super::call::Call;
use super::library::{self, Next, Word, handle};
use super::reason::Reason;
use super::{process, tally};
use mpi::ffi::{MPI_Count, MPI_Request};
use std::ffi::{c_int, c_void};

/// A function that broadcasts, begins to or prepares it. Its handles are taken as words until it is known that they
/// are this library's.
macro_rules! broadcasts {
    ($name:ident, $next:literal, $count:ty, $does:path $(, $more:ident: $type:ty)*) => {
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As for the function of that name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            buffer: *mut c_void,
            count: $count,
            datatype: Word,
            root: c_int,
            comm: Word,
            $($more: $type,)*
        ) -> c_int {
            type Function = unsafe extern "C" fn(
                *mut c_void, $count, Word, c_int, Word, $($type,)*
            ) -> c_int;
            static NEXT: Next = Next::new($next);
            // SAFETY: promised by the caller; the handles are those of this library's MPI where it says so.
            unsafe {
                if !library::is_ours() {
                    tally::count_passed(Reason::OtherLibrary, 0);
                    return NEXT.require::<Function>()(
                        buffer, count, datatype, root, comm, $($more,)*
                    );
                }
                let (datatype, comm) = (handle(datatype), handle(comm));
                let call = Call { buffer, count: count.into(), datatype, root, comm };
                $does(&call, $($more,)*)
            }
        }
    };
}

broadcasts!(MPI_Bcast, c"PMPI_Bcast", c_int, process::broadcast);
broadcasts!(MPI_Bcast_c, c"PMPI_Bcast_c", MPI_Count, process::broadcast);
broadcasts!(MPI_Ibcast, c"PMPI_Ibcast", c_int, process::begin, request: *mut MPI_Request);
broadcasts!(MPI_Ibcast_c, c"PMPI_Ibcast_c", MPI_Count, process::begin, request: *mut MPI_Request);

/// A function that prepares a broadcast.
macro_rules! prepares {
    ($name:ident, $next:literal, $count:ty) => {
        broadcasts!($name, $next, $count, process::prepare, info: Word, request: *mut MPI_Request);
    };
}

prepares!(MPI_Bcast_init, c"PMPI_Bcast_init", c_int);
prepares!(MPI_Bcast_init_c, c"PMPI_Bcast_init_c", MPI_Count);
// Open MPI 4's.
prepares!(MPIX_Bcast_init, c"PMPIX_Bcast_init", c_int);
