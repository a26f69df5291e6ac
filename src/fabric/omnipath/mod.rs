//! Multicast as the Omni-Path fabric manager does it (*Fabric Multicast Routing*, section 4.5.2 of the
//! Cornelis technical documentation).
//!
//! One root ([`select`]) and one spanning [`Tree`] serve all groups. [`Mlids`] hands out the multicast LIDs, shares
//! them where it has to, and [`Manager`] lets ports join and leave and counts what that costs.

mod cost;
mod manager;
mod mlids;
mod precreated;
mod reach;
mod root;
mod tree;

pub use cost::{Costs, link_cost};
pub use manager::{Change, Group, Join, JoinError, Manager, MemberKind, Settings};
pub use mlids::{Exhausted, Mgid, Mlids, Pool};
pub use precreated::{Precreated, Terms};
pub use root::{Root, Selection, default_root, select};
pub use tree::Tree;

#[cfg(test)]
mod tests;

use super::topology::Topology;
use std::collections::VecDeque;

/// The switches in the order of discovery: breadth first from the switch of the fabric manager's
/// endpoint, ports ascending. Switches that cannot be reached are left out.
pub fn discovery(topology: &Topology, manager: u32) -> Vec<u32> {
    let mut seen = vec![false; topology.switches() as usize];
    let mut found = Vec::new();
    let mut queue: VecDeque<u32> =
        topology.leaf(manager).map(|leaf| leaf.node).into_iter().collect();
    queue.iter().for_each(|node| seen[topology.switch_index(*node)] = true);
    while let Some(node) = queue.pop_front() {
        found.push(node);
        for (_, peer) in topology.next_switches(node) {
            if !std::mem::replace(&mut seen[topology.switch_index(peer.node)], true) {
                queue.push_back(peer.node);
            }
        }
    }
    found
}
