//! The symbols of C that this library has in place of MPI's because they take requests, among which may be those of
//! persistent broadcasts.

use super::busy;
use super::library::{self, Next, Word, handle};
use super::persistent::{self, Persistent};
use mpi::ffi::{self, MPI_Request};
use std::ffi::{c_int, c_void};
use std::slice;
use std::sync::Arc;

/// What stands in an array for requests of persistent broadcasts; afterwards these are there again.
pub struct StandIns {
    requests: *mut MPI_Request,
    /// Places in the array, with the requests that were there.
    replaced: Vec<(usize, MPI_Request, Arc<Persistent>)>,
}

impl StandIns {
    /// Puts them there.
    ///
    /// # Safety
    /// There are so many requests, of this library's MPI where there is any persistent broadcast, for as long as this
    /// exists.
    pub unsafe fn new(number: c_int, requests: *mut MPI_Request) -> Self {
        let mut replaced = Vec::new();
        if persistent::is_any() && !requests.is_null() {
            for at in 0..number.max(0) as usize {
                // SAFETY: promised by the caller.
                let request = unsafe { &mut *requests.add(at) };
                if let Some(one) = persistent::of(*request)
                    && let Some(stand_in) = one.stand_in()
                {
                    replaced.push((at, *request, one));
                    *request = stand_in;
                }
            }
        }
        StandIns { requests, replaced }
    }
}

impl Drop for StandIns {
    fn drop(&mut self) {
        for (at, request, one) in self.replaced.drain(..) {
            // SAFETY: the places are in the array, which is still there; MPI sets what is complete to null.
            unsafe {
                let place = self.requests.add(at);
                if *place == ffi::RSMPI_REQUEST_NULL {
                    one.complete();
                }
                *place = request;
            }
        }
    }
}

/// A function that completes one request or some of an array.
macro_rules! completes {
    ($name:ident, $next:literal $(, $more:ident: $type:ty)*) => {
        completes!(@ $name, $next, 1, [] $(, $more: $type)*);
    };
    ($name:ident, $next:literal, [$number:ident] $(, $more:ident: $type:ty)*) => {
        completes!(@ $name, $next, $number, [$number] $(, $more: $type)*);
    };
    (@ $name:ident, $next:literal, $count:expr, [$($number:ident)?] $(, $more:ident: $type:ty)*) => {
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As for the function of that name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $($number: c_int,)?
            requests: *mut MPI_Request,
            $($more: $type,)*
        ) -> c_int {
            type Function = unsafe extern "C" fn(
                $(completes!(@number $number),)? *mut MPI_Request, $($type,)*
            ) -> c_int;
            static NEXT: Next = Next::new($next);
            // SAFETY: promised by the caller.
            unsafe {
                let stand_ins = StandIns::new($count, requests);
                let code = NEXT.require::<Function>()($($number,)? requests, $($more,)*);
                drop(stand_ins);
                code
            }
        }
    };
    (@number $number:ident) => { c_int };
}

completes!(MPI_Wait, c"PMPI_Wait", status: *mut c_void);
completes!(MPI_Test, c"PMPI_Test", is_done: *mut c_int, status: *mut c_void);
completes!(MPI_Waitall, c"PMPI_Waitall", [number], statuses: *mut c_void);
completes!(MPI_Testall, c"PMPI_Testall", [number], are_done: *mut c_int, statuses: *mut c_void);
completes!(MPI_Waitany, c"PMPI_Waitany", [number], which: *mut c_int, status: *mut c_void);
completes!(
    MPI_Testany,
    c"PMPI_Testany",
    [number],
    which: *mut c_int,
    is_done: *mut c_int,
    status: *mut c_void
);
completes!(
    MPI_Waitsome,
    c"PMPI_Waitsome",
    [number],
    done: *mut c_int,
    which: *mut c_int,
    statuses: *mut c_void
);
completes!(
    MPI_Testsome,
    c"PMPI_Testsome",
    [number],
    done: *mut c_int,
    which: *mut c_int,
    statuses: *mut c_void
);

/// `MPI_Start`.
///
/// # Safety
/// As for the function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Start(request: *mut MPI_Request) -> c_int {
    // SAFETY: promised by the caller.
    unsafe { start(request) }
}

/// `MPI_Startall`.
///
/// # Safety
/// As for the function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Startall(number: c_int, requests: *mut MPI_Request) -> c_int {
    type Function = unsafe extern "C" fn(c_int, *mut MPI_Request) -> c_int;
    static NEXT: Next = Next::new(c"PMPI_Startall");
    // SAFETY: promised by the caller.
    unsafe {
        if !persistent::is_any() {
            return NEXT.require::<Function>()(number, requests);
        }
        start_all(number, requests)
    }
}

/// Starts several, some of which are those of persistent broadcasts, and returns what the program's call is to return.
///
/// # Safety
/// As for `MPI_Startall`, of this library's MPI.
pub unsafe fn start_all(number: c_int, requests: *mut MPI_Request) -> c_int {
    for at in 0..number.max(0) as usize {
        // SAFETY: promised by the caller.
        let code = unsafe { start(requests.add(at)) };
        if code != ffi::MPI_SUCCESS as c_int {
            return code;
        }
    }
    ffi::MPI_SUCCESS as c_int
}

/// Starts one, and returns what the program's call is to return.
///
/// # Safety
/// As for `MPI_Start`.
pub unsafe fn start(request: *mut MPI_Request) -> c_int {
    type Function = unsafe extern "C" fn(*mut MPI_Request) -> c_int;
    static NEXT: Next = Next::new(c"PMPI_Start");
    // SAFETY: promised by the caller.
    unsafe {
        match persistent::is_any().then(|| persistent::of(*request)).flatten() {
            Some(one) => one.start(request),
            None => NEXT.require::<Function>()(request),
        }
    }
}

/// `MPI_Request_free`.
///
/// # Safety
/// As for the function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Request_free(request: *mut MPI_Request) -> c_int {
    type Function = unsafe extern "C" fn(*mut MPI_Request) -> c_int;
    static NEXT: Next = Next::new(c"PMPI_Request_free");
    // SAFETY: promised by the caller.
    unsafe {
        if persistent::is_any() {
            persistent::free(*request);
        }
        NEXT.require::<Function>()(request)
    }
}

/// A function of MPI 4.1 that asks about some requests of an array, and leaves all of them as they are.
macro_rules! asks {
    ($name:ident, $next:literal $(, $more:ident: $type:ty)*) => {
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As for the function of that name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            number: c_int,
            requests: *const MPI_Request,
            $($more: $type,)*
        ) -> c_int {
            type Function =
                unsafe extern "C" fn(c_int, *const MPI_Request, $($type,)*) -> c_int;
            static NEXT: Next = Next::new($next);
            // SAFETY: promised by the caller.
            unsafe {
                if library::is_ours() {
                    busy::advance();
                }
                let asked = asked_for(number, requests);
                let requests = asked.as_ref().map_or(requests, |asked| asked.as_ptr());
                NEXT.require::<Function>()(number, requests, $($more,)*)
            }
        }
    };
}

asks!(
    MPI_Request_get_status_all,
    c"PMPI_Request_get_status_all",
    are_done: *mut c_int,
    statuses: *mut c_void
);
asks!(
    MPI_Request_get_status_any,
    c"PMPI_Request_get_status_any",
    which: *mut c_int,
    is_done: *mut c_int,
    status: *mut c_void
);
asks!(
    MPI_Request_get_status_some,
    c"PMPI_Request_get_status_some",
    done: *mut c_int,
    which: *mut c_int,
    statuses: *mut c_void
);

/// The requests with stand-ins for those of persistent broadcasts; none where there is no such broadcast.
///
/// # Safety
/// There are so many requests, of this library's MPI where there is any persistent broadcast.
unsafe fn asked_for(number: c_int, requests: *const MPI_Request) -> Option<Vec<MPI_Request>> {
    if !persistent::is_any() || requests.is_null() {
        return None;
    }
    // SAFETY: promised by the caller.
    let requests = unsafe { slice::from_raw_parts(requests, number.max(0) as usize) };
    let stand_in = |request: &MPI_Request| {
        let stand_in = persistent::of(*request).and_then(|one| one.stand_in());
        stand_in.unwrap_or(*request)
    };
    Some(requests.iter().map(stand_in).collect())
}

/// `MPI_Request_get_status`, in which MPICH does not poll.
///
/// # Safety
/// As for the function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Request_get_status(
    request: Word,
    is_done: *mut c_int,
    status: *mut c_void,
) -> c_int {
    type Function = unsafe extern "C" fn(Word, *mut c_int, *mut c_void) -> c_int;
    static NEXT: Next = Next::new(c"PMPI_Request_get_status");
    // SAFETY: promised by the caller; where there is a persistent broadcast, the handle is this library's MPI's.
    unsafe {
        if library::is_ours() {
            busy::advance();
        }
        let mut asked = request;
        if persistent::is_any() {
            let stand_in = persistent::of(handle(request)).and_then(|one| one.stand_in());
            asked = stand_in.map_or(request, library::word);
        }
        NEXT.require::<Function>()(asked, is_done, status)
    }
}
