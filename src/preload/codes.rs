//! Errors as MPI's error codes, whose texts say what happened: `MPI_Error_string` gives them to the program, and MPI
//! prints them where an error ends it.

use super::library::{BUILT_WITH, Family};
use super::tally;
use mpi::ffi;
use multicast::FailureKind;
use multicast::broadcast;
use multicast::mpi::{Error, MpiError};
use std::env;
use std::ffi::{CStr, CString, OsStr, c_int};

/// `MPIX_ERR_PROC_FAILED` of the `mpi.h` of MPICH, whose extension it is.
const MPICH_PROCESS_FAILED: c_int = 101;
/// By which users ask MPICH to go on where a process has failed.
const MPICH_TOLERANT: &str = "MPIR_CVAR_ENABLE_FT";

/// Error classes of verbcast's own, one for each kind of error.
#[derive(Clone, Copy, Debug)]
pub struct Codes {
    failed: Class,
    other: Class,
    /// What MPI itself returns where a process is gone, if it goes on then. MPICH takes no codes of others into that class.
    gone: Option<c_int>,
}

/// A class of errors.
#[derive(Clone, Copy, Debug)]
struct Class {
    class: c_int,
    /// A code in it, for when MPI has no more of them.
    any: c_int,
}

impl Codes {
    /// Adds the classes to MPI's.
    ///
    /// # Errors
    /// If MPI fails.
    ///
    /// # Safety
    /// MPI is initialised.
    pub unsafe fn new() -> Result<Self, MpiError> {
        // SAFETY: promised by the caller.
        unsafe {
            Ok(Codes {
                failed: Class::new(
                    c"verbcast: a rank failed, left, or called with another root, length or wrong arguments",
                )?,
                other: Class::new(c"verbcast: the broadcast could not be done")?,
                gone: gone(env::var_os(MPICH_TOLERANT).as_deref()),
            })
        }
    }

    /// A code for an error, of which `what` tells.
    ///
    /// # Safety
    /// MPI is not finalised, and the calling thread may call it.
    pub unsafe fn of(&self, error: &Error, what: &str) -> c_int {
        if let Some(code) = self.gone.filter(|_| is_unreachable(error)) {
            tally::say(what);
            return code;
        }
        let class = match error {
            Error::Broadcast(broadcast::Error::Failed(_) | broadcast::Error::Timeout { .. }) => {
                self.failed
            }
            Error::Mpi(MpiError { code, .. }) => {
                tally::say(what);
                return *code;
            }
            Error::TooLong => {
                tally::say(what);
                return ffi::MPI_ERR_COUNT as c_int;
            }
            _ => self.other,
        };
        // SAFETY: promised by the caller.
        unsafe { class.code(what) }
    }

    /// A code for a broadcast that a rank gave up.
    ///
    /// # Safety
    /// As for [`of`](Self::of).
    pub unsafe fn failed(&self, what: &str) -> c_int {
        // SAFETY: promised by the caller.
        unsafe { self.failed.code(what) }
    }
}

impl Class {
    /// # Safety
    /// MPI runs, and the calling thread may call it.
    unsafe fn new(text: &CStr) -> Result<Self, MpiError> {
        let mut class = 0;
        // SAFETY: promised by the caller; the text is shorter than the longest.
        unsafe {
            MpiError::check("MPI_Add_error_class", ffi::PMPI_Add_error_class(&mut class))?;
            let added = ffi::PMPI_Add_error_string(class, text.as_ptr());
            MpiError::check("MPI_Add_error_string", added)?;
            Ok(Class { class, any: add(class, text)? })
        }
    }

    /// A new code with this text. Where there can be none, it goes to stderr.
    ///
    /// # Safety
    /// MPI runs, and the calling thread may call it.
    unsafe fn code(self, what: &str) -> c_int {
        // SAFETY: promised by the caller; the text is not too long.
        match unsafe { add(self.class, &text(what)) } {
            Ok(code) => {
                tally::note(what);
                code
            }
            Err(_) => {
                tally::say(what);
                self.any
            }
        }
    }
}

/// Whether a rank is gone, and nothing else is wrong.
fn is_unreachable(error: &Error) -> bool {
    match error {
        Error::Broadcast(broadcast::Error::Failed(failure)) => {
            failure.kind == FailureKind::Unreachable
        }
        _ => false,
    }
}

/// What the MPI library returns where a process is gone, with this value of [`MPICH_TOLERANT`].
fn gone(tolerant: Option<&OsStr>) -> Option<c_int> {
    let is_tolerant = tolerant.is_some_and(|value| {
        ["1", "yes", "true"].iter().any(|yes| value.eq_ignore_ascii_case(yes))
    });
    (is_tolerant && matches!(BUILT_WITH, Family::Mpich)).then_some(MPICH_PROCESS_FAILED)
}

/// A code in a class.
///
/// # Safety
/// MPI runs, and the calling thread may call it. The text is no longer than an error's may be.
unsafe fn add(class: c_int, text: &CStr) -> Result<c_int, MpiError> {
    let mut code = 0;
    // SAFETY: promised by the caller.
    unsafe {
        MpiError::check("MPI_Add_error_code", ffi::PMPI_Add_error_code(class, &mut code))?;
        let added = ffi::PMPI_Add_error_string(code, text.as_ptr());
        MpiError::check("MPI_Add_error_string", added)?;
    }
    Ok(code)
}

/// As much of a text as an error may have, in one line.
fn text(what: &str) -> CString {
    let mut text = tally::line(what).replace('\0', " ");
    let longest = text.len().min(ffi::MPI_MAX_ERROR_STRING as usize - 1);
    text.truncate((0..=longest).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0));
    CString::new(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{BUILT_WITH, Family, MPICH_PROCESS_FAILED, ffi, gone, text};
    use std::ffi::OsStr;

    #[test]
    fn a_process_that_is_gone_has_mpichs_code_where_that_is_to_go_on() {
        let code = matches!(BUILT_WITH, Family::Mpich).then_some(MPICH_PROCESS_FAILED);
        assert_eq!(gone(Some(OsStr::new("1"))), code);
        assert_eq!(gone(Some(OsStr::new("Yes"))), code);
        assert_eq!(gone(Some(OsStr::new("0"))), None);
        assert_eq!(gone(None), None);
    }

    #[test]
    fn a_text_is_one_line_and_no_longer_than_mpi_takes() {
        let short = text("rank 1:\n  failed");
        assert_eq!(short.to_str(), Ok("verbcast: rank 1:; failed"));
        let long = text(&"ä".repeat(1000));
        let longest = ffi::MPI_MAX_ERROR_STRING as usize;
        assert!((longest - 2..longest).contains(&long.as_bytes().len()));
        assert!(long.to_str().is_ok());
    }
}
