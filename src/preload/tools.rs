//! The symbols of MPI's tool information interface, by which tools find this library's counters behind MPI's own variables
//! (MPI 4.0, section 15.3). Sessions are MPI's, and whatever is not this library's is passed on to it.
//!
//! MPI says whether the interface is initialised: each call here asks it first. They may come at any time then, and of any
//! thread.

use super::library::{self, BUILT_WITH, Family, Next, Word};
use super::tool_handles::{Handles, Invalid, Place, handles, index_of_theirs, place};
use super::variables::{Class, VARIABLES, Values, Variable};
use mpi::ffi;
use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;

const SUCCESS: c_int = ffi::MPI_SUCCESS as c_int;
const COUNT: c_int = VARIABLES.len() as c_int;

/// Values of enumerations that each family has its own of, and whose names differ in the bindings.
const IS_MPICH: bool = matches!(BUILT_WITH, Family::Mpich);
const VERBOSITY: c_int = if IS_MPICH { 221 } else { 0 };
const BIND_NO_OBJECT: c_int = if IS_MPICH { 9700 } else { 0 };
const COUNTER: c_int = if IS_MPICH { 246 } else { 6 };
const AGGREGATE: c_int = if IS_MPICH { 247 } else { 7 };
/// MPICH's `MPI_UNSIGNED_LONG_LONG`; that of Open MPI is the address of a variable.
const UNSIGNED_LONG_LONG: Word = 0x4c00_0819;

/// Variables that MPI had when those of this library were first told.
static BASE: OnceLock<c_int> = OnceLock::new();

/// Calls the next library's function.
macro_rules! next {
    ($name:literal, $($argument:ident: $type:ty),*) => {{
        type Function = unsafe extern "C" fn($($type),*) -> c_int;
        static NEXT: Next = Next::new($name);
        NEXT.require::<Function>()($($argument),*)
    }};
}

/// Returns a code unless it says that all is well.
macro_rules! check {
    ($code:expr) => {
        match $code {
            SUCCESS => {}
            code => return code,
        }
    };
}

/// How many variables MPI had when this library's were first told.
///
/// # Safety
/// The program's MPI is the one that this library was built with.
unsafe fn base() -> Result<c_int, c_int> {
    let mut number = 0;
    let to = &raw mut number;
    // SAFETY: promised by the caller.
    match unsafe { next!(c"PMPI_T_pvar_get_num", to: *mut c_int) } {
        SUCCESS => Ok(*BASE.get_or_init(|| number)),
        code => Err(code),
    }
}

fn class(variable: &Variable) -> c_int {
    match variable.class {
        Class::Counter => COUNTER,
        Class::Aggregate => AGGREGATE,
    }
}

fn now(variable: usize) -> u64 {
    Values::now().of(&VARIABLES[variable])
}

fn code(outcome: Result<(), Invalid>) -> c_int {
    match outcome {
        Ok(()) => SUCCESS,
        Err(Invalid) => ffi::MPI_T_ERR_INVALID_HANDLE as c_int,
    }
}

/// The handle that stands for all of a session.
fn all_handles() -> Word {
    if !IS_MPICH {
        return Word::MAX;
    }
    let variable = library::variable(c"MPI_T_PVAR_ALL_HANDLES").cast::<Word>();
    // SAFETY: MPICH has a constant of that name, which is an address.
    if variable.is_null() { Word::MAX } else { unsafe { *variable } }
}

/// Fills a tool's array with a text, as much of it as there is room for, and tells how much there would have to be.
///
/// # Safety
/// `to` is null or has as many bytes as `len` says, which is null or can be written.
unsafe fn put_text(text: &str, to: *mut c_char, len: *mut c_int) {
    // SAFETY: promised by the caller.
    unsafe {
        let Some(len) = len.as_mut() else { return };
        let room = usize::try_from(*len).unwrap_or(0);
        if !to.is_null() && room > 0 {
            let count = text.len().min(room - 1);
            to.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), count);
            *to.add(count) = 0;
        }
        *len = text.len() as c_int + 1;
    }
}

/// Writes a number where a tool wants to have it.
///
/// # Safety
/// `to` is null or can be written.
unsafe fn put<T>(value: T, to: *mut T) {
    if !to.is_null() {
        // SAFETY: promised by the caller.
        unsafe { to.write(value) };
    }
}

/// `MPI_T_pvar_get_num`.
///
/// # Safety
/// As for the function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_T_pvar_get_num(number: *mut c_int) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        check!(next!(c"PMPI_T_pvar_get_num", number: *mut c_int));
        if library::is_ours() && !number.is_null() {
            BASE.get_or_init(|| *number);
            *number += COUNT;
        }
        SUCCESS
    }
}

/// `MPI_T_pvar_get_index`.
///
/// # Safety
/// As for the function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_T_pvar_get_index(
    name: *const c_char,
    wanted: c_int,
    index: *mut c_int,
) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        if library::is_ours() && !name.is_null() && !index.is_null() {
            let base = match base() {
                Ok(base) => base,
                Err(code) => return code,
            };
            let text = CStr::from_ptr(name).to_bytes();
            if let Some(at) = VARIABLES.iter().position(|one| one.name.as_bytes() == text) {
                if class(&VARIABLES[at]) != wanted {
                    return ffi::MPI_T_ERR_INVALID_NAME as c_int;
                }
                *index = base + at as c_int;
                return SUCCESS;
            }
        }
        check!(
            next!(c"PMPI_T_pvar_get_index", name: *const c_char, wanted: c_int, index: *mut c_int)
        );
        if let (Some(base), Some(index)) = (BASE.get(), index.as_mut()) {
            *index = index_of_theirs(*index, *base, COUNT);
        }
        SUCCESS
    }
}

/// Whose variable an index is of.
///
/// # Safety
/// As for [`base`].
unsafe fn find(index: c_int) -> Result<Place, c_int> {
    if !library::is_ours() {
        return Ok(Place::Theirs(index));
    }
    // SAFETY: promised by the caller.
    unsafe { base() }.map(|base| place(index, base, COUNT))
}

/// `MPI_T_pvar_get_info`.
///
/// # Safety
/// As for the function of that name.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the standard's")]
pub unsafe extern "C" fn MPI_T_pvar_get_info(
    index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    verbosity: *mut c_int,
    var_class: *mut c_int,
    datatype: *mut ffi::MPI_Datatype,
    enumtype: *mut Word,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
    readonly: *mut c_int,
    continuous: *mut c_int,
    atomic: *mut c_int,
) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        match find(index) {
            Err(code) => code,
            Ok(Place::Theirs(index)) => next!(
                c"PMPI_T_pvar_get_info",
                index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int,
                var_class: *mut c_int, datatype: *mut ffi::MPI_Datatype, enumtype: *mut Word,
                desc: *mut c_char, desc_len: *mut c_int, bind: *mut c_int, readonly: *mut c_int,
                continuous: *mut c_int, atomic: *mut c_int
            ),
            Ok(Place::Ours(at)) => {
                let variable = &VARIABLES[at];
                put_text(variable.name, name, name_len);
                put_text(variable.about, desc, desc_len);
                put(VERBOSITY, verbosity);
                put(class(variable), var_class);
                let kind = match IS_MPICH {
                    true => UNSIGNED_LONG_LONG,
                    false => library::variable(c"ompi_mpi_unsigned_long_long").addr(),
                };
                put(library::handle(kind), datatype);
                put(0, enumtype);
                put(BIND_NO_OBJECT, bind);
                // A handle is started, stopped, written and reset by who has it, and is nobody else's.
                put(0, readonly);
                put(0, continuous);
                put(0, atomic);
                SUCCESS
            }
        }
    }
}

/// `MPI_T_pvar_handle_alloc`.
///
/// # Safety
/// As for the function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_T_pvar_handle_alloc(
    session: Word,
    index: c_int,
    object: *mut std::ffi::c_void,
    handle: *mut Word,
    count: *mut c_int,
) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        match find(index) {
            Err(code) => code,
            Ok(Place::Theirs(index)) => next!(
                c"PMPI_T_pvar_handle_alloc",
                session: Word, index: c_int, object: *mut std::ffi::c_void, handle: *mut Word,
                count: *mut c_int
            ),
            Ok(Place::Ours(at)) => {
                put(handles().add(session, at), handle);
                put(1, count);
                SUCCESS
            }
        }
    }
}

/// `MPI_T_pvar_handle_free`.
///
/// # Safety
/// As for the function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_T_pvar_handle_free(session: Word, handle: *mut Word) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        if handle.is_null() || !handles().has(*handle) {
            return next!(c"PMPI_T_pvar_handle_free", session: Word, handle: *mut Word);
        }
        let freed = handles().remove(session, *handle);
        if freed.is_ok() {
            // Both libraries' MPI_T_PVAR_HANDLE_NULL.
            *handle = 0;
        }
        code(freed)
    }
}

/// `MPI_T_pvar_session_free`.
///
/// # Safety
/// As for the function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_T_pvar_session_free(session: *mut Word) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        let freed = session.as_ref().copied();
        check!(next!(c"PMPI_T_pvar_session_free", session: *mut Word));
        if let Some(session) = freed {
            handles().remove_session(session);
        }
        SUCCESS
    }
}

/// A function of a session and a handle, or of all handles of the session.
macro_rules! controls {
    ($name:ident, $next:literal, $does:expr) => {
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As for the function of that name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(session: Word, handle: Word) -> c_int {
            let does = $does;
            if handles().has(handle) {
                return code(does(&mut *handles(), session, handle));
            }
            // SAFETY: promised by the caller.
            unsafe { check!(next!($next, session: Word, handle: Word)) };
            if handle == all_handles() {
                // Each is one of the session's.
                handles().for_each(session, |handles, one| _ = does(handles, session, one));
            }
            SUCCESS
        }
    };
}

controls!(MPI_T_pvar_start, c"PMPI_T_pvar_start", |handles: &mut Handles, session, handle| handles
    .start(session, handle, now));
controls!(MPI_T_pvar_stop, c"PMPI_T_pvar_stop", |handles: &mut Handles, session, handle| handles
    .stop(session, handle, now));
controls!(MPI_T_pvar_reset, c"PMPI_T_pvar_reset", |handles: &mut Handles, session, handle| handles
    .write(session, handle, 0, now));

/// `MPI_T_pvar_read`.
///
/// # Safety
/// As for the function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_T_pvar_read(session: Word, handle: Word, to: *mut u64) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        if !handles().has(handle) {
            return next!(c"PMPI_T_pvar_read", session: Word, handle: Word, to: *mut u64);
        }
        let value = handles().read(session, handle, now);
        code(value.map(|value| to.write_unaligned(value)))
    }
}

/// `MPI_T_pvar_readreset`.
///
/// # Safety
/// As for the function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_T_pvar_readreset(session: Word, handle: Word, to: *mut u64) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        if !handles().has(handle) {
            return next!(c"PMPI_T_pvar_readreset", session: Word, handle: Word, to: *mut u64);
        }
        // One look, so that nothing is counted in between.
        let values = Values::now();
        let now = |variable: usize| values.of(&VARIABLES[variable]);
        let mut handles = handles();
        let value = handles.read(session, handle, now);
        code(value.and_then(|value| {
            to.write_unaligned(value);
            handles.write(session, handle, 0, now)
        }))
    }
}

/// `MPI_T_pvar_write`.
///
/// # Safety
/// As for the function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_T_pvar_write(session: Word, handle: Word, from: *const u64) -> c_int {
    // SAFETY: promised by the caller.
    unsafe {
        if !handles().has(handle) {
            return next!(c"PMPI_T_pvar_write", session: Word, handle: Word, from: *const u64);
        }
        code(handles().write(session, handle, from.read_unaligned(), now))
    }
}

/// `MPI_T_category_get_pvars`: the indices are those of MPI, which tools may know by others.
///
/// # Safety
/// As for the function of that name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_T_category_get_pvars(
    category: c_int,
    len: c_int,
    indices: *mut c_int,
) -> c_int {
    // SAFETY: promised by the caller; what is not wanted of a category is null.
    unsafe {
        check!(
            next!(c"PMPI_T_category_get_pvars", category: c_int, len: c_int, indices: *mut c_int)
        );
        let Some(base) = BASE.get() else { return SUCCESS };
        let mut number = 0;
        let (none, pvars) = (std::ptr::null_mut::<c_int>(), &raw mut number);
        let text = none.cast::<c_char>();
        check!(next!(
            c"PMPI_T_category_get_info",
            category: c_int, text: *mut c_char, none: *mut c_int, text: *mut c_char,
            none: *mut c_int, none: *mut c_int, pvars: *mut c_int, none: *mut c_int
        ));
        for at in 0..number.min(len).max(0) as usize {
            let index = indices.add(at);
            *index = index_of_theirs(*index, *base, COUNT);
        }
        SUCCESS
    }
}
