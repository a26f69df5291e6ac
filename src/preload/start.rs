//! The symbols that start MPI. A program that opens its MPI library late, as Python does, finds the symbols of the one that
//! this library was built with first, whichever it opens: where that is another, its own functions and handles do not
//! belong together, and it ends here with what to do, not somewhere in MPI.

use super::launched;
use super::library::{BUILT_WITH, Family, Next, Word};
use super::tally;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

/// A function that starts MPI. The next one is called by its own name, as tools have such functions, too.
macro_rules! starts {
    ($name:ident, $next:literal $(, $argument:ident: $type:ty)*) => {
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As for the function of that name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            type Function = unsafe extern "C" fn($($type),*) -> c_int;
            static NEXT: Next = Next::new($next);
            check();
            // SAFETY: promised by the caller.
            unsafe { NEXT.require::<Function>()($($argument),*) }
        }
    };
}

starts!(MPI_Init, c"MPI_Init", argc: *mut c_int, argv: *mut *mut *mut c_char);
starts!(
    MPI_Init_thread,
    c"MPI_Init_thread",
    argc: *mut c_int,
    argv: *mut *mut *mut c_char,
    required: c_int,
    provided: *mut c_int
);
starts!(MPI_Session_init, c"MPI_Session_init", info: Word, errhandler: Word, session: *mut c_void);

/// Ends the process where the program's functions are those of one library, and its handles another's.
fn check() {
    let loaded = loaded();
    let Some(other) = loaded.iter().find(|name| family(name).is_some_and(|it| it != BUILT_WITH))
    else {
        return;
    };
    // Where the program needs the other one itself, its functions come first, and everything is passed on to them.
    if owner_of(c"PMPI_Comm_size").and_then(|name| family(&name)) != Some(BUILT_WITH) {
        return;
    }
    if launched::is_first() {
        tally::say(&format!(
            "what is preloaded was built for {BUILT_WITH:?}, and the program has opened {other}, whose functions are now \
             mixed up: preload libverbcast.so as built for that library (MPICC=mpicc.NAME), or none"
        ));
    }
    std::process::exit(1);
}

/// The family of a library by its file's name; none for other libraries.
fn family(name: &str) -> Option<Family> {
    let is = |begin: &str| name.starts_with(begin);
    // MPICH and what shares its interface: libmpich.so.12, libmpi.so.12; Open MPI: libmpi.so.40 and those before.
    if is("libmpich.so") || is("libmpi.so.12") {
        return Some(Family::Mpich);
    }
    (is("libmpi.so.") || is("libopen-pal.so")).then_some(Family::OpenMpi)
}

/// The names of all libraries of the process.
fn loaded() -> Vec<String> {
    /// # Safety
    /// For the loader, with the address of a vector of names.
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> c_int {
        // SAFETY: the name is a C string or null, and `to` is what was given below.
        unsafe {
            (*to.cast::<Vec<String>>()).extend(file_name((*info).dlpi_name));
        }
        0
    }
    let mut names: Vec<String> = Vec::new();
    // SAFETY: the function has the type that is wanted, and gets the vector back while it is there.
    unsafe { libc::dl_iterate_phdr(Some(add), ptr::from_mut(&mut names).cast()) };
    names
}

/// The name of the library that a symbol of the process is found in.
fn owner_of(symbol: &CStr) -> Option<String> {
    // SAFETY: the symbol is a C string; what is asked is told of by static strings.
    unsafe {
        let address = libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr());
        let mut info: libc::Dl_info = std::mem::zeroed();
        let is_found = !address.is_null() && libc::dladdr(address, &mut info) != 0;
        is_found.then(|| file_name(info.dli_fname)).flatten()
    }
}

/// # Safety
/// The path is a C string or null.
unsafe fn file_name(path: *const c_char) -> Option<String> {
    if path.is_null() {
        return None;
    }
    // SAFETY: promised by the caller.
    let path = unsafe { CStr::from_ptr(path) }.to_string_lossy();
    Some(Path::new(&*path).file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::{Family, family, loaded, owner_of};

    #[test]
    fn libraries_are_told_by_their_files() {
        for (name, is) in [
            ("libmpi.so.40", Some(Family::OpenMpi)),
            ("libmpi.so.40.30.4", Some(Family::OpenMpi)),
            ("libmpich.so.12", Some(Family::Mpich)),
            ("libmpi.so.12.3.2", Some(Family::Mpich)),
            ("libmpi_mpifh.so.40", None),
            ("libmpichfort.so.12", None),
            ("libc.so.6", None),
        ] {
            assert_eq!(family(name), is, "{name}");
        }
    }

    #[test]
    fn what_is_loaded_is_seen() {
        let owner = owner_of(c"malloc").unwrap();
        assert!(loaded().contains(&owner), "{owner}");
        assert_eq!(owner_of(c"no_such_function_anywhere"), None);
    }
}
