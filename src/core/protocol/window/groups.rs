//! Who repairs whom (Liu 2004, section 4.3).
//!
//! Ranks are counted from the root. With co-roots they fall into groups of neighbours of almost equal
//! size; the first of each group is its head, the root for the first group and a co-root for the
//! others, and the rest are its leaves. The heads form a binomial tree under the root.

use crate::rank::Rank;
use std::ops::Range;

/// Who keeps a message for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repairers {
    /// The root, for all (Liu 2004, sections 4.1 and 4.2).
    Root,
    /// The heads of this many groups, the root's own included: the n/s of Liu 2004, section 7.
    CoRoots(u32),
    /// Each rank for its successor on the virtual ring: the chain of Hoefler 2007, section 2.2, on
    /// demand.
    Predecessor,
}

/// Who repairs whom, among `size` ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Groups {
    repairers: Repairers,
    size: u32,
}

impl Groups {
    /// The groups of `size` ranks.
    pub fn new(repairers: Repairers, size: u32) -> Self {
        let repairers = match repairers {
            Repairers::CoRoots(0 | 1) => Repairers::Root,
            Repairers::CoRoots(groups) => Repairers::CoRoots(groups.min(size)),
            other => other,
        };
        Groups { repairers, size }
    }

    /// The number of groups.
    fn count(&self) -> u32 {
        match self.repairers {
            Repairers::CoRoots(groups) => groups,
            Repairers::Root | Repairers::Predecessor => 1,
        }
    }

    fn relative(&self, rank: Rank, root: Rank) -> u32 {
        (rank.0 + self.size - root.0) % self.size
    }

    fn absolute(&self, relative: u32, root: Rank) -> Rank {
        Rank(((u64::from(relative) + u64::from(root.0)) % u64::from(self.size)) as u32)
    }

    /// The first relative rank of a group, or of the one after the last.
    fn head(&self, group: u32) -> u32 {
        (u64::from(group) * u64::from(self.size) / u64::from(self.count())) as u32
    }

    fn group(&self, relative: u32) -> u32 {
        let scaled = (u64::from(relative) + 1) * u64::from(self.count());
        (scaled.div_ceil(u64::from(self.size)) - 1) as u32
    }

    /// Whether a rank gets what `root` sends reliably in any case: the root and the co-roots.
    pub fn is_head(&self, rank: Rank, root: Rank) -> bool {
        let relative = self.relative(rank, root);
        match self.repairers {
            Repairers::Root | Repairers::Predecessor => relative == 0,
            Repairers::CoRoots(_) => self.head(self.group(relative)) == relative,
        }
    }

    /// The rank that repairs a leaf and collects its acknowledgements; `None` for a head.
    pub fn repairer(&self, rank: Rank, root: Rank) -> Option<Rank> {
        if self.is_head(rank, root) {
            return None;
        }
        let relative = self.relative(rank, root);
        let repairer = match self.repairers {
            Repairers::Root => 0,
            Repairers::CoRoots(_) => self.head(self.group(relative)),
            Repairers::Predecessor => relative - 1,
        };
        Some(self.absolute(repairer, root))
    }

    /// The rank that a rank gets a message from for certain: its repairer, or the head above a co-root.
    pub fn source(&self, rank: Rank, root: Rank) -> Option<Rank> {
        let group = self.group(self.relative(rank, root));
        let above =
            (rank != root).then(|| self.absolute(self.head(group & group.wrapping_sub(1)), root));
        self.repairer(rank, root).or(above)
    }

    /// The ranks that a rank repairs.
    pub fn leaves(&self, rank: Rank, root: Rank) -> impl Iterator<Item = Rank> + use<> {
        let this = *self;
        self.relative_leaves(rank, root).map(move |relative| this.absolute(relative, root))
    }

    /// How many ranks a rank repairs.
    pub fn leaf_count(&self, rank: Rank, root: Rank) -> u32 {
        self.relative_leaves(rank, root).len() as u32
    }

    fn relative_leaves(&self, rank: Rank, root: Rank) -> Range<u32> {
        let relative = self.relative(rank, root);
        match self.repairers {
            Repairers::Predecessor => relative + 1..(relative + 2).min(self.size),
            _ if !self.is_head(rank, root) => 0..0,
            _ => relative + 1..self.head(self.group(relative) + 1),
        }
    }

    /// The co-roots that a head sends to, the one with most co-roots below it first.
    pub fn heads_below(&self, rank: Rank, root: Rank) -> impl Iterator<Item = Rank> + use<> {
        let group = self.group(self.relative(rank, root));
        let is_head = self.count() > 1 && self.is_head(rank, root);
        let span = match group {
            0 => self.count().next_power_of_two(),
            _ => 1 << group.trailing_zeros(),
        };
        let bits = if is_head { span.trailing_zeros() } else { 0 };
        let this = *self;
        let below = (0..bits).rev().map(move |bit| group + (1 << bit));
        below
            .filter(move |group| *group < this.count())
            .map(move |group| this.absolute(this.head(group), root))
    }

    /// All co-roots under a root.
    pub fn co_roots(&self, root: Rank) -> impl Iterator<Item = Rank> + use<> {
        let this = *self;
        (1..self.count()).map(move |group| this.absolute(this.head(group), root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_rank_but_the_root_is_served_exactly_once() {
        for size in 1..=20 {
            let groups = (0..=size).map(Repairers::CoRoots);
            for repairers in groups.chain([Repairers::Root, Repairers::Predecessor]) {
                for root in (0..size).map(Rank) {
                    check(Groups::new(repairers, size), size, root);
                }
            }
        }
    }

    fn check(groups: Groups, size: u32, root: Rank) {
        let mut served = BTreeSet::new();
        for rank in (0..size).map(Rank) {
            for leaf in groups.leaves(rank, root) {
                assert!(served.insert(leaf), "{groups:?} {root}");
                assert_eq!(groups.repairer(leaf, root), Some(rank), "{groups:?} {root}");
            }
            for head in groups.heads_below(rank, root) {
                assert!(served.insert(head), "{groups:?} {root}");
                assert!(groups.is_head(head, root) && groups.repairer(head, root).is_none());
                assert_eq!(groups.source(head, root), Some(rank), "{groups:?} {root}");
            }
        }
        let expected: BTreeSet<_> = (0..size).map(Rank).filter(|rank| *rank != root).collect();
        assert_eq!(served, expected, "{groups:?} {root}");
        let heads = (0..size).map(Rank).filter(|rank| groups.is_head(*rank, root));
        let co_roots = groups.co_roots(root).collect::<BTreeSet<_>>();
        assert_eq!(heads.filter(|rank| *rank != root).collect::<BTreeSet<_>>(), co_roots);
    }

    #[test]
    fn groups_differ_by_one_rank_at_most() {
        let groups = Groups::new(Repairers::CoRoots(3), 8);
        let sizes: Vec<_> = [0, 2, 5].map(|head| groups.leaves(Rank(head), Rank(0)).count()).into();
        assert_eq!(sizes, [1, 2, 2]);
        assert_eq!(groups.heads_below(Rank(0), Rank(0)).collect::<Vec<_>>(), [Rank(5), Rank(2)]);
    }
}
