//! What libibumad refused.

use std::fmt;
use std::io;

/// A call of libibumad that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    call: &'static str,
    object: String,
    errno: i32,
}

impl Error {
    /// The error that a call answers with, which is a negative error number; the C library's `errno` where
    /// it is just -1.
    pub(super) fn new(call: &'static str, object: &str, answer: i32) -> Error {
        let errno = match answer {
            -1 => io::Error::last_os_error().raw_os_error().unwrap_or(0),
            answer => answer.saturating_neg(),
        };
        Error { call, object: object.to_owned(), errno }
    }

    /// The system's error number.
    pub fn errno(&self) -> i32 {
        self.errno
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = io::Error::from_raw_os_error(self.errno);
        write!(f, "{} on {} failed: {reason}", self.call, self.object)
    }
}

impl std::error::Error for Error {}
