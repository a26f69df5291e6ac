//! The spanning tree over all switches (section 4.5.2.4), and a group's part of it (4.5.2.5).

use super::reach::carriers;
use crate::multicast::Entries;
use crate::topology::{Port, Topology};
use std::collections::{BTreeSet, VecDeque};

/// A spanning tree of the links that carry an MTU and a rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Smallest MTU that its links have to carry, in bytes.
    pub mtu: u16,
    /// Smallest rate, in Mbit/s.
    pub rate_mbps: u32,
    root: u32,
    /// For each switch its port towards the root, and the parent's port of the same link.
    up: Vec<Option<(u8, Port)>>,
}

impl Tree {
    /// Grows a tree from the root: breadth first, ports ascending, over links that carry `mtu` and
    /// `rate_mbps`. Switches that no such links lead to are left out.
    pub fn grow(topology: &Topology, root: u32, mtu: u16, rate_mbps: u32) -> Tree {
        let mut up = vec![None; topology.switches() as usize];
        let mut queue = VecDeque::from([root]);
        while let Some(node) = queue.pop_front() {
            for (port, peer) in carriers(topology, node, mtu, rate_mbps) {
                let index = topology.switch_index(peer.node);
                if peer.node != root && up[index].is_none() {
                    up[index] = Some((peer.port, Port { node, port }));
                    queue.push_back(peer.node);
                }
            }
        }
        Tree { mtu, rate_mbps, root, up }
    }

    /// The tree for the largest MTU and rate with which it is complete: from the largest down, MTU by
    /// MTU. None if the switches are not connected even without regard to them.
    pub fn largest_complete(topology: &Topology, root: u32) -> Option<Tree> {
        let between = || {
            let is_inner = |port: &Port| topology.is_switch(port.node);
            topology.links().iter().filter(move |link| link.ends.iter().all(is_inner))
        };
        let mut mtus: Vec<u16> = between().map(|link| link.quality.mtu).collect();
        let mut rates: Vec<u32> = between().map(|link| link.quality.rate_mbps()).collect();
        // A single switch needs no links.
        mtus.push(0);
        rates.push(0);
        mtus.sort_unstable_by(|a, b| b.cmp(a));
        mtus.dedup();
        rates.sort_unstable_by(|a, b| b.cmp(a));
        rates.dedup();
        let pairs = mtus.iter().flat_map(|mtu| rates.iter().map(move |rate| (*mtu, *rate)));
        pairs.map(|(mtu, rate)| Tree::grow(topology, root, mtu, rate)).find(Tree::is_complete)
    }

    /// The root, as a node.
    pub fn root(&self) -> u32 {
        self.root
    }

    /// Whether all switches are in it: n − 1 links for n switches.
    pub fn is_complete(&self) -> bool {
        self.up.iter().flatten().count() + 1 == self.up.len()
    }

    /// The entries of a group on the complete tree: all its links, and the ports of the receivers.
    pub fn complete(&self, topology: &Topology, receivers: &[u32]) -> Entries {
        let mut entries = Entries::none(topology);
        for switch in topology.switch_nodes() {
            self.add_link(topology, &mut entries, switch);
        }
        add_receivers(topology, &mut entries, receivers);
        entries
    }

    /// The entries of a group on the pruned tree: the links between the switches of receivers and of senders that
    /// receive nothing, and no switch that none of these need; so it goes no further towards the root than to where
    /// the ways of all of them meet.
    pub fn pruned(&self, topology: &Topology, receivers: &[u32], senders: &[u32]) -> Entries {
        let members = receivers.iter().chain(senders);
        let leaves: BTreeSet<u32> =
            members.filter_map(|member| Some(topology.leaf(*member)?.node)).collect();
        // How many of the group's switches are at or below each.
        let mut below = vec![0; self.up.len()];
        for leaf in &leaves {
            let mut at = Some(*leaf);
            while let Some(switch) = at {
                below[topology.switch_index(switch)] += 1;
                at = self.up[topology.switch_index(switch)].map(|(_, parent)| parent.node);
            }
        }
        let mut entries = Entries::none(topology);
        for switch in topology.switch_nodes() {
            if (1..leaves.len()).contains(&below[topology.switch_index(switch)]) {
                self.add_link(topology, &mut entries, switch);
            }
        }
        add_receivers(topology, &mut entries, receivers);
        entries
    }

    /// Adds both ends of the link to a switch's parent.
    fn add_link(&self, topology: &Topology, entries: &mut Entries, switch: u32) {
        let index = topology.switch_index(switch);
        let Some((port, parent)) = self.up[index] else { return };
        entries.ports_mut(index).insert(port);
        entries.ports_mut(topology.switch_index(parent.node)).insert(parent.port);
    }
}

fn add_receivers(topology: &Topology, entries: &mut Entries, receivers: &[u32]) {
    for leaf in receivers.iter().filter_map(|member| topology.leaf(*member)) {
        entries.ports_mut(topology.switch_index(leaf.node)).insert(leaf.port);
    }
}
