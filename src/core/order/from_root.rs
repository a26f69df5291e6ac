//! The ranks as trees and co-roots count them: from a root.

use super::RankOrder;
use crate::rank::Rank;
use std::ops::Range;

/// The ranks counted from a root: those of its host first, around from the root on, then those of the other hosts of its
/// switch, one host after the other, around from the root's on, and so on up to the top. So each group is a run of numbers at
/// every level, and the root is the first of all its groups.
///
/// Level 0 is all ranks as one group, and at the [last](Self::rank_level) each rank is one. Between these are the switches,
/// from the top down, and the hosts. Groups are counted as ranks are: that of the root is 0.
#[derive(Clone, Copy, Debug)]
pub struct FromRoot<'a> {
    order: &'a RankOrder,
    /// The root's position.
    root: u32,
}

impl<'a> FromRoot<'a> {
    pub(super) fn new(order: &'a RankOrder, root: u32) -> Self {
        FromRoot { order, root }
    }

    /// The level at which each rank is a group of its own.
    pub fn rank_level(&self) -> usize {
        self.order.rank_level()
    }

    /// How many groups a level has.
    pub fn groups(&self, level: usize) -> u32 {
        self.order.count(level)
    }

    /// The number of a rank; the root has 0.
    pub fn number(&self, rank: Rank) -> u32 {
        self.counted(self.rank_level(), self.order.position(rank))
    }

    /// The rank with a number.
    pub fn rank(&self, number: u32) -> Rank {
        self.order.rank(self.at(self.rank_level(), number))
    }

    /// The number of a rank's group.
    pub fn group(&self, level: usize, rank: Rank) -> u32 {
        self.counted(level, self.order.group(level, self.order.position(rank)))
    }

    /// The number of the first rank of a group; of the one after the last, how many ranks there are.
    pub fn first(&self, level: usize, group: u32) -> u32 {
        if group == 0 {
            return 0;
        }
        if group == self.groups(level) {
            return self.order.size;
        }
        let begin = self.order.begin(level, self.at(level, group));
        self.counted(self.rank_level(), begin)
    }

    /// The groups of the next level that are in one of this level.
    pub fn below(&self, level: usize, group: u32) -> Range<u32> {
        let (begin, end) = self.order.within(level + 1, (level, self.at(level, group)));
        // Only the root's own groups do not begin where they do in the order.
        let first = if group == 0 { 0 } else { self.counted(level + 1, begin) };
        first..first + (end - begin)
    }

    /// The number of the group that is the `group`-th of its level in the order.
    fn counted(&self, level: usize, group: u32) -> u32 {
        let mut inner = self.order.group(level, self.root);
        for above in (0..level).rev() {
            let (begin, end) = self.around_root(level, above);
            if (begin..end).contains(&group) {
                return around(group - begin, end - inner, end - begin);
            }
            inner = begin;
        }
        0
    }

    /// Which of its level in the order the group with a number is.
    fn at(&self, level: usize, number: u32) -> u32 {
        let mut inner = self.order.group(level, self.root);
        for above in (0..level).rev() {
            let (begin, end) = self.around_root(level, above);
            if number < end - begin {
                return begin + around(number, inner - begin, end - begin);
            }
            inner = begin;
        }
        0
    }

    /// The groups of a level that are in the root's group of a level above.
    fn around_root(&self, level: usize, above: usize) -> (u32, u32) {
        self.order.within(level, (above, self.order.group(above, self.root)))
    }
}

/// The sum of two numbers of which the first is less than `len` and the second not more, counted around.
fn around(one: u32, more: u32, len: u32) -> u32 {
    let left = len - one;
    if more >= left { more - left } else { one + more }
}
