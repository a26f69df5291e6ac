//! What can go wrong with one block of a switch.

use crate::smp::Unanswered;
use std::fmt;

/// Why a block of a switch was not written or put back. `block` names the switch, the block and the position.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskError {
    /// The switch did not answer, or refused.
    Unanswered {
        /// Which block of which switch.
        block: String,
        /// What was asked, and why there is no answer.
        error: Unanswered,
    },
    /// Somebody else has changed it since it was looked at.
    ChangedMeanwhile {
        /// Which block of which switch.
        block: String,
    },
    /// The switch has not kept what was written.
    ReadsBackDifferently {
        /// Which block of which switch.
        block: String,
    },
    /// It is neither as it was before nor as it was written, and so left to whoever has changed it.
    Foreign {
        /// Which block of which switch.
        block: String,
    },
    /// Its switch has failed before, and was not asked again.
    NotTried {
        /// Which block of which switch.
        block: String,
    },
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskError::Unanswered { block, error } => write!(f, "{block}: {error}"),
            TaskError::ChangedMeanwhile { block } => {
                write!(f, "{block} has been changed by somebody else meanwhile")
            }
            TaskError::ReadsBackDifferently { block } => {
                write!(f, "{block} reads back differently from what was written")
            }
            TaskError::Foreign { block } => {
                write!(f, "{block} is not as it was written: left to whoever has changed it")
            }
            TaskError::NotTried { block } => {
                write!(f, "{block}: not tried, as its switch has failed before")
            }
        }
    }
}

impl std::error::Error for TaskError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TaskError::Unanswered { error, .. } => Some(error),
            _ => None,
        }
    }
}
