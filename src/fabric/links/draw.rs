//! Who sends to whom: sources and groups, drawn.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// So many of all endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// A single one.
    One,
    /// This many percent, rounded, at least one.
    Percent(u8),
}

impl Share {
    /// The number, of `all`.
    pub fn of(self, all: u32) -> u32 {
        match self {
            Share::One => 1,
            Share::Percent(percent) => ((all * u32::from(percent) + 50) / 100).clamp(1, all),
        }
    }
}

/// Sources and their groups (the papers' workloads).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// Who sends.
    pub sources: Share,
    /// Members of a group.
    pub members: Share,
    /// Whether all sources send to the same group, or each to one of its own.
    pub shared: bool,
    /// Whether members are in ascending order, or as they were drawn. It is the order of unicasts.
    pub ascending: bool,
}

impl Crowd {
    /// Draws sources, each with its group, among `endpoints`.
    pub fn draw(&self, endpoints: u32, seed: u64) -> Vec<(u32, Vec<u32>)> {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        let sources = some(&mut draw, endpoints, self.sources);
        let mut group = || {
            let mut members = some(&mut draw, endpoints, self.members);
            if self.ascending {
                members.sort_unstable();
            }
            members
        };
        let common = group();
        let own = |source| (source, if self.shared { common.clone() } else { group() });
        sources.into_iter().map(own).collect()
    }
}

/// So many of all endpoints, in any order.
fn some(draw: &mut ChaCha8Rng, endpoints: u32, share: Share) -> Vec<u32> {
    let mut all: Vec<u32> = (0..endpoints).collect();
    let count = share.of(endpoints) as usize;
    for at in 0..count {
        let rest = (all.len() - at) as u32;
        all.swap(at, at + (draw.next_u32() % rest) as usize);
    }
    all.truncate(count);
    all
}
