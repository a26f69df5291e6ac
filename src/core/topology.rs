//! The switches of a network as a tree, in the format of Slurm's topology.conf(5) for topology/tree, which many sites have.
//!
//! A line names a switch and what is below it: hosts (`SwitchName=s0 Nodes=node[1-4,7]`) or switches
//! (`SwitchName=top Switches=s[0-3]`). What is read is bounded, so that no file takes more memory than a large one.

mod error;
mod host_list;
mod line;
mod path;
#[cfg(test)]
mod tests;

pub use error::{TopologyError, TopologyMistake};
pub use host_list::{HostList, HostListError};
pub use path::{MAX_SWITCH_NAME, MAX_SWITCHES, SwitchPath, SwitchPathError};

use line::{Below, Line, lines};
use path::check_name;
use std::collections::HashMap;
use std::str::FromStr;

/// Names of hosts and switches below switches in a file at most: more than the largest systems have.
pub const MAX_NAMES: usize = 1 << 18;

/// The switches of a network, and the hosts below them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchTree {
    /// In the order of their lines.
    switches: Vec<Switch>,
    /// The leaf switch of each host.
    leaves: HashMap<String, usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Switch {
    name: String,
    line: usize,
    /// The switch above it. Where several are, as the spines of a fat tree are above each leaf, the first in the file: they
    /// tell no two leaves apart.
    above: Option<usize>,
}

impl SwitchTree {
    /// Bytes of a file at most that is worth reading.
    pub const MAX_LEN: u64 = 16 << 20;

    /// The switches above a host, from the top down; none if the host is not there. A name with a domain stands for its
    /// first label, too, as Slurm calls hosts so.
    pub fn above(&self, host: &str) -> Option<SwitchPath> {
        let label = host.split_once('.').map_or(host, |(label, _)| label);
        let leaf = self.leaves.get(host).or_else(|| self.leaves.get(label))?;
        let way = |switch: &usize| self.switches[*switch].above;
        let mut names: Vec<_> = std::iter::successors(Some(*leaf), way)
            .map(|switch| self.switches[switch].name.clone())
            .collect();
        names.reverse();
        SwitchPath::new(names).ok()
    }

    /// The number of switches.
    pub fn switches(&self) -> usize {
        self.switches.len()
    }

    /// The number of hosts.
    pub fn hosts(&self) -> usize {
        self.leaves.len()
    }
}

impl FromStr for SwitchTree {
    type Err = TopologyError;

    fn from_str(text: &str) -> Result<Self, TopologyError> {
        let mut tree = SwitchTree { switches: Vec::new(), leaves: HashMap::new() };
        let mut numbers = HashMap::new();
        let mut edges = Vec::new();
        let mut names_left = MAX_NAMES;
        for (line, text) in lines(text) {
            let at = |mistake| TopologyError { line, mistake };
            let Some(Line { name, below }) = Line::parse(&text).map_err(at)? else { continue };
            check_name(name).map_err(|error| at(error.into()))?;
            let switch = tree.switches.len();
            if let Some(first) = numbers.insert(name.to_owned(), switch) {
                let first = tree.switches[first].line;
                return Err(at(TopologyMistake::SwitchTwice { name: name.to_owned(), first }));
            }
            tree.switches.push(Switch { name: name.to_owned(), line, above: None });
            let (list, is_leaf) = match below {
                Below::Hosts(list) => (list, true),
                Below::Switches(list) => (list, false),
                Below::Nothing => continue,
            };
            let list = HostList::parse(list).map_err(|error| at(error.into()))?;
            let left = names_left.checked_sub(list.len());
            names_left = left.ok_or_else(|| at(TopologyMistake::TooManyNames))?;
            match is_leaf {
                true => tree.add_hosts(switch, &list).map_err(at)?,
                false => edges.extend(list.names().map(|name| Edge { switch, name })),
            }
        }
        if tree.switches.is_empty() {
            return Err(TopologyError { line: 1, mistake: TopologyMistake::NoSwitch });
        }
        tree.join(&edges, &numbers)?;
        Ok(tree)
    }
}

/// That a switch is above another one.
struct Edge {
    switch: usize,
    /// Of the one below.
    name: String,
}

impl SwitchTree {
    fn add_hosts(&mut self, leaf: usize, list: &HostList<'_>) -> Result<(), TopologyMistake> {
        for name in list.names() {
            if let Some(other) = self.leaves.insert(name.clone(), leaf)
                && other != leaf
            {
                let Switch { name: switch, line, .. } = self.switches[other].clone();
                return Err(TopologyMistake::HostTwice { name, switch, line });
            }
        }
        Ok(())
    }

    /// Puts switches below others, once all of them are known.
    fn join(
        &mut self,
        edges: &[Edge],
        numbers: &HashMap<String, usize>,
    ) -> Result<(), TopologyError> {
        let mut below = vec![Vec::new(); self.switches.len()];
        for Edge { switch, name } in edges {
            let Some(child) = numbers.get(name) else {
                let mistake = TopologyMistake::UnknownSwitch { name: name.clone() };
                return Err(TopologyError { line: self.switches[*switch].line, mistake });
            };
            below[*switch].push(*child);
            self.switches[*child].above.get_or_insert(*switch);
        }
        if let Some(switch) = on_a_cycle(&below) {
            let Switch { name, line, .. } = self.switches[switch].clone();
            return Err(TopologyError { line, mistake: TopologyMistake::Cycle { name } });
        }
        for Switch { line, above, .. } in &self.switches {
            let way = std::iter::successors(*above, |switch| self.switches[*switch].above);
            if way.take(MAX_SWITCHES).count() == MAX_SWITCHES {
                return Err(TopologyError { line: *line, mistake: TopologyMistake::TooDeep });
            }
        }
        Ok(())
    }
}

/// A switch that is below itself, if there is one, where these are below each.
fn on_a_cycle(below: &[Vec<usize>]) -> Option<usize> {
    let mut above = vec![Vec::new(); below.len()];
    for (switch, children) in below.iter().enumerate() {
        children.iter().for_each(|child| above[*child].push(switch));
    }
    // Leaves are taken away, and what is a leaf then, until only cycles and what is above them are left.
    let mut left: Vec<_> = below.iter().map(Vec::len).collect();
    let mut leaves: Vec<_> = (0..below.len()).filter(|switch| left[*switch] == 0).collect();
    while let Some(leaf) = leaves.pop() {
        for switch in &above[leaf] {
            left[*switch] -= 1;
            if left[*switch] == 0 {
                leaves.push(*switch);
            }
        }
    }
    // Each that is left has one below it that is, too: the way down comes back to where it was.
    let mut switch = left.iter().position(|count| *count > 0)?;
    let mut was_there = vec![false; below.len()];
    while !std::mem::replace(&mut was_there[switch], true) {
        switch = below[switch].iter().copied().find(|child| left[*child] > 0)?;
    }
    Some(switch)
}
