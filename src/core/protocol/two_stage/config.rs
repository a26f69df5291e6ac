//! Parameters of the two-stage protocol.

use crate::protocol::ConfigError;
use crate::rank::{OpId, Rank};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::time::Duration;

/// How the root is kept from multicasting before anybody listens (Hoefler 2007, section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronisation {
    /// It is not: the fastest where the root rarely comes first.
    None,
    /// The root waits this long.
    Delay(Duration),
    /// The root waits for one other rank, chosen anew for each operation from a seed that all ranks
    /// share, so that half of the ranks are there on average even in the worst pattern.
    RandomRank {
        /// The seed, the same at every rank.
        seed: u64,
    },
    /// The root waits for as long as ranks that lose its multicast came late before.
    Adaptive {
        /// The seed from which the rank that tells is drawn, the same at every rank.
        seed: u64,
        /// Longest delay.
        most: Duration,
    },
}

impl Synchronisation {
    /// The rank that tells the root that it has joined.
    pub(super) fn announcer(self, op: OpId, root: Rank, size: u32) -> Option<Rank> {
        match self {
            Synchronisation::RandomRank { seed } | Synchronisation::Adaptive { seed, .. } => {
                (size > 1).then(|| drawn_rank(seed, op, root, size))
            }
            Synchronisation::None | Synchronisation::Delay(_) => None,
        }
    }
}

/// Parameters of the two-stage protocol, the same at every rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Bytes of the message in a fragment.
    pub fragment_len: usize,
    /// Most fragments that the root multicasts ahead of its successor's acknowledgements.
    pub run_ahead: u32,
    /// Most operations in flight at a rank.
    pub in_flight: u32,
    /// Reliable messages that a rank's receive queue takes while nobody polls it.
    pub absorbed: u32,
    /// Messages that a rank forwards at most to a successor that has not begun to wait for them.
    pub eager: u32,
    /// How the root is kept from running ahead of the receivers.
    pub synchronisation: Synchronisation,
    /// Whether there is a stage 1. Without it the chain carries everything.
    pub multicast: bool,
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let error = match self {
            Config { fragment_len: 0, .. } => ConfigError::FragmentLen,
            Config { run_ahead: 0, .. } => ConfigError::RunAhead,
            Config { in_flight: 0, .. } => ConfigError::NoneInFlight,
            Config { in_flight: 0x1000_0000.., .. } => ConfigError::TooManyInFlight,
            _ => return Ok(()),
        };
        Err(error)
    }
}

/// A rank other than the root of `op`: the same at every rank, different from one operation to the
/// next.
fn drawn_rank(seed: u64, op: OpId, root: Rank, size: u32) -> Rank {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(u64::from(op.0));
    // The bias of a remainder over 64 bits is far below what a run could show.
    let steps = 1 + generator.next_u64() % u64::from(size - 1);
    Rank(((u64::from(root.0) + steps) % u64::from(size)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drawn_rank_is_never_the_root_and_anyone_else() {
        let mut seen = [0; 8];
        for op in 0..800 {
            seen[drawn_rank(7, OpId(op), Rank(3), 8).index()] += 1;
        }
        assert_eq!(seen[3], 0);
        assert!(seen.iter().enumerate().all(|(rank, n)| rank == 3 || *n > 50), "{seen:?}");
    }
}
