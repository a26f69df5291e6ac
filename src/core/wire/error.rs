//! Why bytes cannot be read.

use super::format::Format;
use std::fmt;

/// Why bytes are not what they are read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireError {
    /// They do not begin with the format's tag.
    Foreign {
        /// What was expected.
        format: Format,
    },
    /// They are of the format, in another version of it.
    Version {
        /// What was expected, in the version that is spoken here.
        format: Format,
        /// The version that the other side speaks.
        theirs: u8,
    },
    /// They end before the format does.
    Truncated {
        /// What was expected.
        format: Format,
    },
    /// They go on after the format's end.
    Trailing {
        /// What was expected.
        format: Format,
    },
    /// A field has a value that it may not have.
    Invalid {
        /// What was expected.
        format: Format,
        /// The field.
        field: &'static str,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireError::Foreign { format } => write!(f, "it is not {}", format.name),
            WireError::Version { format: Format { name, version, .. }, theirs } => {
                write!(f, "it is {name} of version {theirs}, but version {version} is read here")
            }
            WireError::Truncated { format } => write!(f, "{} is cut off", format.name),
            WireError::Trailing { format } => write!(f, "something follows {}", format.name),
            WireError::Invalid { format, field } => {
                write!(f, "{} has an impossible {field}", format.name)
            }
        }
    }
}

impl std::error::Error for WireError {}
