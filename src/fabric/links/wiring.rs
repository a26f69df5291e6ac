//! The ports of a fabric as plain indices, so that a packet's next hop is found without a search.

use crate::topology::{Port, Topology};

/// Stands for no port, and for no switch.
const NONE: u32 = u32::MAX;

/// All ports, counted node by node. A port sends over one channel and receives over another; both have
/// its index.
#[derive(Debug)]
pub(super) struct Wiring {
    /// Where each node's ports begin.
    first: Vec<u32>,
    /// The port at the other end.
    peers: Vec<u32>,
    /// The node of a port, and its number there.
    nodes: Vec<(u32, u8)>,
    /// The first port of each endpoint, and the endpoint of each host's port.
    endpoints: Vec<u32>,
    endpoint_at: Vec<u32>,
    hosts: u32,
}

impl Wiring {
    pub fn new(topology: &Topology) -> Wiring {
        let mut wiring = Wiring {
            first: Vec::with_capacity(topology.nodes().len()),
            peers: Vec::new(),
            nodes: Vec::new(),
            endpoints: Vec::new(),
            endpoint_at: Vec::new(),
            hosts: topology.hosts(),
        };
        for (node, what) in (0..).zip(topology.nodes()) {
            wiring.first.push(wiring.nodes.len() as u32);
            wiring.nodes.extend((1..=what.ports).map(|port| (node, port)));
        }
        let all = wiring.nodes.iter().map(|(node, port)| Port { node: *node, port: *port });
        let all: Vec<Port> = all.collect();
        let peers = all.iter().map(|at| topology.peer(*at).map_or(NONE, |peer| wiring.index(peer)));
        wiring.peers = peers.collect();
        wiring.endpoint_at = vec![NONE; all.len()];
        for (endpoint, at) in (0..).zip(topology.endpoints()) {
            let index = wiring.index(at.port);
            wiring.endpoints.push(index);
            wiring.endpoint_at[index as usize] = endpoint;
        }
        wiring
    }

    /// Number of ports.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    fn index(&self, at: Port) -> u32 {
        self.first[at.node as usize] + u32::from(at.port) - 1
    }

    /// The port of this number at the node of another port; none if there is no such, or no link.
    pub fn sibling(&self, of: u32, port: u8) -> Option<u32> {
        let (node, _) = self.nodes[of as usize];
        let index = self.first[node as usize] + u32::from(port).checked_sub(1)?;
        let (owner, _) = *self.nodes.get(index as usize)?;
        (owner == node && self.peers[index as usize] != NONE).then_some(index)
    }

    /// The port at the other end of a link.
    pub fn peer(&self, of: u32) -> u32 {
        self.peers[of as usize]
    }

    /// A port's number at its node.
    pub fn number(&self, of: u32) -> u8 {
        self.nodes[of as usize].1
    }

    /// The port as the topology has it.
    pub fn place(&self, of: u32) -> Port {
        let (node, port) = self.nodes[of as usize];
        Port { node, port }
    }

    /// The index of a port's switch among the switches; none at a host.
    pub fn switch(&self, of: u32) -> Option<usize> {
        let (node, _) = self.nodes[of as usize];
        node.checked_sub(self.hosts).map(|index| index as usize)
    }

    /// The port of an endpoint.
    pub fn of_endpoint(&self, endpoint: u32) -> u32 {
        self.endpoints[endpoint as usize]
    }

    /// The endpoint at a host's port.
    pub fn endpoint(&self, of: u32) -> u32 {
        self.endpoint_at[of as usize]
    }
}
