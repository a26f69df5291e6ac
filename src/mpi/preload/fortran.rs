//! The symbols of Fortran that this library has in place of MPI's: those of `mpif.h` and of `use mpi`, by
//! the names that compilers give them, and Open MPI's of `use mpi_f08`; MPICH's calls `MPI_Bcast`.

use super::exports::MPI_Bcast;
use super::library::{self, FORTRAN_CALLS_C, Next, Word};
use mpi::ffi;
use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

type Bcast = unsafe extern "C" fn(
    *mut c_void,
    *const c_int,
    *const c_int,
    *const c_int,
    *const c_int,
    *mut c_int,
);

/// Does what the Fortran function of this name does.
unsafe fn bcast(
    next: &Next,
    buffer: *mut c_void,
    count: *const c_int,
    datatype: *const c_int,
    root: *const c_int,
    comm: *const c_int,
    ierror: *mut c_int,
) {
    // SAFETY: promised by the caller; a function of this name takes these arguments in every library, and
    // Fortran's arguments are valid addresses.
    unsafe {
        if !library::is_ours() || FORTRAN_CALLS_C {
            return next.require::<Bcast>()(buffer, count, datatype, root, comm, ierror);
        }
        let buffer = if is_bottom(buffer) { ptr::null_mut() } else { buffer };
        let datatype = word(ffi::RSMPI_Type_f2c(*datatype));
        let comm = word(ffi::RSMPI_Comm_f2c(*comm));
        let code = MPI_Bcast(buffer, *count, datatype, *root, comm);
        // It is optional in mpi_f08.
        if !ierror.is_null() {
            *ierror = code;
        }
    }
}

/// The names of Open MPI's `MPI_BOTTOM` of Fortran.
const BOTTOMS: [&CStr; 4] =
    [c"mpi_fortran_bottom_", c"mpi_fortran_bottom", c"mpi_fortran_bottom__", c"MPI_FORTRAN_BOTTOM"];

/// Whether an address is that of Fortran's `MPI_BOTTOM`.
fn is_bottom(buffer: *mut c_void) -> bool {
    static FOUND: OnceLock<[usize; 4]> = OnceLock::new();
    let found = FOUND.get_or_init(|| BOTTOMS.map(|name| library::variable(name) as usize));
    found.contains(&(buffer as usize))
}

/// A handle as C functions get it.
fn word<T: Copy>(handle: T) -> Word {
    const { assert!(size_of::<T>() <= size_of::<Word>() && cfg!(target_endian = "little")) };
    let mut word: Word = 0;
    // SAFETY: the handle fits into the word, and any bytes make a word.
    unsafe { ptr::from_mut(&mut word).cast::<T>().write_unaligned(handle) };
    word
}

/// A symbol for the name that a compiler gives to `MPI_Bcast`.
macro_rules! symbol {
    ($name:ident, $text:literal) => {
        #[doc = concat!("`", $text, "`, for Fortran.")]
        ///
        /// # Safety
        /// As for `MPI_Bcast`.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            buffer: *mut c_void,
            count: *const c_int,
            datatype: *const c_int,
            root: *const c_int,
            comm: *const c_int,
            ierror: *mut c_int,
        ) {
            static NEXT: Next =
                Next::new(match CStr::from_bytes_with_nul(concat!($text, "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!(),
                });
            // SAFETY: promised by the caller.
            unsafe { bcast(&NEXT, buffer, count, datatype, root, comm, ierror) }
        }
    };
}

symbol!(mpi_bcast, "mpi_bcast");
symbol!(mpi_bcast_, "mpi_bcast_");
symbol!(mpi_bcast__, "mpi_bcast__");
symbol!(MPI_BCAST, "MPI_BCAST");
symbol!(mpi_bcast_f08_, "mpi_bcast_f08_");
