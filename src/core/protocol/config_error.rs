//! What is wrong with a protocol's parameters.

use std::fmt;

/// A parameter of a protocol that makes no sense, alone or with the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigError(pub(super) &'static str);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for ConfigError {}
