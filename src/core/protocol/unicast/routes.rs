//! The way of each fragment: a tree over all ranks.
//!
//! Ranks are counted from the root.

use crate::rank::Rank;
use smallvec::SmallVec;

/// Ranks that one rank sends to whose list needs no memory of its own.
const INLINE: usize = 8;

/// The ranks that one rank sends a fragment to.
pub(super) type Children = SmallVec<[Rank; INLINE]>;

/// How messages are spread by reliable sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Along a binomial tree: as many hops as the number of ranks has bits (the "Original" of Liu 2004,
    /// section 6; Hoefler 2007, section 4.1).
    Binomial,
    /// From each rank to the next, fragment by fragment: a pipeline.
    Chain,
    /// A block of the message for each rank, scattered along a binomial tree; then each block goes
    /// around a ring (van de Geijn's algorithm, as MPI libraries do for long messages).
    ScatterAllgather,
}

/// The way of one fragment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    pub algorithm: Algorithm,
    pub root: Rank,
    pub size: u32,
    /// The rank, counted from the root, whose block the fragment is in.
    owner: u32,
}

impl Route {
    /// The way of fragment `index` of `count`.
    pub fn new(algorithm: Algorithm, root: Rank, size: u32, (index, count): (u32, u32)) -> Self {
        // Blocks differ by one fragment at most.
        let owner = (u64::from(index) * u64::from(size) / u64::from(count)) as u32;
        Route { algorithm, root, size, owner }
    }

    /// The ranks that `me` sends the fragment to, in this order.
    pub fn children(&self, me: Rank) -> Children {
        let me = (me.0 + self.size - self.root.0) % self.size;
        let children: SmallVec<[u32; INLINE]> = match self.algorithm {
            Algorithm::Binomial => self.below(me).collect(),
            Algorithm::Chain => (me + 1..self.size).take(1).collect(),
            Algorithm::ScatterAllgather => {
                self.toward_owner(me).into_iter().chain(self.around(me)).collect()
            }
        };
        children.into_iter().map(|relative| self.absolute(relative)).collect()
    }

    /// The rank that sends the fragment to `me`; none to the root.
    pub fn parent(&self, me: Rank) -> Option<Rank> {
        let me = (me.0 + self.size - self.root.0) % self.size;
        if me == 0 {
            return None;
        }
        let in_the_tree = me & (me - 1);
        let parent = match self.algorithm {
            Algorithm::Binomial => in_the_tree,
            Algorithm::Chain => me - 1,
            Algorithm::ScatterAllgather if self.holds(me) => in_the_tree,
            Algorithm::ScatterAllgather if me == 1 && self.owner != 0 => self.size - 1,
            Algorithm::ScatterAllgather => me - 1,
        };
        Some(self.absolute(parent))
    }

    /// The rank that is so many from the root.
    fn absolute(&self, relative: u32) -> Rank {
        let rank = (u64::from(relative) + u64::from(self.root.0)) % u64::from(self.size);
        Rank(rank as u32)
    }

    /// The ranks below one in the binomial tree, the one with most below it first, so that the longest
    /// way has no wait in it.
    fn below(&self, me: u32) -> impl Iterator<Item = u32> + use<> {
        let span = match me {
            0 => self.size.next_power_of_two(),
            _ => 1 << me.trailing_zeros(),
        };
        let size = self.size;
        (0..span.trailing_zeros())
            .rev()
            .map(move |bit| me + (1 << bit))
            .filter(move |to| *to < size)
    }

    /// The next rank on the way down the tree to the block's owner.
    fn toward_owner(&self, me: u32) -> Option<u32> {
        let leads = self.holds(me) && me != self.owner;
        self.below(me).find(|to| leads && self.holds(*to))
    }

    /// Whether the fragment comes to a rank on its way to the owner: whether that is below it.
    fn holds(&self, relative: u32) -> bool {
        relative == 0
            || (relative..relative + (1 << relative.trailing_zeros())).contains(&self.owner)
    }

    /// The next rank of the ring, which begins at the owner and leaves out the root where that is not the
    /// owner; none that holds the fragment already.
    fn around(&self, me: u32) -> Option<u32> {
        let next = match self.owner {
            0 => me + 1,
            _ if me == 0 => return None,
            _ if me + 1 == self.size => 1,
            _ => me + 1,
        };
        (next < self.size && !self.holds(next)).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const ALL: [Algorithm; 3] =
        [Algorithm::Binomial, Algorithm::Chain, Algorithm::ScatterAllgather];

    /// Hops from the root to each rank.
    fn walk(route: &Route) -> BTreeMap<Rank, u32> {
        let mut hops = BTreeMap::from([(route.root, 0)]);
        assert_eq!(route.parent(route.root), None, "{route:?}");
        let mut front = vec![route.root];
        while let Some(rank) = front.pop() {
            for child in route.children(rank) {
                assert_eq!(route.parent(child), Some(rank), "{route:?}: {child}");
                let before = hops.insert(child, hops[&rank] + 1);
                assert_eq!(before, None, "{route:?}: {child} is sent to twice");
                front.push(child);
            }
        }
        hops
    }

    #[test]
    fn every_fragment_comes_to_every_rank_once() {
        for algorithm in ALL {
            for size in 1..=33 {
                for root in (0..size).map(Rank) {
                    for count in [1, 2, size.max(2) - 1, size, 2 * size + 1] {
                        for index in 0..count {
                            let route = Route::new(algorithm, root, size, (index, count));
                            assert_eq!(walk(&route).len() as u32, size, "{route:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_binomial_tree_is_as_deep_as_the_number_of_ranks_has_bits() {
        for (size, depth) in [(1, 0), (2, 1), (8, 3), (9, 3), (16, 4), (33, 5)] {
            let route = Route::new(Algorithm::Binomial, Rank(0), size, (0, 1));
            assert_eq!(walk(&route).into_values().max(), Some(depth));
        }
        let route = Route::new(Algorithm::Binomial, Rank(2), 8, (0, 1));
        assert_eq!(route.children(Rank(2))[..], [Rank(6), Rank(4), Rank(3)]);
    }
}
