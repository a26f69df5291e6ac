//! Hop counts between switches: OpenSM's min-hop tables, and those of Up*/Down*.

use super::order;
use crate::multicast::PortSet;
use crate::nearest;
use crate::topology::Topology;
use std::collections::VecDeque;

/// Stands for no path.
const NO_PATH: u32 = u32::MAX;

/// Hops from every switch to one.
#[derive(Clone, Debug)]
pub struct Hops {
    /// The least number of hops from each switch; `u32::MAX` if there is no path.
    pub least: Vec<u32>,
    /// The ports of each switch that have this number.
    pub ports: Vec<PortSet>,
}

impl Hops {
    /// Along shortest paths.
    pub fn shortest(topology: &Topology, target: u32) -> Hops {
        let least = nearest::distances(topology, target);
        let ports = topology.switch_nodes().zip(&least).map(|(node, hops)| {
            let closer = topology.next_switches(node).filter(|(_, peer)| {
                let next = least[topology.switch_index(peer.node)];
                next != NO_PATH && next + 1 == *hops
            });
            closer.map(|(port, _)| port).collect()
        });
        Hops { ports: ports.collect(), least }
    }

    /// Along paths that first go up and then down, by these ranks.
    pub fn up_down(topology: &Topology, ranking: &Ranking, target: u32) -> Hops {
        let index = |node| topology.switch_index(node);
        let counts = topology.switch_nodes().map(|node| usize::from(topology.node(node).ports) + 1);
        let mut counts: Vec<Vec<u32>> = counts.map(|ports| vec![NO_PATH; ports]).collect();
        let mut least = vec![NO_PATH; counts.len()];
        let mut is_up = vec![true; counts.len()];
        let mut waits = vec![false; counts.len()];
        least[index(target)] = 0;
        let mut queue = VecDeque::from([target]);
        // Breadth first from the target; what is up for the search is down for packets. A switch comes
        // into the queue again for each port with a new count, also if that is above its least.
        while let Some(node) = queue.pop_front() {
            waits[index(node)] = false;
            let count = least[index(node)] + 1;
            for (_, peer) in topology.next_switches(node) {
                let goes_up = ranking.is_up(topology, node, peer.node);
                let (next, port) = (index(peer.node), usize::from(peer.port));
                if (!is_up[index(node)] && goes_up) || count >= counts[next][port] {
                    continue;
                }
                counts[next][port] = count;
                least[next] = least[next].min(count);
                if !std::mem::replace(&mut waits[next], true) {
                    is_up[next] = goes_up;
                    queue.push_back(peer.node);
                }
            }
        }
        let ports = counts.iter().zip(&least).map(|(counts, least)| {
            let is_least = |(_, count): &(usize, &u32)| *count == least && *count != &NO_PATH;
            counts.iter().enumerate().filter(is_least).map(|(port, _)| port as u8).collect()
        });
        Hops { ports: ports.collect(), least }
    }

    /// The lowest port of a switch on a path of the least number of hops.
    pub fn first_port(&self, switch: usize) -> Option<u8> {
        self.ports[switch].iter().next()
    }
}

/// How far below the roots each switch is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranking(Vec<u32>);

impl Ranking {
    /// Finds the roots as Up*/Down* does without a list of them: switches from which more than 90 % of
    /// the hosts are equally far, and no more than 5 % at any other distance. None if there are none;
    /// OpenSM then falls back to min-hop.
    pub fn new(topology: &Topology) -> Option<Ranking> {
        let mut at_leaf = vec![0_u32; topology.switches() as usize];
        let mut hosts = 0;
        for endpoint in 0..topology.endpoints().len() as u32 {
            if let Some(leaf) = topology.leaf(endpoint) {
                at_leaf[topology.switch_index(leaf.node)] += 1;
                hosts += 1;
            }
        }
        let (most, some) = (f64::from(hosts) * 0.9, f64::from(hosts) * 0.05);
        let mut roots = Vec::new();
        for switch in order(topology) {
            let mut at_distance = Vec::new();
            for (distance, hosts) in nearest::distances(topology, switch).iter().zip(&at_leaf) {
                // OpenSM counts no farther.
                if *distance < 64 && *hosts > 0 {
                    let distance = *distance as usize;
                    at_distance.resize(at_distance.len().max(distance + 1), 0);
                    at_distance[distance] += hosts;
                }
            }
            let above =
                |bound| at_distance.iter().filter(|hosts| f64::from(**hosts) > bound).count();
            if above(most) == 1 && above(some) == 1 {
                roots.push(switch);
            }
        }
        (!roots.is_empty()).then(|| Ranking::below(topology, &roots))
    }

    /// The ranks below given roots (`-a`, a file with their GUIDs), which are nodes.
    pub fn below(topology: &Topology, roots: &[u32]) -> Ranking {
        let mut ranks = vec![u32::MAX; topology.switches() as usize];
        roots.iter().for_each(|root| ranks[topology.switch_index(*root)] = 0);
        let mut queue: VecDeque<u32> = roots.iter().copied().collect();
        while let Some(node) = queue.pop_front() {
            let below = ranks[topology.switch_index(node)] + 1;
            for (_, peer) in topology.next_switches(node) {
                let rank = &mut ranks[topology.switch_index(peer.node)];
                if *rank > below {
                    *rank = below;
                    queue.push_back(peer.node);
                }
            }
        }
        Ranking(ranks)
    }

    /// Whether the way from one switch to its neighbour goes up: to a lower rank, between equal ones
    /// to the lower GUID, and always from root to root.
    fn is_up(&self, topology: &Topology, from: u32, to: u32) -> bool {
        let rank = |node| self.0[topology.switch_index(node)];
        let guid = |node: u32| topology.node(node).guid;
        match (rank(from), rank(to)) {
            (0, 0) => true,
            (here, there) if here != there => here > there,
            _ => guid(from) > guid(to),
        }
    }
}
