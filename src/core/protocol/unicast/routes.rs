//! The way of each fragment: a tree over all ranks, in the [order](RankOrder) of their switches and hosts.
//!
//! A binomial tree is one over the hosts, and in each of them one over its ranks, so that only the first crosses the
//! network; where switches are known it is one over these, and in each of them one over what is below it. Where nothing is
//! known of hosts it is one over all ranks. The chain and the ring of a scatter-allgather follow the virtual ring, and the
//! scatter's tree counts ranks along it: that tree has to keep what a block's owner needs together, and crosses more often
//! than it would have to.

use crate::order::{FromRoot, RankOrder};
use crate::rank::Rank;
use smallvec::SmallVec;
use std::ops::Range;

/// Ranks that one rank sends to whose list needs no memory of its own.
const INLINE: usize = 8;

/// The ranks that one rank sends a fragment to.
pub(super) type Children = SmallVec<[Rank; INLINE]>;

/// How messages are spread by reliable sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Along a binomial tree: as many hops as the number of ranks has bits (the "Original" of Liu 2004,
    /// section 6; Hoefler 2007, section 4.1); over hosts as many as both numbers have, of hosts and of a host's ranks,
    /// and so on over switches.
    Binomial,
    /// From each rank to the next, fragment by fragment: a pipeline.
    Chain,
    /// A block of the message for each rank, scattered along a binomial tree; then each block goes
    /// around a ring (van de Geijn's algorithm, as MPI libraries do for long messages).
    ScatterAllgather,
}

/// The way of one fragment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route<'a> {
    pub algorithm: Algorithm,
    pub root: Rank,
    pub order: &'a RankOrder,
    /// The rank whose block the fragment is in, as hops from the root along the ring; 0 where all fragments go the same way.
    owner: u32,
}

impl<'a> Route<'a> {
    /// The way of fragment `index` of `count`.
    pub fn new(
        algorithm: Algorithm,
        root: Rank,
        order: &'a RankOrder,
        (index, count): (u32, u32),
    ) -> Self {
        // Blocks differ by one fragment at most.
        let block = || (u64::from(index) * u64::from(order.size()) / u64::from(count)) as u32;
        let owner = if algorithm == Algorithm::ScatterAllgather { block() } else { 0 };
        Route { algorithm, root, order, owner }
    }

    /// The ranks that `me` sends the fragment to, in this order.
    pub fn children(&self, me: Rank) -> Children {
        let hops = self.order.hops(self.root, me);
        let after = |hops| self.order.after(self.root, hops);
        match self.algorithm {
            Algorithm::Binomial => self.below_over_levels(me),
            Algorithm::Chain => (hops + 1..self.order.size()).take(1).map(after).collect(),
            Algorithm::ScatterAllgather => {
                let scattered = self.toward_owner(hops);
                scattered.into_iter().chain(self.around(hops)).map(after).collect()
            }
        }
    }

    /// The rank that sends the fragment to `me`; none to the root.
    pub fn parent(&self, me: Rank) -> Option<Rank> {
        if me == self.root {
            return None;
        }
        let hops = self.order.hops(self.root, me);
        let parent = match self.algorithm {
            Algorithm::Binomial => return Some(self.above_over_levels(me)),
            Algorithm::ScatterAllgather if self.holds(hops) => above(hops),
            Algorithm::ScatterAllgather if hops == 1 && self.owner != 0 => self.order.size() - 1,
            Algorithm::Chain | Algorithm::ScatterAllgather => hops - 1,
        };
        Some(self.order.after(self.root, parent))
    }

    /// The ranks below one in the binomial trees over what each group of a level has at the next: those below other switches
    /// and on other hosts first, whose way is longer.
    fn below_over_levels(&self, me: Rank) -> Children {
        let from = self.order.from(self.root);
        let number = from.number(me);
        let leads = |level: &usize| from.first(*level, from.group(*level, me)) == number;
        let tree = |level| {
            let (own, all) = among_siblings(&from, level, me);
            let first = move |to| from.rank(from.first(level, all.start + to));
            below(own, all.len() as u32).map(first)
        };
        (1..=from.rank_level()).filter(leads).flat_map(tree).collect()
    }

    fn above_over_levels(&self, me: Rank) -> Rank {
        let from = self.order.from(self.root);
        let number = from.number(me);
        let leads = |level: &usize| from.first(*level, from.group(*level, me)) == number;
        // The first of a group that is not the first of the group around that.
        let level = (1..=from.rank_level()).find(leads).unwrap_or(from.rank_level());
        let (own, all) = among_siblings(&from, level, me);
        from.rank(from.first(level, all.start + above(own)))
    }

    /// The next rank on the way down the tree to the block's owner.
    fn toward_owner(&self, me: u32) -> Option<u32> {
        let leads = self.holds(me) && me != self.owner;
        below(me, self.order.size()).find(|to| leads && self.holds(*to))
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
            _ if me + 1 == self.order.size() => 1,
            _ => me + 1,
        };
        (next < self.order.size() && !self.holds(next)).then_some(next)
    }
}

/// The ways of some of the `count` fragments of a message, and which of them take each.
pub(super) fn routes(
    algorithm: Algorithm,
    root: Rank,
    order: &RankOrder,
    (fragments, count): (Range<u32>, u32),
) -> impl Iterator<Item = (Range<u32>, Route<'_>)> {
    let mut left = fragments;
    let of = move |index| Route::new(algorithm, root, order, (index, count));
    std::iter::from_fn(move || {
        let route = of(left.clone().next()?);
        let end = left.clone().find(|index| of(*index).owner != route.owner);
        let end = end.unwrap_or(left.end);
        let fragments = left.start..end;
        left.start = end;
        Some((fragments, route))
    })
}

/// Which of the groups of a level that are in one of the level above a rank's is, and which they are.
fn among_siblings(from: &FromRoot<'_>, level: usize, rank: Rank) -> (u32, Range<u32>) {
    let all = from.below(level - 1, from.group(level - 1, rank));
    (from.group(level, rank) - all.start, all)
}

/// What is below one of so many in a binomial tree whose root is 0, the one with most below it first, so that the longest
/// way has no wait in it.
fn below(one: u32, count: u32) -> impl Iterator<Item = u32> {
    let span = match one {
        0 => count.next_power_of_two(),
        _ => 1 << one.trailing_zeros(),
    };
    let below = (0..span.trailing_zeros()).rev().map(move |bit| one + (1 << bit));
    below.filter(move |to| *to < count)
}

/// What is above one in a binomial tree; 0 is above none.
fn above(one: u32) -> u32 {
    one & (one - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::tests::placements;
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
    fn fragments_that_go_the_same_way_come_together() {
        let (order, root, count) = (RankOrder::by_number(5), Rank(2), 12);
        for (algorithm, ways) in ALL.into_iter().zip([1, 1, 5]) {
            let all: Vec<_> = routes(algorithm, root, &order, (0..count, count)).collect();
            assert_eq!(all.len(), ways, "{algorithm:?}");
            let fragments: Vec<_> = all.iter().flat_map(|(run, _)| run.clone()).collect();
            assert_eq!(fragments, (0..count).collect::<Vec<_>>());
            for (run, way) in all {
                for index in run {
                    let route = Route::new(algorithm, root, &order, (index, count));
                    for rank in (0..5).map(Rank) {
                        assert_eq!(route.children(rank), way.children(rank), "{route:?}");
                        assert_eq!(route.parent(rank), way.parent(rank), "{route:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_fragment_comes_to_every_rank_once() {
        let by_number = (1..=33).map(RankOrder::by_number);
        for order in by_number.chain(placements()) {
            let size = order.size();
            for algorithm in ALL {
                for root in (0..size).map(Rank) {
                    for count in [1, 2, size.max(2) - 1, size, 2 * size + 1] {
                        for index in 0..count {
                            let route = Route::new(algorithm, root, &order, (index, count));
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
            let order = RankOrder::by_number(size);
            let route = Route::new(Algorithm::Binomial, Rank(0), &order, (0, 1));
            assert_eq!(walk(&route).into_values().max(), Some(depth));
        }
        let order = RankOrder::by_number(8);
        let route = Route::new(Algorithm::Binomial, Rank(2), &order, (0, 1));
        assert_eq!(route.children(Rank(2))[..], [Rank(6), Rank(4), Rank(3)]);
    }

    /// Hops of a fragment from one group of a level to another.
    fn crossings(algorithm: Algorithm, root: Rank, order: &RankOrder, level: usize) -> u32 {
        let route = Route::new(algorithm, root, order, (0, 1));
        let group = |rank| order.from(root).group(level, rank);
        let crosses = |rank: &Rank| {
            let parent = route.parent(*rank);
            parent.is_some_and(|parent| group(parent) != group(*rank))
        };
        (0..order.size()).map(Rank).filter(crosses).count() as u32
    }

    #[test]
    fn a_tree_crosses_to_each_other_switch_and_host_once() {
        for order in placements() {
            for root in (0..order.size()).map(Rank) {
                let from = order.from(root);
                for level in 0..from.rank_level() {
                    let others = from.groups(level) - 1;
                    let tree = crossings(Algorithm::Binomial, root, &order, level);
                    assert_eq!(tree, others, "{order:?} {root}");
                    // A chain that begins in the middle of a group comes back to it in the end.
                    let chain = crossings(Algorithm::Chain, root, &order, level);
                    let begins = others > 0 && from.group(level, order.predecessor(root)) == 0;
                    assert_eq!(chain, others + u32::from(begins), "{order:?} {root}");
                }
            }
        }
    }

    #[test]
    fn a_tree_over_hosts_is_as_deep_as_both_numbers_have_bits() {
        let hosts: Vec<_> = (0..32).map(|rank| Some(rank % 4)).collect();
        let order = RankOrder::by_host(&hosts);
        let route = Route::new(Algorithm::Binomial, Rank(6), &order, (0, 1));
        assert_eq!(walk(&route).into_values().max(), Some(2 + 3));
        let children: Vec<_> = route.children(Rank(6)).iter().map(|rank| rank.0).collect();
        assert_eq!(children, [0, 3, 22, 14, 10]);
    }

    #[test]
    fn a_tree_over_switches_goes_to_the_farthest_first() {
        // Two switches with two hosts each, on each of which are two ranks.
        let switches = [[7], [9]];
        let told: Vec<_> = (0..8).map(|rank| Some((&switches[rank % 2][..], rank % 4))).collect();
        let order = RankOrder::by_place(&told);
        let route = Route::new(Algorithm::Binomial, Rank(6), &order, (0, 1));
        let children = |rank| route.children(Rank(rank)).iter().map(|rank| rank.0).collect();
        let all: Vec<Vec<u32>> = (0..8).map(children).collect();
        let none = Vec::new;
        assert_eq!(all[6], [1, 0, 2]);
        assert_eq!((&all[1], &all[0]), (&vec![3, 5], &vec![4]));
        assert_eq!((&all[3], [&all[2], &all[4], &all[5], &all[7]]), (&vec![7], [&none(); 4]));
    }
}
