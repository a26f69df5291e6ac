//! Nodes, ports and the links between them, whatever they were made from.

use std::collections::HashMap;
use std::fmt;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A channel adapter: an end of all paths.
    Host,
    /// A switch: forwards by its tables.
    Switch,
}

/// A host or a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Host or switch.
    pub kind: Kind,
    /// Unique within its topology.
    pub name: String,
    /// The node GUID, unique within its topology.
    pub guid: u64,
    /// Number of external ports; they count from 1.
    pub ports: u8,
}

/// One port of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Port {
    /// Index of the node.
    pub node: u32,
    /// From 1 to the node's number of ports.
    pub port: u8,
}

/// A cable between two ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The two ports.
    pub ends: [Port; 2],
    /// What it can carry.
    pub quality: Quality,
}

/// What a link can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quality {
    /// Largest payload of a packet, in bytes.
    pub mtu: u16,
    /// Nominal rate of one lane, in Mbit/s: 25000 for EDR.
    pub lane_mbps: u32,
    /// Number of lanes.
    pub lanes: u8,
}

impl Quality {
    /// Nominal rate of all lanes, in Mbit/s.
    pub const fn rate_mbps(&self) -> u32 {
        self.lane_mbps * self.lanes as u32
    }
}

impl Default for Quality {
    /// Four lanes of 25 Gbit/s, packets of up to 4096 bytes.
    fn default() -> Quality {
        Quality { mtu: 4096, lane_mbps: 25_000, lanes: 4 }
    }
}

/// A port of a host, which packets come from and go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The host's port.
    pub port: Port,
    /// Its port GUID.
    pub guid: u64,
}

/// Why nodes and links make no topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(pub(super) String);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

/// Stands for no node and no link.
const NONE: u32 = u32::MAX;

/// A fabric: hosts first, then switches, each with an index of its own. Everything about a port is
/// found by an index, without a search.
#[derive(Clone, Debug)]
pub struct Topology {
    nodes: Vec<Node>,
    links: Vec<Link>,
    hosts: u32,
    /// Where each node's ports begin in `peers` and `link_at`.
    first: Vec<u32>,
    peers: Vec<Port>,
    link_at: Vec<u32>,
    endpoints: Vec<Endpoint>,
    /// Where each host's endpoints begin, and where the last one's end.
    endpoint_of: Vec<u32>,
}

impl Topology {
    /// A topology of hosts, switches and links. `port_guids` has the GUIDs of those host ports whose
    /// GUID is not the node's GUID plus the port number.
    ///
    /// Each linked port of a host is an endpoint; endpoints count in the order of hosts and ports, so
    /// that with one port per host an endpoint has the index of its host.
    ///
    /// # Errors
    /// If a switch comes before a host, a name or GUID is there twice, a link has a port that does
    /// not exist or that another link has too, or both ends at the same node.
    pub fn new(
        nodes: Vec<Node>,
        links: Vec<Link>,
        port_guids: &HashMap<Port, u64>,
    ) -> Result<Topology, Invalid> {
        let hosts = nodes.iter().take_while(|node| node.kind == Kind::Host).count();
        if let Some(host) = nodes[hosts..].iter().find(|node| node.kind == Kind::Host) {
            return Err(Invalid(format!("host {} comes after a switch", host.name)));
        }
        distinct(&nodes)?;
        let mut first = Vec::with_capacity(nodes.len() + 1);
        let mut ports = 0_u32;
        for node in &nodes {
            first.push(ports);
            ports += u32::from(node.ports);
        }
        first.push(ports);
        let mut topology = Topology {
            nodes,
            links: Vec::with_capacity(links.len()),
            hosts: hosts as u32,
            first,
            peers: vec![Port { node: NONE, port: 0 }; ports as usize],
            link_at: vec![NONE; ports as usize],
            endpoints: Vec::new(),
            endpoint_of: Vec::with_capacity(hosts + 1),
        };
        for link in links {
            topology.connect(link)?;
        }
        topology.collect_endpoints(port_guids);
        Ok(topology)
    }

    fn connect(&mut self, link: Link) -> Result<(), Invalid> {
        let [a, b] = link.ends;
        for end in link.ends {
            let node = self.nodes.get(end.node as usize);
            let node = node.ok_or_else(|| Invalid(format!("there is no node {}", end.node)))?;
            let name = &node.name;
            if end.port == 0 || end.port > node.ports {
                return Err(Invalid(format!("{name} has no port {}", end.port)));
            }
            if self.peer(end).is_some() {
                return Err(Invalid(format!("port {} of {name} has two links", end.port)));
            }
            if a.node == b.node {
                return Err(Invalid(format!("{name} is linked to itself")));
            }
        }
        for (end, other) in [(a, b), (b, a)] {
            let slot = self.slot(end);
            self.peers[slot] = other;
            self.link_at[slot] = self.links.len() as u32;
        }
        self.links.push(link);
        Ok(())
    }

    fn collect_endpoints(&mut self, port_guids: &HashMap<Port, u64>) {
        for node in 0..self.hosts {
            self.endpoint_of.push(self.endpoints.len() as u32);
            for port in 1..=self.nodes[node as usize].ports {
                let port = Port { node, port };
                if self.peer(port).is_some() {
                    let guid = self.nodes[node as usize].guid.wrapping_add(u64::from(port.port));
                    let guid = port_guids.get(&port).copied().unwrap_or(guid);
                    self.endpoints.push(Endpoint { port, guid });
                }
            }
        }
        self.endpoint_of.push(self.endpoints.len() as u32);
    }

    fn slot(&self, at: Port) -> usize {
        self.first[at.node as usize] as usize + usize::from(at.port) - 1
    }

    /// Number of hosts; they are the nodes from 0.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Number of switches; they are the nodes after the hosts.
    pub fn switches(&self) -> u32 {
        self.nodes.len() as u32 - self.hosts
    }

    /// The nodes that are switches.
    pub fn switch_nodes(&self) -> std::ops::Range<u32> {
        self.hosts..self.nodes.len() as u32
    }

    /// Index of a switch among the switches; tables of switches are in this order. `node` must be a
    /// switch.
    pub fn switch_index(&self, node: u32) -> usize {
        (node - self.hosts) as usize
    }

    /// Whether a node is a switch.
    pub fn is_switch(&self, node: u32) -> bool {
        node >= self.hosts
    }

    /// A node; the index must be one.
    pub fn node(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    /// All nodes, hosts first.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All links.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// What is at the other end of a port's link.
    pub fn peer(&self, at: Port) -> Option<Port> {
        let peer = self.peers[self.slot(at)];
        (peer.node != NONE).then_some(peer)
    }

    /// Index of a port's link.
    pub fn link_index(&self, at: Port) -> Option<u32> {
        let link = self.link_at[self.slot(at)];
        (link != NONE).then_some(link)
    }

    /// A port's link.
    pub fn link(&self, at: Port) -> Option<&Link> {
        self.link_index(at).map(|link| &self.links[link as usize])
    }

    /// A node's linked ports, ascending, each with what is at the other end.
    pub fn neighbours(&self, node: u32) -> impl Iterator<Item = (u8, Port)> + '_ {
        (1..=self.node(node).ports)
            .filter_map(move |port| Some((port, self.peer(Port { node, port })?)))
    }

    /// As [`Topology::neighbours`], only those that are switches.
    pub fn next_switches(&self, node: u32) -> impl Iterator<Item = (u8, Port)> + '_ {
        self.neighbours(node).filter(|(_, peer)| self.is_switch(peer.node))
    }

    /// All endpoints.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// The endpoint at a port; none if it is a switch's, or has no link.
    pub fn endpoint_at(&self, at: Port) -> Option<u32> {
        if self.is_switch(at.node) {
            return None;
        }
        let (from, to) =
            (self.endpoint_of[at.node as usize], self.endpoint_of[at.node as usize + 1]);
        (from..to).find(|endpoint| self.endpoints[*endpoint as usize].port == at)
    }

    /// The switch port that an endpoint is linked to; none if it is linked to another host.
    pub fn leaf(&self, endpoint: u32) -> Option<Port> {
        let peer = self.peer(self.endpoints[endpoint as usize].port)?;
        self.is_switch(peer.node).then_some(peer)
    }

    /// The node of this name.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.nodes.iter().position(|node| node.name == name).map(|node| node as u32)
    }

    /// The same fabric with other GUIDs for its switches, in their order.
    ///
    /// # Errors
    /// If there are not as many as switches, or one is there twice or a host's.
    pub fn with_switch_guids(mut self, guids: &[u64]) -> Result<Topology, Invalid> {
        if guids.len() != self.switches() as usize {
            let switches = self.switches();
            return Err(Invalid(format!("{} GUIDs for {switches} switches", guids.len())));
        }
        for (node, guid) in self.nodes[self.hosts as usize..].iter_mut().zip(guids) {
            node.guid = *guid;
        }
        distinct(&self.nodes)?;
        Ok(self)
    }

    /// Links from each switch to the nearest host, in their order: 1 at a switch with a host,
    /// `u32::MAX` where no host can be reached.
    pub fn heights(&self) -> Vec<u32> {
        let mut heights = vec![u32::MAX; self.switches() as usize];
        let mut queue = std::collections::VecDeque::new();
        for endpoint in 0..self.endpoints.len() as u32 {
            if let Some(leaf) = self.leaf(endpoint) {
                let height = &mut heights[self.switch_index(leaf.node)];
                if *height == u32::MAX {
                    *height = 1;
                    queue.push_back(leaf.node);
                }
            }
        }
        while let Some(node) = queue.pop_front() {
            let above = heights[self.switch_index(node)] + 1;
            for (_, peer) in self.next_switches(node) {
                let height = &mut heights[self.switch_index(peer.node)];
                if *height == u32::MAX {
                    *height = above;
                    queue.push_back(peer.node);
                }
            }
        }
        heights
    }
}

fn distinct(nodes: &[Node]) -> Result<(), Invalid> {
    let mut names = HashMap::with_capacity(nodes.len());
    let mut guids = HashMap::with_capacity(nodes.len());
    for node in nodes {
        if names.insert(node.name.as_str(), ()).is_some() {
            return Err(Invalid(format!("there are two nodes of the name {}", node.name)));
        }
        if let Some(other) = guids.insert(node.guid, &node.name) {
            let (guid, name) = (node.guid, &node.name);
            return Err(Invalid(format!("{other} and {name} have the same GUID 0x{guid:x}")));
        }
    }
    Ok(())
}
