//! The symbols of Fortran that this library has in place of MPI's: those of `mpif.h` and of `use mpi`, by
//! the names that compilers give them, and Open MPI's of `use mpi_f08`; MPICH's call the functions of C.

use super::exports::{MPI_Bcast, MPI_Bcast_init, MPI_Ibcast};
use super::library::{self, FORTRAN_CALLS_C, Next, Word, word};
use mpi::ffi;
use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

/// What a function of Fortran is given to broadcast.
struct Given {
    buffer: *mut c_void,
    count: *const c_int,
    datatype: *const c_int,
    root: *const c_int,
    comm: *const c_int,
    ierror: *mut c_int,
}

impl Given {
    /// Calls the function of C.
    ///
    /// # Safety
    /// The arguments are Fortran's, of this library's MPI.
    unsafe fn call(&self, function: impl FnOnce(*mut c_void, c_int, Word, c_int, Word) -> c_int) {
        let Given { buffer, count, datatype, root, comm, ierror } = *self;
        // SAFETY: Fortran's arguments are valid addresses; the last is optional in mpi_f08.
        unsafe {
            let buffer = if is_bottom(buffer) { ptr::null_mut() } else { buffer };
            let datatype = word(ffi::RSMPI_Type_f2c(*datatype));
            let comm = word(ffi::RSMPI_Comm_f2c(*comm));
            let code = function(buffer, *count, datatype, *root, comm);
            if !ierror.is_null() {
                *ierror = code;
            }
        }
    }

    /// `MPI_Bcast`.
    ///
    /// # Safety
    /// As for that function.
    unsafe fn broadcast(&self) {
        // SAFETY: promised by the caller.
        unsafe {
            self.call(|buffer, count, kind, root, comm| MPI_Bcast(buffer, count, kind, root, comm))
        }
    }

    /// `MPI_Ibcast`.
    ///
    /// # Safety
    /// As for that function.
    unsafe fn begin(&self, request: *mut c_int) {
        // SAFETY: promised by the caller.
        unsafe {
            self.call(|buffer, count, kind, root, comm| {
                let mut made = ffi::RSMPI_REQUEST_NULL;
                let code = MPI_Ibcast(buffer, count, kind, root, comm, &mut made);
                *request = ffi::RSMPI_Request_c2f(made);
                code
            });
        }
    }

    /// `MPI_Bcast_init`.
    ///
    /// # Safety
    /// As for that function.
    unsafe fn prepare(&self, info: *const c_int, request: *mut c_int) {
        // SAFETY: promised by the caller.
        unsafe {
            self.call(|buffer, count, kind, root, comm| {
                let info = word(ffi::RSMPI_Info_f2c(*info));
                let mut made = ffi::RSMPI_REQUEST_NULL;
                let code = MPI_Bcast_init(buffer, count, kind, root, comm, info, &mut made);
                *request = ffi::RSMPI_Request_c2f(made);
                code
            });
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

/// A symbol for the name that a compiler gives to a function that broadcasts, begins to or prepares it.
macro_rules! symbol {
    ($name:ident, $text:literal, $does:ident $(, $more:ident: $type:ty)*) => {
        #[doc = concat!("`", $text, "`, for Fortran.")]
        ///
        /// # Safety
        /// As for the function of C.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            buffer: *mut c_void,
            count: *const c_int,
            datatype: *const c_int,
            root: *const c_int,
            comm: *const c_int,
            $($more: $type,)*
            ierror: *mut c_int,
        ) {
            type Function = unsafe extern "C" fn(
                *mut c_void,
                *const c_int,
                *const c_int,
                *const c_int,
                *const c_int,
                $($type,)*
                *mut c_int,
            );
            static NEXT: Next =
                Next::new(match CStr::from_bytes_with_nul(concat!($text, "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!(),
                });
            // SAFETY: promised by the caller; a function of this name takes these arguments in every library.
            unsafe {
                if !library::is_ours() || FORTRAN_CALLS_C {
                    return NEXT.require::<Function>()(
                        buffer, count, datatype, root, comm, $($more,)* ierror,
                    );
                }
                Given { buffer, count, datatype, root, comm, ierror }.$does($($more),*);
            }
        }
    };
}

symbol!(mpi_bcast, "mpi_bcast", broadcast);
symbol!(mpi_bcast_, "mpi_bcast_", broadcast);
symbol!(mpi_bcast__, "mpi_bcast__", broadcast);
symbol!(MPI_BCAST, "MPI_BCAST", broadcast);
symbol!(mpi_bcast_f08_, "mpi_bcast_f08_", broadcast);
symbol!(mpi_ibcast, "mpi_ibcast", begin, request: *mut c_int);
symbol!(mpi_ibcast_, "mpi_ibcast_", begin, request: *mut c_int);
symbol!(mpi_ibcast__, "mpi_ibcast__", begin, request: *mut c_int);
symbol!(MPI_IBCAST, "MPI_IBCAST", begin, request: *mut c_int);
symbol!(mpi_ibcast_f08_, "mpi_ibcast_f08_", begin, request: *mut c_int);

/// A symbol for a function that prepares a broadcast.
macro_rules! prepares {
    ($name:ident, $text:literal) => {
        symbol!($name, $text, prepare, info: *const c_int, request: *mut c_int);
    };
}

prepares!(mpi_bcast_init, "mpi_bcast_init");
prepares!(mpi_bcast_init_, "mpi_bcast_init_");
prepares!(mpi_bcast_init__, "mpi_bcast_init__");
prepares!(MPI_BCAST_INIT, "MPI_BCAST_INIT");
prepares!(mpi_bcast_init_f08_, "mpi_bcast_init_f08_");
// Open MPI 4's.
prepares!(mpix_bcast_init, "mpix_bcast_init");
prepares!(mpix_bcast_init_, "mpix_bcast_init_");
prepares!(mpix_bcast_init__, "mpix_bcast_init__");
prepares!(MPIX_BCAST_INIT, "MPIX_BCAST_INIT");
prepares!(mpix_bcast_init_f08_, "mpix_bcast_init_f08_");
