//! The tree by which ranks acknowledge to one another and read what they miss.
//!
//! A root that hears each rank itself hears more of them than it can. In the tree the first rank of each host, counted from the
//! root, hears the others of its host, the first one below each switch those of the other hosts there, and the root these. Where a
//! rank would have more children at a level than the fan-out, its first children there have some of them, and so on. So one
//! rank of each host acknowledges to another host, and what was lost on the way to a host is read from afar once.
//!
//! It is the tree of designated receivers of reliable multicast (RMTP: Paul, Sabnani, Lin, Bhattacharyya 1997), laid by place.
//! Liu 2004, section 4.3, weighs such a tree against co-roots, which are sent everything reliably besides, and names three things
//! against it. Acknowledgements depend on the progress of ranks between: here a rank acknowledges for itself, as soon as it has
//! everything, and only the credits of those below it wait for it. A timeout is hard to set: here who lacks something reads it. Whole
//! subtrees are sent again: here a rank is read or sent what it lacks itself.

use crate::order::FromRoot;
use crate::rank::Rank;
use std::ops::Range;

/// The tree under a root.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree<'a> {
    from: FromRoot<'a>,
    /// Children of a rank at each level, at most.
    fan_out: u32,
}

impl<'a> Tree<'a> {
    pub fn new(from: FromRoot<'a>, fan_out: u32) -> Self {
        Tree { from, fan_out }
    }

    /// The groups of a level that are in one of the level above together with that of a rank, and which of them that is.
    fn siblings(&self, level: usize, rank: Rank) -> (Range<u32>, u32) {
        let siblings = self.from.below(level - 1, self.from.group(level - 1, rank));
        let nth = self.from.group(level, rank) - siblings.start;
        (siblings, nth)
    }

    /// The first rank of a group.
    fn head(&self, level: usize, group: u32) -> Rank {
        self.from.rank(self.from.first(level, group))
    }

    /// The topmost level at which a rank is the first of its group.
    fn top(&self, rank: Rank) -> usize {
        let levels = (1..=self.from.rank_level()).rev();
        let is_first_above = |level: &usize| self.siblings(*level, rank).1 == 0;
        self.from.rank_level() - levels.take_while(is_first_above).count()
    }

    /// Whom a rank acknowledges to; none for the root.
    pub fn parent(&self, rank: Rank) -> Option<Rank> {
        let level = self.top(rank);
        if level == 0 {
            return None;
        }
        let (siblings, nth) = self.siblings(level, rank);
        Some(self.head(level, siblings.start + (nth - 1) / self.fan_out))
    }

    /// Who acknowledges to a rank, at each level below which it is the first.
    fn runs(self, rank: Rank) -> impl Iterator<Item = (usize, Range<u32>)> + use<'a> {
        (self.top(rank).max(1)..=self.from.rank_level()).map(move |level| {
            let (siblings, nth) = self.siblings(level, rank);
            let child = |nth: u32| siblings.end.min(siblings.start.saturating_add(nth));
            let first = nth.saturating_mul(self.fan_out).saturating_add(1);
            (level, child(first)..child(first.saturating_add(self.fan_out)))
        })
    }

    /// Who acknowledges to a rank.
    pub fn children(self, rank: Rank) -> impl Iterator<Item = Rank> + use<'a> {
        let heads = move |(level, groups): (usize, Range<u32>)| {
            groups.map(move |group| self.head(level, group))
        };
        self.runs(rank).flat_map(heads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::RankOrder;
    use crate::order::tests::placements;

    /// Whom each rank acknowledges to.
    fn parents(order: &RankOrder, root: u32, fan_out: u32) -> Vec<Option<u32>> {
        let tree = Tree::new(order.from(Rank(root)), fan_out);
        (0..order.size()).map(|rank| tree.parent(Rank(rank)).map(|parent| parent.0)).collect()
    }

    #[test]
    fn the_first_of_each_host_hears_its_host() {
        let order = RankOrder::by_host(&[0, 0, 0, 1, 1, 1, 2, 2].map(Some));
        let found = parents(&order, 4, 16);
        // Counted from the root: 4, 5, 3; 6, 7; 0, 1, 2.
        let expected = [4, 0, 0, 4, -1, 4, 4, 6].map(|rank| u32::try_from(rank).ok());
        assert_eq!(found, expected);
    }

    #[test]
    fn nobody_hears_more_than_so_many_at_a_level() {
        let order = RankOrder::by_number(8);
        assert_eq!(parents(&order, 0, 2)[1..], [0, 0, 1, 1, 2, 2, 3].map(Some));
        assert_eq!(parents(&order, 0, 16)[1..], [Some(0); 7]);
        for order in placements() {
            for root in (0..order.size()).map(Rank) {
                let tree = Tree::new(order.from(root), 2);
                let most = 2 * order.from(root).rank_level();
                assert!((0..order.size()).all(|rank| tree.children(Rank(rank)).count() <= most));
            }
        }
    }

    #[test]
    fn who_is_far_is_heard_once_for_each_place() {
        for order in placements() {
            for root in (0..order.size()).map(Rank) {
                let from = order.from(root);
                let tree = Tree::new(from, 3);
                for level in 1..from.rank_level() {
                    let ranks = (0..order.size()).map(Rank);
                    let leaves_its_group = |rank: &Rank| {
                        let to = tree.parent(*rank);
                        to.is_some_and(|to| from.group(level, to) != from.group(level, *rank))
                    };
                    let found = ranks.filter(leaves_its_group).count() as u32;
                    assert_eq!(found, from.groups(level) - 1, "{order:?} {root} {level}");
                }
            }
        }
    }
}
