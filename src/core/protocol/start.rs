//! Whether an operation may begin.

use super::Fragments;
use crate::rank::Rank;

/// Why an operation cannot begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// As many operations are in flight as the core was configured for.
    #[error("{0} broadcasts are in flight, which is the most allowed")]
    TooManyInFlight(u32),
    /// The root is not a rank of the communicator.
    #[error("root {} is not one of the {size} ranks", root.0)]
    NoSuchRoot {
        /// The root that was asked for.
        root: Rank,
        /// The number of ranks.
        size: u32,
    },
    /// The message has more fragments than the core or the header can number.
    #[error("a message of {0} bytes is too long")]
    TooLong(u64),
}

/// What a core can take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The number of ranks.
    pub size: u32,
    /// Most operations in flight.
    pub in_flight: u32,
    /// Bytes of a message in a fragment.
    pub fragment_len: usize,
    /// Most fragments of a message.
    pub fragments: u32,
}

impl Limits {
    /// Cuts the message of an operation that begins while `begun` others are in flight.
    pub fn admit(&self, root: Rank, len: u64, begun: usize) -> Result<Fragments, StartError> {
        if root.0 >= self.size {
            return Err(StartError::NoSuchRoot { root, size: self.size });
        }
        if begun >= self.in_flight as usize {
            return Err(StartError::TooManyInFlight(self.in_flight));
        }
        Fragments::new(len, self.fragment_len)
            .filter(|cut| cut.count() <= self.fragments)
            .ok_or(StartError::TooLong(len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_core_cannot_take_is_refused() {
        let limits = Limits { size: 3, in_flight: 2, fragment_len: 10, fragments: 4 };
        assert_eq!(limits.admit(Rank(2), 40, 1).unwrap().count(), 4);
        let no_root = StartError::NoSuchRoot { root: Rank(3), size: 3 };
        assert_eq!(limits.admit(Rank(3), 40, 1), Err(no_root));
        assert_eq!(limits.admit(Rank(2), 40, 2), Err(StartError::TooManyInFlight(2)));
        assert_eq!(limits.admit(Rank(2), 41, 1), Err(StartError::TooLong(41)));
    }
}
