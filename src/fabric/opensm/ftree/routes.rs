//! The engine's routes, one LID after the other, and how many go through each group and cable.

use super::levels::{Group, Levels};
use crate::unicast::UnicastTables;

/// Stands for no path.
const NO_PATH: u32 = u32::MAX;

pub(super) struct Routes {
    levels: Levels,
    tables: UnicastTables,
    /// Whose routes are made: a LID, or nobody's.
    lid: Option<u16>,
    /// Hops from each switch to it.
    hops: Vec<u32>,
}

impl Routes {
    pub fn new(levels: Levels, tables: UnicastTables) -> Routes {
        let hops = vec![NO_PATH; levels.ranks.len()];
        Routes { levels, tables, lid: None, hops }
    }

    pub fn into_tables(self) -> UnicastTables {
        self.tables
    }

    /// Routes to a host at a port of a leaf.
    pub fn route_host(&mut self, leaf: usize, lid: u16, port: u8) {
        self.begin(leaf, Some(lid), 1);
        self.tables.set(leaf, lid, port);
        self.ascend(leaf, None, true);
    }

    /// Counts routes as to a host that a leaf does not have.
    pub fn route_nobody(&mut self, leaf: usize) {
        self.begin(leaf, None, 1);
        self.ascend(leaf, None, true);
    }

    /// Routes to a switch, which are not counted.
    pub fn route_switch(&mut self, switch: usize, lid: u16) {
        self.begin(switch, Some(lid), 0);
        self.tables.set(switch, lid, 0);
        self.ascend(switch, None, false);
    }

    fn begin(&mut self, at: usize, lid: Option<u16>, hops: u32) {
        self.lid = lid;
        self.hops.fill(NO_PATH);
        self.hops[at] = hops;
    }

    fn set(&mut self, switch: usize, port: u8, hops: u32) {
        if let Some(lid) = self.lid {
            self.tables.set(switch, lid, port);
        }
        self.hops[switch] = hops;
    }

    /// Routes down to the LID through the switches above this one: the main way through the one with
    /// fewest such routes, and where `is_main` is not set, or through the others, only to switches that
    /// have no shorter one; last through the switches beside it. Returns whether there is a host below.
    fn ascend(&mut self, switch: usize, from: Option<usize>, is_main: bool) -> bool {
        let mut is_used = self.descend(switch, from);
        if self.levels.above[switch].is_empty() {
            return is_used;
        }
        let next = self.hops[switch] + 1;
        sort_by_down(&mut self.levels.above[switch], &self.levels.places);
        for number in 0..self.levels.above[switch].len() {
            let group = &mut self.levels.above[switch][number];
            let remote = group.remote;
            let is_shorter = next < self.hops[remote];
            let is_main = is_main && number == 0;
            if !is_main && !is_shorter {
                continue;
            }
            let Some(at) = least_down(group) else { continue };
            let port = group.cables[at].remote;
            if is_main {
                group.cables[at].down += 1;
                group.down += 1;
            }
            if is_shorter {
                self.set(remote, port, next);
            }
            is_used |= self.ascend(remote, Some(switch), is_main);
        }
        sort_by_down(&mut self.levels.beside[switch], &self.levels.places);
        for number in 0..self.levels.beside[switch].len() {
            let group = &self.levels.beside[switch][number];
            let remote = group.remote;
            if next >= self.hops[remote] {
                continue;
            }
            let Some(at) = least_down(group) else { continue };
            let port = group.cables[at].remote;
            self.set(remote, port, next);
            if self.ascend(remote, Some(switch), false) {
                is_used = true;
                // What goes sideways is counted for the first group upwards.
                self.levels.above[switch][0].down += 1;
                self.levels.beside[switch][number].cables[at].down += 1;
            }
        }
        is_used
    }

    /// Routes up to this switch, and on to the LID, from the switches below it and beside it that have no shorter
    /// one. Returns whether there is a host below, so that the routes are of use.
    fn descend(&mut self, switch: usize, from: Option<usize>) -> bool {
        if self.levels.is_lowest(switch) {
            return self.levels.has_hosts[switch];
        }
        let places = &self.levels.places;
        for groups in [&mut self.levels.below[switch], &mut self.levels.beside[switch]] {
            groups.sort_by(|a, b| (a.up, &places[a.remote]).cmp(&(b.up, &places[b.remote])));
        }
        let mut is_used = self.spread(switch, from, false);
        if self.lid.is_some() {
            is_used |= self.spread(switch, from, true);
        }
        is_used
    }

    fn spread(&mut self, switch: usize, from: Option<usize>, is_beside: bool) -> bool {
        let next = self.hops[switch] + 1;
        let mut is_used = false;
        for number in 0..self.groups(switch, is_beside).len() {
            let remote = self.groups(switch, is_beside)[number].remote;
            if Some(remote) == from || next >= self.hops[remote] {
                continue;
            }
            let cables = self.groups(switch, is_beside)[number].cables.iter().enumerate();
            let Some((at, cable)) = cables.min_by_key(|(_, cable)| cable.up) else { continue };
            let port = cable.remote;
            self.set(remote, port, next);
            if self.descend(remote, None) {
                is_used = true;
                let group = &mut self.groups(switch, is_beside)[number];
                group.up += 1;
                group.cables[at].up += 1;
            }
        }
        is_used
    }

    fn groups(&mut self, switch: usize, is_beside: bool) -> &mut Vec<Group> {
        match is_beside {
            true => &mut self.levels.beside[switch],
            false => &mut self.levels.below[switch],
        }
    }
}

fn sort_by_down(groups: &mut [Group], places: &[Vec<u32>]) {
    groups.sort_by(|a, b| (a.down, &places[a.remote]).cmp(&(b.down, &places[b.remote])));
}

/// The cable with fewest routes down, by its number.
fn least_down(group: &Group) -> Option<usize> {
    (0..group.cables.len()).min_by_key(|at| group.cables[*at].down)
}
