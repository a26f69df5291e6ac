//! Shortest paths between switches, by number of links.

use super::topology::Topology;
use std::collections::VecDeque;

/// Links from each switch, by its index, to the switch `target`; `u32::MAX` where there is no path.
pub fn distances(topology: &Topology, target: u32) -> Vec<u32> {
    let mut distances = vec![u32::MAX; topology.switches() as usize];
    distances[topology.switch_index(target)] = 0;
    let mut queue = VecDeque::from([target]);
    while let Some(node) = queue.pop_front() {
        let next = distances[topology.switch_index(node)] + 1;
        for (_, peer) in topology.next_switches(node) {
            let distance = &mut distances[topology.switch_index(peer.node)];
            if *distance == u32::MAX {
                *distance = next;
                queue.push_back(peer.node);
            }
        }
    }
    distances
}

/// Each switch from which `target` can be reached, as a node, with the lowest of its ports that lead
/// there by a shortest path; 0 at the target.
pub fn ports_towards(topology: &Topology, target: u32) -> impl Iterator<Item = (u32, u8)> + '_ {
    let distances = distances(topology, target);
    topology.switch_nodes().filter_map(move |switch| {
        let port = match distances[topology.switch_index(switch)] {
            0 => 0,
            distance => topology
                .next_switches(switch)
                .find(|(_, peer)| {
                    distances[topology.switch_index(peer.node)] == distance.wrapping_sub(1)
                })
                .map(|(port, _)| port)?,
        };
        Some((switch, port))
    })
}
