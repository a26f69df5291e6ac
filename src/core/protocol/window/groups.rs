//! Who repairs whom (Liu 2004, section 4.3).
//!
//! Ranks are [counted from the root](FromRoot), switch by switch and host by host. With co-roots they fall into groups of
//! neighbours; the first of each group is its head, the root for the first group and a co-root for the others, and the rest
//! are its leaves. The heads form a binomial tree under the root.
//!
//! Where there are no more groups than hosts, each has hosts of its own: its head is the first rank of the first. Where there
//! are more, each host has groups of its own. So it is with switches: a group has whole *units*, of the topmost level that has
//! as many units as there are groups, and lies in one *area*, of the level above that. The units of an area are shared out
//! almost equally. So co-roots are below different switches and on different hosts as far as there are any, and a leaf's is
//! below its own switch and on its own host if one is there. Where nothing is known of hosts, units are ranks.

use super::tree::Tree;
use crate::order::{FromRoot, RankOrder};
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
    /// Each rank for its children in a tree by place, at each level of which it has so many at most.
    Tree(u32),
}

/// Who repairs whom, among `size` ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Groups {
    repairers: Repairers,
    size: u32,
}

impl Repairers {
    /// A tree with so many children of a rank at each level, at most, among the ranks in this order; the root alone where the
    /// tree would be no other.
    pub fn tree(fan_out: u32, order: &RankOrder) -> Self {
        let is_flat =
            order.from(Rank(0)).rank_level() == 1 && order.size() <= fan_out.saturating_add(1);
        if is_flat { Repairers::Root } else { Repairers::Tree(fan_out) }
    }
}

impl Groups {
    /// The groups of `size` ranks.
    pub fn new(repairers: Repairers, size: u32) -> Self {
        let repairers = match repairers {
            Repairers::CoRoots(0 | 1) => Repairers::Root,
            Repairers::CoRoots(groups) => Repairers::CoRoots(groups.min(size)),
            Repairers::Tree(0) => Repairers::Root,
            other => other,
        };
        Groups { repairers, size }
    }

    /// The number of groups.
    fn count(&self) -> u32 {
        match self.repairers {
            Repairers::CoRoots(groups) => groups,
            Repairers::Root | Repairers::Predecessor | Repairers::Tree(_) => 1,
        }
    }

    /// The groups as they are where `root` is root of the ranks in this order.
    pub fn under(self, root: Rank, order: &RankOrder) -> GroupsUnder<'_> {
        let from = order.from(root);
        let has_enough = |level: &usize| from.groups(*level) >= self.count();
        let units = (1..from.rank_level()).find(has_enough).unwrap_or(from.rank_level());
        GroupsUnder { groups: self, root, order, from, units }
    }
}

/// Who repairs whom under a root.
#[derive(Clone, Copy, Debug)]
pub struct GroupsUnder<'a> {
    groups: Groups,
    root: Rank,
    order: &'a RankOrder,
    from: FromRoot<'a>,
    /// The level of what groups have whole ones of; that of the areas is the one above.
    units: usize,
}

impl<'a> GroupsUnder<'a> {
    /// Groups in the areas before one, where each has at least one: its first unit's, and of the other groups as its other
    /// units' share is.
    fn groups_before(&self, area: u32) -> u32 {
        let (groups, areas) = (self.groups.count(), self.from.groups(self.units - 1));
        if area == 0 || area == areas {
            return if area == 0 { 0 } else { groups };
        }
        let others = self.from.below(self.units - 1, area).start - area;
        area + scaled(others, groups - areas, self.from.groups(self.units) - areas)
    }

    /// The number of the first rank of a group; of the one after the last, how many ranks there are.
    fn head(&self, group: u32) -> u32 {
        if group == 0 {
            return 0;
        }
        if group == self.groups.count() {
            return self.groups.size;
        }
        let (mut area, mut end) = (0, self.from.groups(self.units - 1));
        while end - area > 1 {
            let middle = area + (end - area) / 2;
            if self.groups_before(middle) <= group { area = middle } else { end = middle }
        }
        let (before, after) = (self.groups_before(area), self.groups_before(area + 1));
        let units = self.from.below(self.units - 1, area);
        let unit = units.start + scaled(group - before, units.len() as u32, after - before);
        self.from.first(self.units, unit)
    }

    /// The group of a rank.
    fn group(&self, rank: Rank) -> u32 {
        if self.groups.count() == 1 {
            return 0;
        }
        let area = self.from.group(self.units - 1, rank);
        let (before, after) = (self.groups_before(area), self.groups_before(area + 1));
        let units = self.from.below(self.units - 1, area);
        let unit = self.from.group(self.units, rank) - units.start;
        before + part(unit, units.len() as u32, after - before)
    }

    /// Whether a rank gets what the root sends reliably in any case: the root and the co-roots.
    pub fn is_head(&self, rank: Rank) -> bool {
        match self.groups.repairers {
            Repairers::Root | Repairers::Predecessor | Repairers::Tree(_) => rank == self.root,
            Repairers::CoRoots(_) => self.head(self.group(rank)) == self.from.number(rank),
        }
    }

    /// The rank that repairs a leaf and collects its acknowledgements; `None` for a head.
    pub fn repairer(&self, rank: Rank) -> Option<Rank> {
        if self.is_head(rank) {
            return None;
        }
        Some(match self.groups.repairers {
            Repairers::Root => self.root,
            Repairers::CoRoots(_) => self.from.rank(self.head(self.group(rank))),
            Repairers::Predecessor => self.order.predecessor(rank),
            Repairers::Tree(fan_out) => return self.tree(fan_out).parent(rank),
        })
    }

    /// The rank that a rank gets a message from for certain: its repairer, or the head above a co-root.
    pub fn source(&self, rank: Rank) -> Option<Rank> {
        if rank == self.root {
            return None;
        }
        self.repairer(rank).or_else(|| {
            let group = self.group(rank);
            Some(self.from.rank(self.head(group & (group - 1))))
        })
    }

    /// The ranks that a rank repairs.
    pub fn leaves(&self, rank: Rank) -> impl Iterator<Item = Rank> + use<'a> {
        let (next, children, numbers) = match self.groups.repairers {
            Repairers::Predecessor => (self.successor(rank), None, 0..0),
            Repairers::Tree(fan_out) => (None, Some(self.tree(fan_out).children(rank)), 0..0),
            Repairers::Root | Repairers::CoRoots(_) => (None, None, self.leaf_numbers(rank)),
        };
        let from = self.from;
        let children = children.into_iter().flatten();
        next.into_iter().chain(children).chain(numbers.map(move |number| from.rank(number)))
    }

    /// Whether a rank that is repaired repairs others itself.
    pub fn is_between(&self, rank: Rank) -> bool {
        match self.groups.repairers {
            Repairers::Root | Repairers::CoRoots(_) => false,
            Repairers::Predecessor | Repairers::Tree(_) => {
                rank != self.root && self.leaves(rank).next().is_some()
            }
        }
    }

    fn tree(&self, fan_out: u32) -> Tree<'a> {
        Tree::new(self.from, fan_out)
    }

    /// The next rank on the ring, which is cut before the root.
    fn successor(&self, rank: Rank) -> Option<Rank> {
        Some(self.order.successor(rank)).filter(|next| *next != self.root)
    }

    /// The leaves of a head.
    fn leaf_numbers(&self, rank: Rank) -> Range<u32> {
        match self.is_head(rank) {
            true => self.from.number(rank) + 1..self.head(self.group(rank) + 1),
            false => 0..0,
        }
    }

    /// The co-roots that a head sends to, the one with most co-roots below it first.
    pub fn heads_below(&self, rank: Rank) -> impl Iterator<Item = Rank> + use<'a> {
        let count = self.groups.count();
        let is_head = count > 1 && self.is_head(rank);
        let group = if is_head { self.group(rank) } else { 0 };
        let span = match group {
            0 => count.next_power_of_two(),
            _ => 1 << group.trailing_zeros(),
        };
        let bits = if is_head { span.trailing_zeros() } else { 0 };
        let this = *self;
        let below = (0..bits).rev().map(move |bit| group + (1 << bit));
        below.filter(move |group| *group < count).map(move |group| this.from.rank(this.head(group)))
    }

    /// All co-roots.
    pub fn co_roots(&self) -> impl Iterator<Item = Rank> + use<'a> {
        let this = *self;
        (1..self.groups.count()).map(move |group| this.from.rank(this.head(group)))
    }
}

/// Where a part begins, of so many parts of almost equal size.
fn scaled(part: u32, size: u32, parts: u32) -> u32 {
    (u64::from(part) * u64::from(size) / u64::from(parts)) as u32
}

/// The part that something is in, of so many parts of almost equal size.
fn part(one: u32, size: u32, parts: u32) -> u32 {
    let scaled = (u64::from(one) + 1) * u64::from(parts);
    (scaled.div_ceil(u64::from(size)) - 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::tests::placements;
    use std::collections::BTreeSet;

    #[test]
    fn every_rank_but_the_root_is_served_exactly_once() {
        for order in (1..=20).map(RankOrder::by_number).chain(placements()) {
            let groups = (0..=order.size()).map(Repairers::CoRoots);
            let trees = [0, 1, 2, 3, u32::MAX].map(Repairers::Tree);
            let others = [Repairers::Root, Repairers::Predecessor].into_iter().chain(trees);
            for repairers in groups.chain(others) {
                for root in (0..order.size()).map(Rank) {
                    check(Groups::new(repairers, order.size()).under(root, &order));
                }
            }
        }
    }

    fn check(groups: GroupsUnder<'_>) {
        let ranks = (0..groups.groups.size).map(Rank);
        let mut served = BTreeSet::new();
        for rank in ranks.clone() {
            for leaf in groups.leaves(rank) {
                assert!(served.insert(leaf), "{groups:?}");
                assert_eq!(groups.repairer(leaf), Some(rank), "{groups:?}");
            }
            for head in groups.heads_below(rank) {
                assert!(served.insert(head), "{groups:?}");
                assert!(groups.is_head(head) && groups.repairer(head).is_none());
                assert_eq!(groups.source(head), Some(rank), "{groups:?}");
            }
        }
        let expected: BTreeSet<_> = ranks.clone().filter(|rank| *rank != groups.root).collect();
        assert_eq!(served, expected, "{groups:?}");
        let heads = ranks.filter(|rank| groups.is_head(*rank) && *rank != groups.root);
        assert_eq!(heads.collect::<BTreeSet<_>>(), groups.co_roots().collect::<BTreeSet<_>>());
    }

    #[test]
    fn groups_differ_by_one_rank_at_most() {
        let order = RankOrder::by_number(8);
        let groups = Groups::new(Repairers::CoRoots(3), 8).under(Rank(0), &order);
        let sizes: Vec<_> = [0, 2, 5].map(|head| groups.leaves(Rank(head)).count()).into();
        assert_eq!(sizes, [1, 2, 2]);
        assert_eq!(groups.heads_below(Rank(0)).collect::<Vec<_>>(), [Rank(5), Rank(2)]);
    }

    /// The groups of all placements, under all roots, with their number, and each level of switches and hosts.
    fn on_levels(check: impl Fn(GroupsUnder<'_>, u32, usize)) {
        for order in placements() {
            for count in 2..=order.size() {
                let groups = Groups::new(Repairers::CoRoots(count), order.size());
                for root in (0..order.size()).map(Rank) {
                    let levels = 1..order.from(root).rank_level();
                    levels.for_each(|level| check(groups.under(root, &order), count, level));
                }
            }
        }
    }

    /// What of a level the root and the co-roots are in.
    fn of_heads(groups: &GroupsUnder<'_>, level: usize) -> BTreeSet<u32> {
        let heads = groups.co_roots().chain([groups.root]);
        heads.map(|head| groups.from.group(level, head)).collect()
    }

    #[test]
    fn co_roots_are_below_different_switches_and_on_different_hosts_as_far_as_there_are_any() {
        on_levels(|groups, count, level| {
            let found = of_heads(&groups, level).len() as u32;
            assert_eq!(found, count.min(groups.from.groups(level)), "{groups:?} {level}");
        });
    }

    #[test]
    fn a_leaf_has_a_repairer_below_its_own_switch_and_on_its_own_host_if_one_is_there() {
        on_levels(|groups, _, level| {
            let heads = of_heads(&groups, level);
            let group = |rank| groups.from.group(level, rank);
            for leaf in (0..groups.groups.size).map(Rank) {
                let Some(repairer) = groups.repairer(leaf) else { continue };
                let is_near = group(repairer) == group(leaf);
                assert_eq!(is_near, heads.contains(&group(leaf)), "{groups:?} {leaf} {level}");
            }
        });
    }

    #[test]
    fn hosts_have_as_many_groups_as_their_ranks_have_a_share_of() {
        let hosts: Vec<_> = [1, 1, 1, 1, 1, 1, 2, 2, 2].map(Some).into();
        let order = RankOrder::by_host(&hosts);
        let groups = Groups::new(Repairers::CoRoots(5), 9).under(Rank(4), &order);
        let co_roots: Vec<_> = groups.co_roots().map(|rank| rank.0).collect();
        assert_eq!(co_roots, [0, 2, 6, 7]);
        let leaves = |rank: u32| groups.leaves(Rank(rank)).map(|leaf| leaf.0).collect::<Vec<_>>();
        assert_eq!([4, 0, 2, 6, 7].map(leaves), [vec![5], vec![1], vec![3], vec![], vec![8]]);
    }
}
