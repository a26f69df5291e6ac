//! The linear forwarding tables of OpenSM's routing engines.

use super::ftree::{self, Outcome};
use super::hops::{Hops, Ranking};
use super::order;
use crate::lids::Lids;
use crate::topology::{Port, Topology};
use crate::unicast::UnicastTables;
use std::cmp::Reverse;
use std::collections::HashMap;

/// A routing engine of OpenSM (`-R`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// `minhop`: shortest paths.
    MinHop,
    /// `updn`: Up*/Down*; min-hop where no roots are found, as on meshes.
    UpDown,
    /// `ftree`: fat trees; min-hop where the fabric is none.
    FatTree,
    /// `dor`: shortest paths by the first neighbour in the order of ports.
    Dor,
}

impl Engine {
    /// OpenSM's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Engine::MinHop => "minhop",
            Engine::UpDown => "updn",
            Engine::FatTree => "ftree",
            Engine::Dor => "dor",
        }
    }
}

/// What OpenSM is told besides the engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The ports that each switch looks at first (`-O`, the same for every switch); the others follow ascending.
    /// With 1, 3, 2, 4, [`Engine::Dor`] is XY routing on a mesh.
    pub port_order: &'a [u8],
    /// The roots for [`Engine::UpDown`] (`-a`), as nodes; found by OpenSM if there are none.
    pub roots: &'a [u32],
}

impl Options<'_> {
    /// The ranks for [`Engine::UpDown`]; none where OpenSM falls back to min-hop.
    pub fn ranking(&self, topology: &Topology) -> Option<Ranking> {
        match self.roots {
            [] => Ranking::new(topology),
            roots => Some(Ranking::below(topology, roots)),
        }
    }
}

/// Tables that cannot be told beforehand, with the name of a switch for which this is so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "what OpenSM's ftree does cannot be told beforehand: {0} is linked to another switch of the lowest level, and there \
     the order of hosts goes by addresses in OpenSM's memory; take minhop or updn"
)]
pub struct Unforeseeable(pub String);

/// The LFTs that OpenSM makes for these LIDs, which have LMC 0.
///
/// All engines but the one for fat trees go on in the same way: destination by destination, each switch
/// takes the port with fewest hosts' LIDs so far, of those with the least hops; the first of them.
/// LIDs of switches are not counted.
///
/// # Errors
/// If OpenSM goes by more than the fabric: [`Engine::FatTree`] where leaves of a fat tree are linked with one another.
pub fn unicast_tables(
    topology: &Topology,
    lids: &Lids,
    engine: Engine,
    options: Options<'_>,
) -> Result<UnicastTables, Unforeseeable> {
    if engine == Engine::FatTree {
        match ftree::tables(topology, lids) {
            Outcome::Tables(tables) => return Ok(tables),
            Outcome::Unforeseeable(leaf) => {
                return Err(Unforeseeable(topology.node(leaf).name.clone()));
            }
            Outcome::NoTree => {}
        }
    }
    let ranking = match engine {
        Engine::UpDown => options.ranking(topology),
        _ => None,
    };
    let hops = |target| match &ranking {
        Some(ranking) => Hops::up_down(topology, ranking, target),
        None => Hops::shortest(topology, target),
    };
    let mut balance = Balance {
        topology,
        engine,
        port_order: options.port_order,
        tables: UnicastTables::new(lids.clone(), topology.switches()),
        counts: HashMap::new(),
    };
    let switches = order(topology);
    // Hosts of the switches with most hosts come first.
    let mut leaves = switches.clone();
    leaves.sort_by_key(|leaf| Reverse(hosts(topology, *leaf).count()));
    for leaf in leaves {
        let hops = hops(leaf);
        for (port, endpoint) in hosts(topology, leaf) {
            balance.route(&hops, lids.base(endpoint), (leaf, port), true);
        }
    }
    for switch in switches {
        balance.route(
            &hops(switch),
            lids.switch(topology.switch_index(switch)),
            (switch, 0),
            false,
        );
    }
    Ok(balance.tables)
}

/// The ports of a switch that have a host, and the endpoints there.
fn hosts(topology: &Topology, switch: u32) -> impl Iterator<Item = (u8, u32)> + '_ {
    let neighbours = topology.neighbours(switch);
    neighbours.filter_map(|(port, peer)| Some((port, topology.endpoint_at(peer)?)))
}

struct Balance<'a> {
    topology: &'a Topology,
    engine: Engine,
    port_order: &'a [u8],
    tables: UnicastTables,
    /// Hosts' LIDs by switch and port.
    counts: HashMap<(usize, u8), u32>,
}

impl Balance<'_> {
    /// Sets every switch's port for a LID that is at a port of `end`.
    fn route(&mut self, hops: &Hops, lid: u16, (end, port): (u32, u8), counts: bool) {
        for switch in self.topology.switch_nodes() {
            let index = self.topology.switch_index(switch);
            let port = if switch == end { Some(port) } else { self.choose(hops, switch) };
            if let Some(port) = port {
                self.tables.set(index, lid, port);
                *self.counts.entry((index, port)).or_default() += u32::from(counts);
            }
        }
    }

    fn choose(&self, hops: &Hops, switch: u32) -> Option<u8> {
        let index = self.topology.switch_index(switch);
        let ports = hops.ports[index];
        let listed = self.port_order.iter().copied().filter(|port| ports.contains(*port));
        let others = ports.iter().filter(|port| !self.port_order.contains(port));
        let mut ordered: Vec<u8> = listed.chain(others).collect();
        if self.engine == Engine::Dor {
            let peer = |port| self.topology.peer(Port { node: switch, port }).map(|peer| peer.node);
            let next = peer(*ordered.first()?);
            ordered.retain(|port| peer(*port) == next);
        }
        let count = |port: &u8| self.counts.get(&(index, *port)).copied().unwrap_or(0);
        ordered.into_iter().min_by_key(count)
    }
}
