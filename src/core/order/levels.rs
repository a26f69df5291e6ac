//! How ranks fall into groups: by the switches above their hosts, from the top down, and by their hosts.

use super::Tables;
use crate::rank::Rank;
use std::collections::BTreeMap;

/// The groups of a level, each a run of positions.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Level {
    /// By position.
    groups: Vec<u32>,
    /// The position where each begins, and after those the number of ranks.
    begins: Vec<u32>,
}

impl Level {
    /// Of groups in the order of their numbers, by position.
    fn new(groups: Vec<u32>) -> Self {
        let mut begins = Vec::new();
        for (position, group) in (0..).zip(&groups) {
            if *group as usize == begins.len() {
                begins.push(position);
            }
        }
        begins.push(groups.len() as u32);
        Level { groups, begins }
    }

    pub fn count(&self) -> u32 {
        self.begins.len() as u32 - 1
    }

    pub fn group(&self, position: u32) -> u32 {
        self.groups[position as usize]
    }

    pub fn begin(&self, group: u32) -> u32 {
        self.begins[group as usize]
    }
}

/// Groups of hosts at a level.
struct Grouping {
    /// By host.
    groups: Vec<u32>,
    count: u32,
}

impl Grouping {
    /// Numbers groups, each of the hosts with one key, in the order of where they are and then of their first hosts.
    fn new<K: Ord + Copy>(keys: &[K], place: impl Fn(K) -> (u32, bool)) -> Self {
        let mut firsts = BTreeMap::new();
        for (host, key) in keys.iter().enumerate() {
            firsts.entry(*key).or_insert(host);
        }
        let mut order: Vec<_> = firsts.iter().map(|(key, host)| (place(*key), *host)).collect();
        order.sort_unstable();
        let mut numbers = vec![0; keys.len()];
        for (number, (_, first)) in (0..).zip(&order) {
            numbers[*first] = number;
        }
        let groups = keys.iter().map(|key| numbers[firsts[key]]).collect();
        Grouping { groups, count: order.len() as u32 }
    }
}

/// The tables of ranks that have told these places; none where their numbers say as much.
pub(super) fn tables<S: Ord, H: Ord>(told: &[Option<(&[S], H)>]) -> Option<Tables> {
    // Hosts in the order of their first ranks.
    let mut numbers = BTreeMap::new();
    let mut hosts = Vec::with_capacity(told.len());
    let mut paths: Vec<&[S]> = Vec::new();
    for place in told {
        let (switches, host) = place.as_ref()?;
        let host = *numbers.entry(host).or_insert(paths.len());
        hosts.push(host);
        match paths.get_mut(host) {
            None => paths.push(switches),
            Some(path) if path.is_empty() => *path = switches,
            Some(_) => {}
        }
    }
    let switches = groupings(&paths);
    if paths.len() < 2 || switches.is_empty() && paths.len() == told.len() {
        return None;
    }
    let above = |host: usize| switches.last().map_or(0, |level| level.groups[host]);
    let of_hosts: Vec<_> = (0..paths.len()).collect();
    let of_hosts = Grouping::new(&of_hosts, |host| (above(host), false));
    let mut ranks: Vec<Rank> = (0..told.len() as u32).map(Rank).collect();
    ranks.sort_by_key(|rank| of_hosts.groups[hosts[rank.index()]]);
    let mut positions = vec![0; ranks.len()];
    for (position, rank) in (0..).zip(&ranks) {
        positions[rank.index()] = position;
    }
    let of_ranks = |level: &Grouping| {
        Level::new(ranks.iter().map(|rank| level.groups[hosts[rank.index()]]).collect())
    };
    let levels = switches.iter().chain([&of_hosts]).map(of_ranks).collect();
    Some(Tables { ranks, positions, levels })
}

/// Hosts by the switches above them, a level for each switch on the longest way. Left out are levels with one group, and
/// those whose groups are those of the next level, or hosts.
fn groupings<S: Ord>(paths: &[&[S]]) -> Vec<Grouping> {
    let depth = paths.iter().map(|path| path.len()).max().unwrap_or_default();
    let mut all: Vec<Grouping> = Vec::with_capacity(depth);
    for level in 0..depth {
        let above = |host: usize| all.last().map_or(0, |above| above.groups[host]);
        // What is below no switch comes last.
        let keys = paths.iter().enumerate().map(|(host, path)| (above(host), path.get(level)));
        let keys: Vec<_> = keys.collect();
        all.push(Grouping::new(&keys, |(above, switch)| (above, switch.is_none())));
    }
    let mut finer = paths.len() as u32;
    let mut kept: Vec<_> = all.into_iter().rev().collect();
    kept.retain(|level| {
        level.count > 1 && std::mem::replace(&mut finer, level.count) > level.count
    });
    kept.reverse();
    kept
}
