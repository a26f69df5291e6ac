//! Errors as MPI's error codes, whose texts say what happened: `MPI_Error_string` gives them to the program, and MPI
//! prints them where an error ends it.

use super::tally;
use mpi::ffi;
use multicast::broadcast;
use multicast::mpi::{Error, MpiError};
use std::ffi::{CStr, CString, c_int};

/// Error classes of verbcast's own, one for each kind of error.
#[derive(Clone, Copy, Debug)]
pub struct Codes {
    failed: Class,
    other: Class,
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
            })
        }
    }

    /// A code for an error, of which `what` tells.
    ///
    /// # Safety
    /// MPI is not finalised, and the calling thread may call it.
    pub unsafe fn of(&self, error: &Error, what: &str) -> c_int {
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

/// A code in a class.
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
    use super::{ffi, text};

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
