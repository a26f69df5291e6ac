//! How the clocks of a job's ranks stood to one another.

use serde::{Deserialize, Serialize};

/// Each rank's clock beside rank 0's, at one time. The clock of a rank is its host's monotonic one (CLOCK_MONOTONIC);
/// times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// When they had been compared, on rank 0's clock.
    pub at: u64,
    /// By rank, its clock less rank 0's.
    pub offsets: Vec<i64>,
    /// How far each offset may be wrong.
    pub error: u64,
}
