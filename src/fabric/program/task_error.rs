//! What can go wrong with one block of a switch.

use crate::smp::Unanswered;

/// Why a block of a switch was not written or put back. `block` names the switch, the block and the position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// The switch did not answer, or refused.
    #[error("{block}: {error}")]
    Unanswered {
        /// Which block of which switch.
        block: String,
        /// What was asked, and why there is no answer.
        #[source]
        error: Unanswered,
    },
    /// Somebody else has changed it since it was looked at.
    #[error("{block} has been changed by somebody else meanwhile")]
    ChangedMeanwhile {
        /// Which block of which switch.
        block: String,
    },
    /// The switch has not kept what was written.
    #[error("{block} reads back differently from what was written")]
    ReadsBackDifferently {
        /// Which block of which switch.
        block: String,
    },
    /// It is neither as it was before nor as it was written, and so left to whoever has changed it.
    #[error("{block} is not as it was written: left to whoever has changed it")]
    Foreign {
        /// Which block of which switch.
        block: String,
    },
    /// Its switch has failed before, and was not asked again.
    #[error("{block}: not tried, as its switch has failed before")]
    NotTried {
        /// Which block of which switch.
        block: String,
    },
}
