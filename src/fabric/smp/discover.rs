//! Walks through a fabric from where one stands.

use super::attributes::{Attribute, NodeInfo, PortInfo, SwitchInfo, description};
use super::datagram::{Addressing, Path, Route};
use super::multicast::Place;
use super::{Agent, Unanswered};
use crate::topology::{Kind, Link, Node, Port, Topology};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// A fabric as it is.
#[derive(Clone, Debug)]
pub struct Discovered {
    /// Hosts and switches by ascending GUID, with the names that the nodes give themselves, if no other has
    /// the same, else with their GUIDs.
    pub topology: Topology,
    /// A way to each node.
    pub paths: Vec<Path>,
    /// The switches, in their order.
    pub switches: Vec<Switch>,
}

/// What is known of a switch beyond the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Its LID; 0 if it has none.
    pub lid: u16,
    /// MLIDs that it has entries for, from 0xc000.
    pub multicast_entries: u16,
    /// The last MLID that it forwards, if the subnet manager has set one.
    pub multicast_top: Option<u16>,
}

impl Discovered {
    /// How a switch is reached, by its node.
    ///
    /// # Panics
    /// If there is no such switch.
    pub fn route(&self, node: u32, addressing: Addressing) -> Route {
        match (addressing, self.switches[self.topology.switch_index(node)].lid) {
            (Addressing::Directed, _) | (Addressing::Lid, 0) => {
                Route::Directed(self.paths[node as usize].clone())
            }
            (Addressing::Lid, lid) => Route::Lid(lid),
        }
    }

    /// The switch that a place is at, as a node.
    pub fn node_of(&self, place: &Place) -> u32 {
        self.topology.hosts() + place.switch as u32
    }
}

/// A node on the way.
struct Found {
    info: NodeInfo,
    name: String,
    path: Path,
    switch: Option<Switch>,
}

/// A node's GUID and port.
type End = (u64, u8);

#[derive(Default)]
struct Walk {
    nodes: BTreeMap<u64, Found>,
    links: BTreeMap<(End, End), PortInfo>,
    port_guids: HashMap<End, u64>,
    queue: VecDeque<u64>,
}

/// Finds all nodes and links that can be reached, breadth first.
///
/// # Errors
/// If what is at the other end of a link does not answer, or what is found is not a topology.
pub fn discover(agent: &mut impl Agent) -> Result<Discovered, Unanswered> {
    let mut walk = Walk::default();
    let own = walk.visit(agent, &Path::here())?;
    while let Some(guid) = walk.queue.pop_front() {
        let Found { info, path, .. } = &walk.nodes[&guid];
        let (info, path) = (*info, path.clone());
        // A host forwards nothing, but what it sends itself by the port it was asked at.
        let ports = match info.kind {
            Kind::Switch => 1..=info.ports,
            Kind::Host if guid == own.guid => info.local_port..=info.local_port,
            Kind::Host => continue,
        };
        for port in ports {
            let attribute = Attribute::PortInfo { port };
            let state = PortInfo::from(&agent.get(&Route::Directed(path.clone()), attribute)?);
            if !state.is_up {
                continue;
            }
            let next = path.then(port).ok_or_else(|| Unanswered {
                asked: format!("what is behind port {port} {}", Route::Directed(path.clone())),
                why: "that is more links away than a directed route can have".to_owned(),
            })?;
            let peer = walk.visit(agent, &next)?;
            let ends = [(guid, port), (peer.guid, peer.local_port)];
            walk.links.insert((ends[0].min(ends[1]), ends[0].max(ends[1])), state);
        }
    }
    walk.finish()
}

impl Walk {
    /// Asks what is at the end of a path, and queues it if it is new.
    fn visit(&mut self, agent: &mut impl Agent, path: &Path) -> Result<NodeInfo, Unanswered> {
        let route = Route::Directed(path.clone());
        let info = NodeInfo::from(&agent.get(&route, Attribute::NodeInfo)?);
        if info.kind == Kind::Host {
            self.port_guids.insert((info.guid, info.local_port), info.port_guid);
        }
        if self.nodes.contains_key(&info.guid) {
            return Ok(info);
        }
        let name = description(&agent.get(&route, Attribute::NodeDescription)?);
        let switch = match info.kind {
            Kind::Host => None,
            Kind::Switch => {
                let can = SwitchInfo::from(&agent.get(&route, Attribute::SwitchInfo)?);
                let own = PortInfo::from(&agent.get(&route, Attribute::PortInfo { port: 0 })?);
                let multicast_top = own.has_multicast_top.then_some(can.multicast_top);
                // It is 0 before it is set.
                let multicast_top = multicast_top.filter(|top| *top != 0);
                let multicast_entries = can.multicast_entries;
                Some(Switch { lid: own.lid, multicast_entries, multicast_top })
            }
        };
        self.nodes.insert(info.guid, Found { info, name, path: path.clone(), switch });
        self.queue.push_back(info.guid);
        Ok(info)
    }

    fn finish(self) -> Result<Discovered, Unanswered> {
        let mut order: Vec<&Found> = self.nodes.values().collect();
        order.sort_by_key(|found| (found.info.kind == Kind::Switch, found.info.guid));
        let mut uses: HashMap<&str, u32> = HashMap::new();
        order.iter().for_each(|found| *uses.entry(&found.name).or_default() += 1);
        let nodes = order.iter().map(|Found { info, name, .. }| {
            let is_own = !name.is_empty() && uses[name.as_str()] == 1;
            let name = if is_own { name.clone() } else { format!("0x{:016x}", info.guid) };
            Node { kind: info.kind, name, guid: info.guid, ports: info.ports }
        });
        let index: HashMap<u64, u32> =
            (0..).zip(&order).map(|(node, found)| (found.info.guid, node)).collect();
        let at = |(guid, port): End| Port { node: index[&guid], port };
        let links = self.links.iter().filter(|((a, b), _)| a.0 != b.0);
        let links =
            links.map(|((a, b), state)| Link { ends: [at(*a), at(*b)], quality: state.quality });
        let guids = self.port_guids.iter().map(|(end, guid)| (at(*end), *guid));
        let topology = Topology::new(nodes.collect(), links.collect(), &guids.collect());
        let topology = topology.map_err(|error| Unanswered {
            asked: "what was found is not a fabric".to_owned(),
            why: error.to_string(),
        })?;
        let paths = order.iter().map(|found| found.path.clone()).collect();
        let switches = order.iter().filter_map(|found| found.switch).collect();
        Ok(Discovered { topology, paths, switches })
    }
}
