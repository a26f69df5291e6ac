//! What can go wrong with a broadcast among MPI ranks.

use crate::broadcast;
use mpi::ffi;
use std::ffi::{CStr, c_char, c_int};
use std::fmt;

/// What can go wrong with a broadcast among MPI ranks.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The broadcast failed.
    #[error(transparent)]
    Broadcast(broadcast::Error),
    /// An MPI call failed.
    #[error(transparent)]
    Mpi(MpiError),
    /// The message has more bytes than memory can hold.
    #[error("the message has more bytes than memory can hold")]
    TooLong,
}

impl<E: Into<broadcast::Error>> From<E> for Error {
    fn from(error: E) -> Self {
        Error::Broadcast(error.into())
    }
}

impl From<MpiError> for Error {
    fn from(error: MpiError) -> Self {
        Error::Mpi(error)
    }
}

/// An MPI call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MpiError {
    /// The call's name.
    pub call: &'static str,
    /// MPI's error code.
    pub code: c_int,
}

impl MpiError {
    /// The outcome of a call of MPI.
    ///
    /// # Errors
    /// If its code is not `MPI_SUCCESS`.
    pub fn check(call: &'static str, code: c_int) -> Result<(), MpiError> {
        match code as u32 {
            ffi::MPI_SUCCESS => Ok(()),
            _ => Err(MpiError { call, code }),
        }
    }
}

impl fmt::Display for MpiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MpiError { call, code } = self;
        let mut text = [0 as c_char; ffi::MPI_MAX_ERROR_STRING as usize + 1];
        let mut len = 0;
        // SAFETY: the buffer is longer than any error's text.
        let asked = unsafe { ffi::PMPI_Error_string(*code, text.as_mut_ptr(), &mut len) };
        match asked as u32 {
            ffi::MPI_SUCCESS => {
                // SAFETY: MPI wrote a terminated string, and the last byte is zero in any case.
                let text = unsafe { CStr::from_ptr(text.as_ptr()) };
                write!(f, "{call}: {}", text.to_string_lossy())
            }
            _ => write!(f, "{call}: error {code}"),
        }
    }
}

impl std::error::Error for MpiError {}
