//! Which MPI the program runs with, and the next library's functions.

use super::launched;
use super::reason::Reason;
use super::tally;
use mpi::ffi::{self, MPI_Comm};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// More than the longest name of any library's version.
const MAX_VERSION: usize = 16 << 10;

/// An argument as it comes in a register: the handles of some libraries are numbers, of others addresses,
/// and both are passed on untouched in this.
pub type Word = usize;

/// The handle in a word.
///
/// # Safety
/// `T` is the type of handles of the MPI that this library was built with, and the program's too.
pub unsafe fn handle<T: Copy>(word: Word) -> T {
    const { assert!(size_of::<T>() <= size_of::<Word>() && cfg!(target_endian = "little")) };
    // SAFETY: promised by the caller; the handle is in the word's first bytes.
    unsafe { std::mem::transmute_copy(&word) }
}

/// A handle as a word, the same one for the same handle.
pub fn word<T: Copy>(handle: T) -> Word {
    const { assert!(size_of::<T>() <= size_of::<Word>() && cfg!(target_endian = "little")) };
    let mut word = 0;
    // SAFETY: a word has room for it, and handles are numbers or addresses, all of whose bytes are there.
    unsafe { std::ptr::from_mut(&mut word).cast::<T>().write_unaligned(handle) };
    word
}

/// Libraries that share a binary interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Handles are addresses.
    OpenMpi,
    /// Handles are numbers: MPICH, and those with its binary interface.
    Mpich,
}

/// The family of the bindings.
pub const BUILT_WITH: Family =
    if size_of::<MPI_Comm>() == size_of::<c_int>() { Family::Mpich } else { Family::OpenMpi };

impl Family {
    fn of(version: &str) -> Option<Family> {
        let has = |names: &[&str]| names.iter().any(|name| version.contains(name));
        if has(&["Open MPI", "Spectrum MPI"]) {
            Some(Family::OpenMpi)
        } else if has(&["MPICH", "MVAPICH", "Intel(R) MPI"]) {
            Some(Family::Mpich)
        } else {
            None
        }
    }
}

/// Whether MPI's Fortran functions call its C functions, and so come back to this library's.
pub const FORTRAN_CALLS_C: bool = matches!(BUILT_WITH, Family::Mpich);

/// Whether MPI polls requests that are made so, rather than call what is registered with its progress engine.
pub const POLLS_REQUESTS: bool = matches!(BUILT_WITH, Family::Mpich);

/// Whether the program's MPI is the one that this library was built with. If not, says so once.
pub fn is_ours() -> bool {
    static IS_OURS: OnceLock<bool> = OnceLock::new();
    *IS_OURS.get_or_init(|| {
        let version = version();
        let is_standard = has_standard_interface();
        let is_ours = Family::of(&version) == Some(BUILT_WITH) && !is_standard;
        if !is_ours && launched::is_first() {
            let other = version.lines().next().unwrap_or_default();
            let interface = if is_standard { " with the standard's binary interface" } else { "" };
            let what = format!("{BUILT_WITH:?}, and the program runs with {other:?}{interface}");
            tally::warn(Reason::OtherLibrary, &what, true);
        }
        is_ours
    })
}

/// Whether handles are those of the standard's binary interface (MPI 5.0, section 20.2), which a library of any name may
/// have beside its own.
fn has_standard_interface() -> bool {
    type Function = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    static NEXT: Next = Next::new(c"MPI_Abi_get_version");
    let (mut major, mut minor) = (-1, -1);
    // SAFETY: the function has this type, and may be called at any time.
    unsafe { NEXT.get::<Function>() }.is_some_and(|ask| {
        // SAFETY: as above.
        let code = unsafe { ask(&mut major, &mut minor) };
        code == ffi::MPI_SUCCESS as c_int && major > 0
    })
}

fn version() -> String {
    let mut text = vec![0 as c_char; MAX_VERSION];
    let mut len = 0;
    // SAFETY: may be called at any time; the buffer is longer than any library's text.
    let text = unsafe {
        ffi::PMPI_Get_library_version(text.as_mut_ptr(), &mut len);
        text[MAX_VERSION - 1] = 0;
        CStr::from_ptr(text.as_ptr())
    };
    text.to_string_lossy().into_owned()
}

/// A function of the next library that has it, looked up once.
pub struct Next {
    name: &'static CStr,
    found: OnceLock<Option<Address>>,
}

#[derive(Clone, Copy)]
struct Address(*const c_void);

// SAFETY: the address of code, which stays where it is.
unsafe impl Send for Address {}
// SAFETY: the same.
unsafe impl Sync for Address {}

impl Next {
    /// The function of that name.
    pub const fn new(name: &'static CStr) -> Self {
        Next { name, found: OnceLock::new() }
    }

    /// It, if there is one.
    ///
    /// # Safety
    /// `F` is the function's type.
    pub unsafe fn get<F: Copy>(&self) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
        let found = self.found.get_or_init(|| {
            // SAFETY: the name is a C string.
            let address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
            (!address.is_null()).then_some(Address(address))
        });
        // SAFETY: promised by the caller, and a function's address is as large as any.
        found.map(|Address(address)| unsafe { std::mem::transmute_copy(&address) })
    }

    /// It, where the program cannot go on without.
    ///
    /// # Panics
    /// If there is none.
    ///
    /// # Safety
    /// As [`get`](Self::get).
    pub unsafe fn require<F: Copy>(&self) -> F {
        // SAFETY: promised by the caller.
        let found = unsafe { self.get() };
        found.unwrap_or_else(|| panic!("no library of the program has {:?}", self.name))
    }
}

/// The address of a variable, in whatever library or program has it first.
pub fn variable(name: &CStr) -> *const c_void {
    // SAFETY: the name is a C string.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

#[cfg(test)]
mod tests {
    use super::Family;

    #[test]
    fn libraries_are_told_by_their_versions() {
        for (version, family) in [
            ("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", Some(Family::OpenMpi)),
            ("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7", Some(Family::Mpich)),
            ("MVAPICH2 Version      :\t2.3.7", Some(Family::Mpich)),
            ("Intel(R) MPI Library 2021.10 for Linux* OS", Some(Family::Mpich)),
            ("something else", None),
        ] {
            assert_eq!(Family::of(version), family, "{version}");
        }
    }
}
