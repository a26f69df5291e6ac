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
    /// The most bytes in a segment; a long message is written one segment at a time.
    pub segment_len: usize,
    /// The length in bytes from which on a message is long; none: no message is.
    pub long_from: Option<u64>,
    /// Most operations in flight at a rank.
    pub in_flight: u32,
    /// Most packets that a rank has at another which has not taken them.
    pub eager: u32,
}

impl Config {
    /// Whole fragments in a segment, at least one.
    pub(super) fn fragments_in_segment(&self) -> u32 {
        u32::try_from(self.segment_len / self.fragment_len).unwrap_or(u32::MAX).max(1)
    }

    /// Whether a message goes in segments.
    pub(super) fn is_long(&self, len: u64) -> bool {
        self.long_from.is_some_and(|least| len >= least)
    }

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
