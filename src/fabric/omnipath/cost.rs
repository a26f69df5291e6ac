//! What it costs to get from switch to switch.

use crate::topology::{Port, Quality, Topology};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The cost of a link: 1200 by its rate in Gbit/s, 12 for four lanes of 25 Gbit/s; at least 1.
pub fn link_cost(quality: &Quality) -> u32 {
    (1_200_000 / quality.rate_mbps().max(1)).max(1)
}

/// How far a switch is from all others that it can reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// The sum of the least costs to them.
    pub total: u64,
    /// The largest of these.
    pub worst: u64,
}

impl Costs {
    /// The costs of a switch.
    pub fn of(topology: &Topology, switch: u32) -> Costs {
        let mut least = vec![u64::MAX; topology.switches() as usize];
        least[topology.switch_index(switch)] = 0;
        let mut queue = BinaryHeap::from([(Reverse(0), switch)]);
        let mut costs = Costs::default();
        while let Some((Reverse(cost), node)) = queue.pop() {
            if cost > least[topology.switch_index(node)] {
                continue;
            }
            costs.total += cost;
            costs.worst = costs.worst.max(cost);
            for (port, peer) in topology.next_switches(node) {
                let Some(link) = topology.link(Port { node, port }) else { continue };
                let next = cost + u64::from(link_cost(&link.quality));
                let known = &mut least[topology.switch_index(peer.node)];
                if next < *known {
                    *known = next;
                    queue.push((Reverse(next), peer.node));
                }
            }
        }
        costs
    }
}
