//! What a verb refused, on which object, and why.

use std::fmt;
use std::io;

/// A call of libibverbs or librdmacm that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    call: &'static str,
    object: String,
    errno: i32,
    hint: Option<String>,
}

/// A result of this module.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(super) fn new(call: &'static str, object: impl Into<String>, errno: i32) -> Self {
        Error { call, object: object.into(), errno, hint: None }
    }

    /// The error that the C library's `errno` holds.
    pub(super) fn last(call: &'static str, object: impl Into<String>) -> Self {
        let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
        Error::new(call, object, errno)
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether the kernel's RDMA subsystem does not have what was asked for (ENOTSUPP, which the C
    /// library has no name for, or EOPNOTSUPP).
    pub fn is_unsupported(&self) -> bool {
        [524, libc::EOPNOTSUPP].contains(&self.errno)
    }

    /// Whether the kernel has not found, in the time that it takes for that, where an address is: a packet of its question may have been
    /// lost.
    pub fn is_unresolved(&self) -> bool {
        [libc::ETIMEDOUT, libc::EHOSTUNREACH].contains(&self.errno)
    }

    /// The system's error number.
    pub fn errno(&self) -> i32 {
        self.errno
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = io::Error::from_raw_os_error(self.errno);
        write!(f, "{} on {} failed: {reason}", self.call, self.object)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

/// Turns the answer of a call that returns an errno, or -1 with `errno` set.
pub(super) fn check(call: &'static str, object: &str, answer: i32) -> Result<()> {
    match answer {
        0 => Ok(()),
        -1 => Err(Error::last(call, object)),
        errno => Err(Error::new(call, object, errno.abs())),
    }
}
