//! The papers' analytical models: what a broadcast should take, from a few measured times.

mod penalty;
mod window;

pub use penalty::{mean_penalty_rounds, penalty_rounds};
pub use window::Parameters;

/// The number of times that `n` must be halved to come to one: the logarithm to base 2, rounded up.
pub(crate) fn halvings(n: u32) -> u32 {
    n.max(1).next_power_of_two().trailing_zeros()
}
