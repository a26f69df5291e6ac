//! Which switches links of an MTU and a rate lead to: whether a path is there for a group (section 4.5.2.1).

use crate::topology::{Port, Topology};

/// A switch's ports to other switches whose links carry `mtu` (bytes) and `rate_mbps`, ascending, each with what is at
/// the other end.
pub(super) fn carriers(
    topology: &Topology,
    node: u32,
    mtu: u16,
    rate_mbps: u32,
) -> impl Iterator<Item = (u8, Port)> + '_ {
    topology.next_switches(node).filter(move |(port, _)| {
        let link = topology.link(Port { node, port: *port });
        link.is_some_and(|link| link.quality.mtu >= mtu && link.quality.rate_mbps() >= rate_mbps)
    })
}

/// The switches in parts: within a part, links that carry the MTU and the rate lead from every switch to every other.
pub(super) struct Parts {
    /// The part of each switch, by its index: the node of its first switch.
    first: Vec<Option<u32>>,
}

impl Parts {
    /// The parts of `switches`; the first switch of a part is the first of it in this order.
    pub fn new(
        topology: &Topology,
        switches: impl IntoIterator<Item = u32>,
        mtu: u16,
        rate_mbps: u32,
    ) -> Parts {
        let mut first = vec![None; topology.switches() as usize];
        for start in switches {
            let mut open = vec![start];
            while let Some(node) = open.pop() {
                let part = &mut first[topology.switch_index(node)];
                if part.is_none() {
                    *part = Some(start);
                    open.extend(
                        carriers(topology, node, mtu, rate_mbps).map(|(_, peer)| peer.node),
                    );
                }
            }
        }
        Parts { first }
    }

    /// The part of an endpoint's switch; none if it has no switch, or one that is in no part.
    pub fn of(&self, topology: &Topology, endpoint: u32) -> Option<u32> {
        let leaf = topology.leaf(endpoint)?;
        self.first[topology.switch_index(leaf.node)]
    }

    /// Number of switches in a part.
    pub fn switches(&self, part: u32) -> usize {
        self.first.iter().filter(|first| **first == Some(part)).count()
    }
}
