//! A fabric as the engine sees it: levels from the roots down, and an order of switches.

use super::order;
use crate::topology::Topology;
use std::cmp::Ordering;
use std::collections::{BTreeSet, VecDeque};

/// Stands for no level.
const NONE: u32 = u32::MAX;
/// OpenSM takes trees of as many levels.
const MIN_LEVELS: u32 = 2;
const MAX_LEVELS: u32 = 8;

/// All links from one switch to another.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub remote: usize,
    pub cables: Vec<Cable>,
    /// Routes that go up through the group, and down.
    pub up: u32,
    pub down: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Cable {
    pub remote: u8,
    pub up: u32,
    pub down: u32,
}

/// The switches as a tree. Switches have their indices among the switches throughout.
pub(super) struct Levels {
    /// Levels below the roots.
    pub ranks: Vec<u32>,
    pub above: Vec<Vec<Group>>,
    pub below: Vec<Vec<Group>>,
    pub beside: Vec<Vec<Group>>,
    /// Where a switch is among its like: its rank and a number for each rank below the roots'.
    pub places: Vec<Vec<u32>>,
    pub has_hosts: Vec<bool>,
    /// The switches of the lowest level from the first that has hosts to the last, by their places.
    pub leaves: Vec<usize>,
}

impl Levels {
    /// None if OpenSM does not take the fabric for a fat tree: all hosts have to be at the lowest level, and the
    /// switches of a level to be alike. Hosts may be missing, and switches of a level be linked with one another.
    pub fn new(topology: &Topology) -> Option<Levels> {
        let ranks = ranks(topology)?;
        let lowest = *ranks.iter().max()?;
        let leaf = |endpoint| Some(topology.switch_index(topology.leaf(endpoint)?.node));
        let homes: Option<BTreeSet<usize>> =
            (0..topology.endpoints().len() as u32).map(leaf).collect();
        let homes = homes?;
        let is_tree = (MIN_LEVELS..=MAX_LEVELS).contains(&(lowest + 1))
            && topology.hosts() >= 2
            && homes.iter().all(|home| ranks[*home] == lowest);
        if !is_tree {
            return None;
        }
        let groups = |which| {
            let of = |node| groups(topology, &ranks, node, which);
            topology.switch_nodes().map(of).collect::<Vec<_>>()
        };
        let [above, beside, below] =
            [Ordering::Less, Ordering::Equal, Ordering::Greater].map(groups);
        let places = vec![Vec::new(); ranks.len()];
        let has_hosts = (0..ranks.len()).map(|switch| homes.contains(&switch)).collect();
        let leaves = Vec::new();
        let mut levels = Levels { ranks, above, below, beside, places, has_hosts, leaves };
        let order: Vec<usize> =
            order(topology).into_iter().map(|node| topology.switch_index(node)).collect();
        levels.place(*order.iter().find(|switch| levels.has_hosts[**switch])?);
        levels.collect_leaves(&order);
        (levels.leaves.len() > 1 && levels.are_alike(&order)).then_some(levels)
    }

    fn lowest(&self) -> u32 {
        self.ranks.iter().copied().max().unwrap_or(0)
    }

    pub fn is_lowest(&self, switch: usize) -> bool {
        self.ranks[switch] == self.lowest()
    }

    /// A switch of the lowest level with a link to another one.
    pub fn linked_leaf(&self) -> Option<usize> {
        (0..self.ranks.len())
            .find(|switch| self.is_lowest(*switch) && !self.beside[*switch].is_empty())
    }

    /// Gives every switch its place, breadth first from the first leaf, and sorts groups by the places.
    fn place(&mut self, first: usize) {
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
                for remote in groups.iter().map(|group| group.remote) {
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
        let places = &self.places;
        for groups in self.above.iter_mut().chain(&mut self.below).chain(&mut self.beside) {
            groups.sort_by_key(|group| &places[group.remote]);
        }
    }

    fn collect_leaves(&mut self, order: &[usize]) {
        let mut leaves: Vec<usize> =
            order.iter().copied().filter(|switch| self.is_lowest(*switch)).collect();
        leaves.sort_by_key(|leaf| &self.places[*leaf]);
        let has_hosts = |leaf: &usize| self.has_hosts[*leaf];
        let first = leaves.iter().position(has_hosts).unwrap_or(0);
        let last = leaves.iter().rposition(has_hosts).unwrap_or(0);
        self.leaves = leaves[first..=last].to_vec();
    }

    /// Whether each switch has as many groups as the first of its level, of as many cables.
    fn are_alike(&self, order: &[usize]) -> bool {
        order.iter().all(|switch| {
            let first = order.iter().find(|first| self.ranks[**first] == self.ranks[*switch]);
            first.is_some_and(|first| first == switch || self.is_like(*first, *switch))
        })
    }

    fn is_like(&self, first: usize, switch: usize) -> bool {
        let cables = |groups: &[Group]| groups.first().map_or(0, |group| group.cables.len());
        let above = &self.above[switch];
        let is_like_above = self.above[first].len() == above.len()
            && above.iter().all(|group| group.cables.len() == cables(&self.above[first]));
        // Of the groups below OpenSM compares the first only.
        let (own, other) = (&self.below[switch], &self.below[first]);
        let is_like_below = own.len() == other.len() && cables(own) == cables(other);
        is_like_above && (self.is_lowest(switch) || is_like_below)
    }
}

/// Levels below the roots, which are the switches that are farthest from hosts.
fn ranks(topology: &Topology) -> Option<Vec<u32>> {
    let heights = topology.heights();
    let highest = *heights.iter().max()?;
    if highest == NONE {
        return None;
    }
    let is_root = |node: &u32| heights[topology.switch_index(*node)] == highest;
    let mut queue: VecDeque<u32> = topology.switch_nodes().filter(is_root).collect();
    let mut ranks = vec![NONE; heights.len()];
    queue.iter().for_each(|root| ranks[topology.switch_index(*root)] = 0);
    while let Some(node) = queue.pop_front() {
        let below = ranks[topology.switch_index(node)] + 1;
        for (_, peer) in topology.next_switches(node) {
            let rank = &mut ranks[topology.switch_index(peer.node)];
            if *rank == NONE {
                *rank = below;
                queue.push_back(peer.node);
            }
        }
    }
    (!ranks.contains(&NONE)).then_some(ranks)
}

/// The groups to switches whose rank compares so with a switch's own, in the order of its ports.
fn groups(topology: &Topology, ranks: &[u32], node: u32, which: Ordering) -> Vec<Group> {
    let own = topology.switch_index(node);
    let mut groups: Vec<Group> = Vec::new();
    for (_, peer) in topology.next_switches(node) {
        let remote = topology.switch_index(peer.node);
        if ranks[remote].cmp(&ranks[own]) != which {
            continue;
        }
        let cable = Cable { remote: peer.port, up: 0, down: 0 };
        match groups.iter_mut().find(|group| group.remote == remote) {
            Some(group) => group.cables.push(cable),
            None => groups.push(Group { remote, cables: vec![cable], up: 0, down: 0 }),
        }
    }
    groups
}
