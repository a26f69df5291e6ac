//! The symbols of C that this library has in place of MPI's.

use super::call::Call;
use super::library::{self, Next, Word, handle};
use super::reason::Reason;
use super::{process, tally};
use mpi::ffi::MPI_Count;
use std::ffi::{c_int, c_void};

/// A function that broadcasts. Its handles are taken as words until it is known that they are this
/// library's.
macro_rules! broadcasts {
    ($name:ident, $next:literal, $count:ty) => {
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
        ) -> c_int {
            type Function = unsafe extern "C" fn(*mut c_void, $count, Word, c_int, Word) -> c_int;
            static NEXT: Next = Next::new($next);
            // SAFETY: promised by the caller; the handles are those of this library's MPI where it says so.
            unsafe {
                if !library::is_ours() {
                    tally::count_passed(Reason::OtherLibrary, 0);
                    return NEXT.require::<Function>()(buffer, count, datatype, root, comm);
                }
                let (datatype, comm) = (handle(datatype), handle(comm));
                process::broadcast(&Call { buffer, count: count.into(), datatype, root, comm })
            }
        }
    };
}

broadcasts!(MPI_Bcast, c"PMPI_Bcast", c_int);
broadcasts!(MPI_Bcast_c, c"PMPI_Bcast_c", MPI_Count);
