//! The failure of a transport.

use crate::rank::OpId;
use std::fmt;

/// The device or a system call failed; the transport is of no more use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportError {
    /// What failed, and where.
    pub what: String,
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for TransportError {}

impl TransportError {
    /// Bytes were asked for of a message that was not lent.
    pub fn not_lent(op: OpId) -> Self {
        TransportError { what: format!("{op} is in flight, but its message was not lent") }
    }
}
