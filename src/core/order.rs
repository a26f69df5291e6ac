//! The order in which protocols count the ranks of a communicator: switch by switch and host by host, so that most
//! neighbours share one.
//!
//! A launcher may deal ranks out to hosts in turn. A ring in the order of their numbers then crosses the network at every
//! hop, where one that goes through a host before it comes to the next crosses it once for each. So it is with switches.
//!
//! Ranks are in groups, at several levels: those of a switch at the top, those of a switch below it, those of a host. The
//! groups of a level that are in one of the level above stand in the order of their first ranks, and the ranks of a host in
//! the order of their numbers; what is below no switch that is known stands behind what is. All of it follows from what every
//! rank has told all others, so it is the same everywhere. Where a rank does not tell its host, where all share one, and where
//! each has its own and nothing is known of switches, the order is that of the numbers.

mod from_root;
mod levels;
#[cfg(test)]
pub(crate) mod tests;

pub use from_root::FromRoot;

use crate::rank::Rank;
use levels::Level;
use std::sync::Arc;

/// The ranks of a communicator in the order of their switches and hosts. A clone is the same tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankOrder {
    size: u32,
    /// None: the order of the numbers, and nothing of hosts.
    tables: Option<Arc<Tables>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Tables {
    /// By position.
    ranks: Vec<Rank>,
    /// By rank.
    positions: Vec<u32>,
    /// From the top down; the last one is that of the hosts. What would say nothing is left out.
    levels: Vec<Level>,
}

impl From<u32> for RankOrder {
    /// That many ranks, [by number](RankOrder::by_number).
    fn from(size: u32) -> Self {
        RankOrder::by_number(size)
    }
}

impl RankOrder {
    /// `size` ranks in the order of their numbers.
    pub fn by_number(size: u32) -> Self {
        RankOrder { size, tables: None }
    }

    /// The ranks that have told these hosts, each its own or none.
    pub fn by_host<H: Ord>(told: &[Option<H>]) -> Self {
        let no_switches: &[()] = &[];
        let places = told.iter().map(|host| host.as_ref().map(|host| (no_switches, host)));
        Self::by_place(&places.collect::<Vec<_>>())
    }

    /// The ranks that have told these places, each its own or none: the switches above its host, from the top down as far
    /// as it knows them, and the host. Of the ranks of a host, the first that knows any switches tells them for all.
    pub fn by_place<S: Ord, H: Ord>(told: &[Option<(&[S], H)>]) -> Self {
        let size = told.len() as u32;
        let tables = levels::tables(told).map(Arc::new);
        RankOrder { size, tables }
    }

    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// How many hosts there are, each of which has a number in this order; 1 where nothing is known of them.
    pub fn hosts(&self) -> u32 {
        self.count(self.host_level())
    }

    /// The number of a rank's host.
    pub fn host(&self, rank: Rank) -> u32 {
        self.group(self.host_level(), self.position(rank))
    }

    /// The numbers of the groups that a rank is in, from the top down: switches, as far as they tell ranks apart, and its host.
    pub fn place(&self, rank: Rank) -> Vec<u32> {
        let position = self.position(rank);
        (1..self.rank_level()).map(|level| self.group(level, position)).collect()
    }

    fn levels(&self) -> &[Level] {
        self.tables.as_ref().map_or(&[], |tables| &tables.levels)
    }

    /// The groups of a level between the first and the last.
    fn named(&self, level: usize) -> Option<&Level> {
        self.levels().get(level.checked_sub(1)?)
    }

    /// The level at which each rank is a group of its own. At level 0 all are one, and between the two are those that are
    /// known.
    fn rank_level(&self) -> usize {
        self.levels().len() + 1
    }

    /// The level of the hosts, or 0 where nothing is known of them.
    fn host_level(&self) -> usize {
        self.levels().len()
    }

    /// The number of groups of a level.
    fn count(&self, level: usize) -> u32 {
        match self.named(level) {
            Some(named) => named.count(),
            None if level == 0 => 1,
            None => self.size,
        }
    }

    /// The group at a position.
    fn group(&self, level: usize, position: u32) -> u32 {
        match self.named(level) {
            Some(named) => named.group(position),
            None if level == 0 => 0,
            None => position,
        }
    }

    /// The position where a group begins; of the one after the last, how many ranks there are.
    fn begin(&self, level: usize, group: u32) -> u32 {
        match self.named(level) {
            Some(named) => named.begin(group),
            None if level == 0 => group * self.size,
            None => group,
        }
    }

    /// The groups of a level that are in one of a level above: where they begin and where they end.
    fn within(&self, level: usize, (above, group): (usize, u32)) -> (u32, u32) {
        let end = self.begin(above, group + 1);
        let end = if end == self.size { self.count(level) } else { self.group(level, end) };
        (self.group(level, self.begin(above, group)), end)
    }

    fn position(&self, rank: Rank) -> u32 {
        self.tables.as_ref().map_or(rank.0, |tables| tables.positions[rank.index()])
    }

    fn rank(&self, position: u32) -> Rank {
        self.tables.as_ref().map_or(Rank(position), |tables| tables.ranks[position as usize])
    }

    /// The rank that is so many hops after another on the virtual ring of all ranks.
    pub fn after(&self, rank: Rank, hops: u32) -> Rank {
        let position = u64::from(self.position(rank)) + u64::from(hops);
        self.rank((position % u64::from(self.size)) as u32)
    }

    /// The hops on the virtual ring from one rank to another.
    pub fn hops(&self, from: Rank, to: Rank) -> u32 {
        let (from, to) = (self.position(from), self.position(to));
        if to >= from { to - from } else { to + (self.size - from) }
    }

    /// The next rank on the virtual ring.
    pub fn successor(&self, rank: Rank) -> Rank {
        self.after(rank, 1)
    }

    /// The previous rank on the virtual ring.
    pub fn predecessor(&self, rank: Rank) -> Rank {
        self.after(rank, self.size - 1)
    }

    /// The neighbours of `me` on the virtual ring (Hoefler 2007, section 2.2). Every protocol watches them for liveness and
    /// passes failures on to them, so that all ranks learn of one.
    pub fn ring_peers(&self, me: Rank) -> Vec<Rank> {
        let mut peers = vec![self.predecessor(me), self.successor(me)];
        peers.dedup();
        peers.retain(|peer| *peer != me);
        peers
    }

    /// The ranks as a tree under `root` counts them.
    pub fn from(&self, root: Rank) -> FromRoot<'_> {
        FromRoot::new(self, self.position(root))
    }
}
