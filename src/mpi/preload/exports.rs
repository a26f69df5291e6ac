//! The symbols of C that this library has in place of MPI's.

use super::call::Call;
use super::library::{self, Next, Word, handle};
use super::reason::Reason;
use super::{process, tally};
use mpi::ffi::MPI_Count;
use std::ffi::{c_int, c_void};

type Bcast = unsafe extern "C" fn(*mut c_void, c_int, Word, c_int, Word) -> c_int;
type BcastC = unsafe extern "C" fn(*mut c_void, MPI_Count, Word, c_int, Word) -> c_int;
static PMPI_BCAST: Next = Next::new(c"PMPI_Bcast");
static PMPI_BCAST_C: Next = Next::new(c"PMPI_Bcast_c");

/// `MPI_Bcast`, whose handles are taken as words until it is known that they are this library's.
///
/// # Safety
/// As for `MPI_Bcast`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Bcast(
    buffer: *mut c_void,
    count: c_int,
    datatype: Word,
    root: c_int,
    comm: Word,
) -> c_int {
    // SAFETY: promised by the caller; the handles are those of this library's MPI where it says so.
    unsafe {
        if !library::is_ours() {
            tally::count_passed(Reason::OtherLibrary, 0);
            return PMPI_BCAST.require::<Bcast>()(buffer, count, datatype, root, comm);
        }
        let (datatype, comm) = (handle(datatype), handle(comm));
        process::broadcast(&Call { buffer, count: count.into(), datatype, root, comm })
    }
}

/// `MPI_Bcast_c`, the same with a count that may be larger.
///
/// # Safety
/// As for `MPI_Bcast_c`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Bcast_c(
    buffer: *mut c_void,
    count: MPI_Count,
    datatype: Word,
    root: c_int,
    comm: Word,
) -> c_int {
    // SAFETY: promised by the caller; the handles are those of this library's MPI where it says so.
    unsafe {
        if !library::is_ours() {
            tally::count_passed(Reason::OtherLibrary, 0);
            return PMPI_BCAST_C.require::<BcastC>()(buffer, count, datatype, root, comm);
        }
        let (datatype, comm) = (handle(datatype), handle(comm));
        process::broadcast(&Call { buffer, count, datatype, root, comm })
    }
}
