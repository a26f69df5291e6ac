//! The fat-tree engine of OpenSM (`-R ftree`).

use super::order;
use crate::lids::Lids;
use crate::topology::Topology;
use crate::unicast::UnicastTables;
use std::collections::{BTreeSet, VecDeque};

/// Stands for no path.
const NO_PATH: u32 = u32::MAX;

/// All links from one switch to another.
#[derive(Clone, Debug)]
struct Group {
    remote: usize,
    cables: Vec<Cable>,
    /// Routes that go up through the group, and down.
    up: u32,
    down: u32,
}

#[derive(Clone, Copy, Debug)]
struct Cable {
    remote: u8,
    up: u32,
    down: u32,
}

/// The switches as a tree. Switches have their indices among the switches throughout.
struct Tree<'a> {
    topology: &'a Topology,
    /// Levels below the roots.
    ranks: Vec<u32>,
    above: Vec<Vec<Group>>,
    below: Vec<Vec<Group>>,
    /// Where a switch is among its like: its rank and a number for each rank below the roots'.
    places: Vec<Vec<u32>>,
    tables: UnicastTables,
    /// Hops from each switch to the LID at hand.
    hops: Vec<u32>,
}

/// The LFTs of the engine; none if the fabric is not a tree of the kind that it takes, where OpenSM
/// falls back to min-hop: all hosts at the lowest level, links between neighbouring levels only, and the
/// switches of a level alike.
///
/// Each host's LID goes the way up from its switch on which fewest routes come down so far, of equal
/// ones that to the first switch in the order of the tree; from every switch on that way, routes to it
/// are spread over all switches below. Then the same from the other switches above, where there is no
/// route yet.
pub(super) fn tables(topology: &Topology, lids: &Lids) -> Option<UnicastTables> {
    let mut tree = Tree::new(topology, lids)?;
    tree.index();
    let mut leaves: Vec<usize> = (0..tree.ranks.len()).filter(|leaf| tree.is_leaf(*leaf)).collect();
    leaves.sort_by(|a, b| tree.places[*a].cmp(&tree.places[*b]));
    for leaf in leaves {
        let node = topology.hosts() + leaf as u32;
        for (port, peer) in topology.neighbours(node) {
            let Some(endpoint) = topology.endpoint_at(peer) else { continue };
            let lid = lids.base(endpoint);
            tree.tables.set(leaf, lid, port);
            tree.hops.fill(NO_PATH);
            tree.hops[leaf] = 1;
            tree.ascend(leaf, None, lid, true);
        }
    }
    for switch in order(topology) {
        let switch = topology.switch_index(switch);
        let lid = lids.switch(switch);
        tree.tables.set(switch, lid, 0);
        tree.hops.fill(NO_PATH);
        tree.hops[switch] = 0;
        tree.ascend(switch, None, lid, false);
    }
    Some(tree.tables)
}

impl<'a> Tree<'a> {
    fn new(topology: &'a Topology, lids: &Lids) -> Option<Tree<'a>> {
        let heights = topology.heights();
        let highest = *heights.iter().max()?;
        if highest == NO_PATH || highest < 2 || topology.endpoints().len() < 2 {
            return None;
        }
        let ranks: Vec<u32> = heights.iter().map(|height| highest - height).collect();
        let groups = |node: u32, goes_up: bool| -> Vec<Group> {
            let mut groups: Vec<Group> = Vec::new();
            for (_, peer) in topology.next_switches(node) {
                let (own, remote) = (topology.switch_index(node), topology.switch_index(peer.node));
                if (ranks[remote] < ranks[own]) != goes_up {
                    continue;
                }
                let cable = Cable { remote: peer.port, up: 0, down: 0 };
                match groups.iter_mut().find(|group| group.remote == remote) {
                    Some(group) => group.cables.push(cable),
                    None => groups.push(Group { remote, cables: vec![cable], up: 0, down: 0 }),
                }
            }
            groups
        };
        let above: Vec<_> = topology.switch_nodes().map(|node| groups(node, true)).collect();
        let below: Vec<_> = topology.switch_nodes().map(|node| groups(node, false)).collect();
        let tables = UnicastTables::new(lids.clone(), topology.switches());
        let (places, hops) = (vec![Vec::new(); ranks.len()], vec![NO_PATH; ranks.len()]);
        let tree = Tree { topology, ranks, above, below, places, tables, hops };
        tree.is_regular().then_some(tree)
    }

    /// Whether OpenSM takes it for a fat tree.
    fn is_regular(&self) -> bool {
        let next_to = |switch: usize| {
            let groups = self.above[switch].iter().chain(&self.below[switch]);
            groups.map(|group| group.remote)
        };
        let by_level = (0..self.ranks.len()).all(|switch| {
            next_to(switch).all(|to| self.ranks[to].abs_diff(self.ranks[switch]) == 1)
        });
        let hosts_below = self.topology.endpoints().iter().enumerate().all(|(endpoint, _)| {
            let leaf = self.topology.leaf(endpoint as u32);
            leaf.is_some_and(|leaf| self.is_leaf(self.topology.switch_index(leaf.node)))
        });
        let like = |switch: usize| {
            let count = |groups: &[Group]| {
                groups.iter().map(|group| group.cables.len()).collect::<Vec<usize>>()
            };
            let hosts = self.topology.neighbours(self.topology.hosts() + switch as u32).count();
            (count(&self.above[switch]), count(&self.below[switch]), hosts)
        };
        let alike = (0..self.ranks.len()).all(|switch| {
            let first = self.ranks.iter().position(|rank| *rank == self.ranks[switch]);
            first.is_some_and(|first| like(first) == like(switch))
        });
        by_level && hosts_below && alike
    }

    fn lowest(&self) -> u32 {
        self.ranks.iter().copied().max().unwrap_or(0)
    }

    fn is_leaf(&self, switch: usize) -> bool {
        self.ranks[switch] == self.lowest()
    }

    /// Gives every switch its place, breadth first from the first leaf.
    fn index(&mut self) {
        let topology = self.topology;
        let all = order(topology).into_iter().map(|node| topology.switch_index(node));
        let Some(first) = all.into_iter().find(|switch| self.is_leaf(*switch)) else { return };
        let lowest = self.lowest();
        let mut taken = BTreeSet::new();
        let mut place = vec![0; lowest as usize + 1];
        place[0] = lowest;
        taken.insert(place.clone());
        self.places[first] = place;
        let mut queue = VecDeque::from([first]);
        while let Some(switch) = queue.pop_front() {
            let rank = self.ranks[switch];
            for goes_up in [false, true] {
                let groups = if goes_up { &self.above[switch] } else { &self.below[switch] };
                let remotes: Vec<usize> = groups.iter().map(|group| group.remote).collect();
                for remote in remotes {
                    if !self.places[remote].is_empty() {
                        continue;
                    }
                    let mut place = self.places[switch].clone();
                    let digit = if goes_up { rank } else { rank + 1 } as usize;
                    place[0] = if goes_up { rank - 1 } else { rank + 1 };
                    place[digit] = 0;
                    while taken.contains(&place) {
                        place[digit] += 1;
                    }
                    taken.insert(place.clone());
                    self.places[remote] = place;
                    queue.push_back(remote);
                }
            }
        }
    }

    /// Routes down to the LID through the switches above this one: the main way through the one with
    /// fewest such routes, and where `is_main` is not set, or through the others, only to switches that
    /// have no shorter one.
    fn ascend(&mut self, switch: usize, from: Option<usize>, lid: u16, is_main: bool) {
        self.descend(switch, from, lid);
        let places = &self.places;
        self.above[switch]
            .sort_by(|a, b| (a.down, &places[a.remote]).cmp(&(b.down, &places[b.remote])));
        let next = self.hops[switch] + 1;
        for number in 0..self.above[switch].len() {
            let group = &mut self.above[switch][number];
            let remote = group.remote;
            let is_shorter = next < self.hops[remote];
            let is_main = is_main && number == 0;
            if !is_main && !is_shorter {
                continue;
            }
            let least = group.cables.iter_mut().min_by_key(|cable| cable.down);
            let Some(cable) = least else { continue };
            let port = cable.remote;
            if is_main {
                cable.down += 1;
                group.down += 1;
            }
            if is_shorter {
                self.tables.set(remote, lid, port);
                self.hops[remote] = next;
            }
            self.ascend(remote, Some(switch), lid, is_main);
        }
    }

    /// Routes up to this switch, and on to the LID, from the switches below it that have no shorter
    /// one. Returns whether there is a host below, so that the routes are of use.
    fn descend(&mut self, switch: usize, from: Option<usize>, lid: u16) -> bool {
        if self.is_leaf(switch) {
            return true;
        }
        let places = &self.places;
        self.below[switch]
            .sort_by(|a, b| (a.up, &places[a.remote]).cmp(&(b.up, &places[b.remote])));
        let next = self.hops[switch] + 1;
        let mut is_used = false;
        for number in 0..self.below[switch].len() {
            let group = &self.below[switch][number];
            let remote = group.remote;
            if Some(remote) == from || next >= self.hops[remote] {
                continue;
            }
            let least = group.cables.iter().enumerate().min_by_key(|(_, cable)| cable.up);
            let Some((at, cable)) = least else { continue };
            self.tables.set(remote, lid, cable.remote);
            self.hops[remote] = next;
            if self.descend(remote, None, lid) {
                is_used = true;
                let group = &mut self.below[switch][number];
                group.up += 1;
                group.cables[at].up += 1;
            }
        }
        is_used
    }
}
