//! The symbols of Fortran that take requests, as `requests`, where MPI's own would not come to those of C: Open MPI's,
//! and MPICH's of `use mpi_f08`.
//!
//! A request of a persistent broadcast that C has made may be given to Fortran (`MPI_Request_c2f`); under MPICH Fortran
//! makes them, too.

use super::library::{FORTRAN_CALLS_C, Next};
use super::persistent::Persistent;
use super::requests::{start, start_all};
use super::{busy, persistent};
use mpi::ffi::{self, MPI_Request};
use std::ffi::{c_int, c_void};
use std::slice;
use std::sync::Arc;

/// A request in Fortran, also as the only component of an `mpi_f08` one.
type Handle = c_int;

fn of_fortran(handle: Handle) -> MPI_Request {
    // SAFETY: Fortran's arguments are handles, which may be converted at any time.
    unsafe { ffi::RSMPI_Request_f2c(handle) }
}

fn in_fortran(request: MPI_Request) -> Handle {
    // SAFETY: as above.
    unsafe { ffi::RSMPI_Request_c2f(request) }
}

/// What stands in an array for requests of persistent broadcasts; afterwards these are there again.
struct StandIns {
    handles: *mut Handle,
    /// Places in the array, with the handles that were there.
    replaced: Vec<(usize, Handle, Arc<Persistent>)>,
}

impl StandIns {
    /// Puts them there.
    ///
    /// # Safety
    /// There are so many handles, for as long as this exists.
    unsafe fn new(number: c_int, handles: *mut Handle) -> Self {
        let mut replaced = Vec::new();
        // SAFETY: promised by the caller.
        let all = unsafe { slice::from_raw_parts_mut(handles, number.max(0) as usize) };
        for (at, handle) in all.iter_mut().enumerate() {
            if let Some(one) = persistent::of(of_fortran(*handle))
                && let Some(stand_in) = one.stand_in()
            {
                replaced.push((at, *handle, one));
                *handle = in_fortran(stand_in);
            }
        }
        StandIns { handles, replaced }
    }
}

impl Drop for StandIns {
    fn drop(&mut self) {
        // SAFETY: a constant of MPI's.
        let null = in_fortran(unsafe { ffi::RSMPI_REQUEST_NULL });
        for (at, handle, one) in self.replaced.drain(..) {
            // SAFETY: the places are in the array, which is still there; MPI sets what is complete to null.
            unsafe {
                let place = self.handles.add(at);
                if *place == null {
                    one.complete();
                }
                *place = handle;
            }
        }
    }
}

/// Sets what is optional.
///
/// # Safety
/// `ierror` is the address of a number, or null.
unsafe fn set(ierror: *mut c_int, code: c_int) {
    if !ierror.is_null() {
        // SAFETY: Fortran's arguments are valid addresses, where they are there.
        unsafe { *ierror = code };
    }
}

/// Whether a function is to look at its requests: some may be those of persistent broadcasts, and MPI's own function does
/// not call this library's of C.
fn looks(is_mpi_f08: bool) -> bool {
    (is_mpi_f08 || !FORTRAN_CALLS_C) && persistent::is_any()
}

/// Gives MPICH, which does not poll in all functions of `mpi_f08`, what it would by polling.
///
/// # Safety
/// MPI runs, and the calling thread may call it.
unsafe fn poll(is_mpi_f08: bool) {
    if is_mpi_f08 && FORTRAN_CALLS_C {
        // SAFETY: a thread of the program's has called MPI.
        unsafe { busy::advance() };
    }
}

/// A function by each of the names that compilers give to those of `mpif.h` and `use mpi`, and by that of `use mpi_f08`.
macro_rules! by_each_name {
    ($symbol:ident: $plain:ident $one:ident $two:ident $upper:ident $f08:ident, $($shape:tt)*) => {
        $symbol!(false, $plain, $($shape)*);
        $symbol!(false, $one, $($shape)*);
        $symbol!(false, $two, $($shape)*);
        $symbol!(false, $upper, $($shape)*);
        $symbol!(true, $f08, $($shape)*);
    };
}

/// The next library's function of that name.
macro_rules! next {
    ($name:ident) => {{
        static NEXT: Next = match std::ffi::CStr::from_bytes_with_nul(
            concat!(stringify!($name), "\0").as_bytes(),
        ) {
            Ok(name) => Next::new(name),
            Err(_) => panic!(),
        };
        &NEXT
    }};
}

/// A function that completes one request or some of an array, or asks whether it is complete.
macro_rules! completes {
    ($is_mpi_f08:literal, $name:ident, [$($number:ident)?], $($more:ident),*) => {
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As for the function of that name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $($number: *const c_int,)?
            handles: *mut Handle,
            $($more: *mut c_void,)*
            ierror: *mut c_int,
        ) {
            type Function = unsafe extern "C" fn(
                $(completes!(@number $number),)?
                *mut Handle,
                $(completes!(@more $more),)*
                *mut c_int,
            );
            // SAFETY: promised by the caller.
            unsafe {
                let numbers: &[c_int] = &[$(*$number)?];
                let number = numbers.first().copied().unwrap_or(1);
                poll($is_mpi_f08);
                let stand_ins = looks($is_mpi_f08).then(|| StandIns::new(number, handles));
                next!($name).require::<Function>()($($number,)? handles, $($more,)* ierror);
                drop(stand_ins);
            }
        }
    };
    (@number $number:ident) => { *const c_int };
    (@more $more:ident) => { *mut c_void };
}

/// `MPI_Start`.
macro_rules! starts {
    ($is_mpi_f08:literal, $name:ident,) => {
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As for the function of that name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(handle: *mut Handle, ierror: *mut c_int) {
            type Function = unsafe extern "C" fn(*mut Handle, *mut c_int);
            // SAFETY: promised by the caller.
            unsafe {
                if !looks($is_mpi_f08) {
                    return next!($name).require::<Function>()(handle, ierror);
                }
                let mut request = of_fortran(*handle);
                set(ierror, start(&mut request));
            }
        }
    };
}

/// `MPI_Startall`.
macro_rules! starts_all {
    ($is_mpi_f08:literal, $name:ident,) => {
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As for the function of that name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            number: *const c_int,
            handles: *mut Handle,
            ierror: *mut c_int,
        ) {
            type Function = unsafe extern "C" fn(*const c_int, *mut Handle, *mut c_int);
            // SAFETY: promised by the caller.
            unsafe {
                if !looks($is_mpi_f08) {
                    return next!($name).require::<Function>()(number, handles, ierror);
                }
                let handles = slice::from_raw_parts(handles, (*number).max(0) as usize);
                let mut requests: Vec<_> = handles.iter().map(|one| of_fortran(*one)).collect();
                set(ierror, start_all(*number, requests.as_mut_ptr()));
            }
        }
    };
}

/// `MPI_Request_free`.
macro_rules! frees {
    ($is_mpi_f08:literal, $name:ident,) => {
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As for the function of that name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(handle: *mut Handle, ierror: *mut c_int) {
            type Function = unsafe extern "C" fn(*mut Handle, *mut c_int);
            // SAFETY: promised by the caller.
            unsafe {
                if looks($is_mpi_f08) {
                    persistent::free(of_fortran(*handle));
                }
                next!($name).require::<Function>()(handle, ierror);
            }
        }
    };
}

by_each_name!(completes: mpi_wait mpi_wait_ mpi_wait__ MPI_WAIT mpi_wait_f08_, [], status);
by_each_name!(completes: mpi_test mpi_test_ mpi_test__ MPI_TEST mpi_test_f08_, [], flag, status);
by_each_name!(
    completes: mpi_request_get_status mpi_request_get_status_ mpi_request_get_status__ MPI_REQUEST_GET_STATUS
        mpi_request_get_status_f08_,
    [], flag, status
);
by_each_name!(
    completes: mpi_waitall mpi_waitall_ mpi_waitall__ MPI_WAITALL mpi_waitall_f08_,
    [number], statuses
);
by_each_name!(
    completes: mpi_testall mpi_testall_ mpi_testall__ MPI_TESTALL mpi_testall_f08_,
    [number], flag, statuses
);
by_each_name!(
    completes: mpi_waitany mpi_waitany_ mpi_waitany__ MPI_WAITANY mpi_waitany_f08_,
    [number], which, status
);
by_each_name!(
    completes: mpi_testany mpi_testany_ mpi_testany__ MPI_TESTANY mpi_testany_f08_,
    [number], which, flag, status
);
by_each_name!(
    completes: mpi_waitsome mpi_waitsome_ mpi_waitsome__ MPI_WAITSOME mpi_waitsome_f08_,
    [number], done, which, statuses
);
by_each_name!(
    completes: mpi_testsome mpi_testsome_ mpi_testsome__ MPI_TESTSOME mpi_testsome_f08_,
    [number], done, which, statuses
);
by_each_name!(starts: mpi_start mpi_start_ mpi_start__ MPI_START mpi_start_f08_,);
by_each_name!(starts_all: mpi_startall mpi_startall_ mpi_startall__ MPI_STARTALL mpi_startall_f08_,);
by_each_name!(
    frees: mpi_request_free mpi_request_free_ mpi_request_free__ MPI_REQUEST_FREE mpi_request_free_f08_,
);
