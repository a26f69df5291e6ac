//! Errors as MPI's error codes.

use super::super::{Error, MpiError};
use crate::broadcast;
use mpi::ffi;
use std::ffi::{CStr, c_int};

/// An error class and code of verbcast's own for each kind of error.
#[derive(Clone, Copy, Debug)]
pub struct Codes {
    failed: c_int,
    other: c_int,
}

impl Codes {
    /// Adds them to MPI's.
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
                failed: add(
                    c"verbcast: a rank failed, left, or called with another root, length or wrong arguments",
                )?,
                other: add(c"verbcast: the broadcast could not be done")?,
            })
        }
    }

    /// The code of an error.
    pub fn of(&self, error: &Error) -> c_int {
        match error {
            Error::Broadcast(broadcast::Error::Failed(_) | broadcast::Error::Timeout { .. }) => {
                self.failed
            }
            Error::Broadcast(_) => self.other,
            Error::Mpi(error) => error.code,
            Error::TooLong => ffi::MPI_ERR_COUNT as c_int,
        }
    }

    /// The code of a broadcast that a rank gave up.
    pub fn failed(&self) -> c_int {
        self.failed
    }
}

/// A class with one code, which share a text.
unsafe fn add(text: &'static CStr) -> Result<c_int, MpiError> {
    let (mut class, mut code) = (0, 0);
    // SAFETY: promised by the caller; the texts are C strings shorter than the longest.
    unsafe {
        MpiError::check("MPI_Add_error_class", ffi::PMPI_Add_error_class(&mut class))?;
        MpiError::check("MPI_Add_error_code", ffi::PMPI_Add_error_code(class, &mut code))?;
        for number in [class, code] {
            let added = ffi::PMPI_Add_error_string(number, text.as_ptr());
            MpiError::check("MPI_Add_error_string", added)?;
        }
    }
    Ok(code)
}
