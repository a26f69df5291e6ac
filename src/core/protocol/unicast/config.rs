//! Parameters of the unicast family.

use super::routes::Algorithm;
use crate::protocol::ConfigError;

/// Parameters of the unicast family, the same at every rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How messages are spread, unless an operation says otherwise.
    pub algorithm: Algorithm,
    /// Bytes of the message in a fragment.
    pub fragment_len: usize,
    /// Most operations in flight at a rank.
    pub in_flight: u32,
    /// Most packets that a rank has at another which has not taken them.
    pub eager: u32,
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let error = match self {
            Config { fragment_len: 0, .. } => ConfigError::FragmentLen,
            Config { in_flight: 0, .. } => ConfigError::NoneInFlight,
            Config { in_flight: 0x1000_0000.., .. } => ConfigError::TooManyInFlight,
            Config { eager: 0, .. } => ConfigError::Eager,
            _ => return Ok(()),
        };
        Err(error)
    }
}
