//! The fat-tree engine of OpenSM (`-R ftree`).

mod levels;
mod routes;

use super::order;
use crate::lids::Lids;
use crate::topology::Topology;
use crate::unicast::UnicastTables;
use levels::Levels;
use routes::Routes;

/// What the engine does with a fabric.
pub(super) enum Outcome {
    /// It takes the fabric for a fat tree.
    Tables(UnicastTables),
    /// It does not, and OpenSM falls back to min-hop.
    NoTree,
    /// It takes the fabric, but goes by addresses in its memory: at a leaf (a node) with a link to another leaf.
    Unforeseeable(u32),
}

/// The LFTs of the engine.
///
/// Each host's LID goes the way up from its switch on which fewest routes come down so far, of equal ones that to the
/// first switch in the order of the tree; from every switch on that way, routes to it are spread over all switches
/// below. Then the same from the other switches above, where there is no route yet, and from switches beside it.
/// A leaf with fewer hosts than another counts as if it had as many.
pub(super) fn tables(topology: &Topology, lids: &Lids) -> Outcome {
    let Some(levels) = Levels::new(topology) else { return Outcome::NoTree };
    if let Some(leaf) = levels.linked_leaf() {
        return Outcome::Unforeseeable(topology.hosts() + leaf as u32);
    }
    let leaves = levels.leaves.clone();
    let hosts = |leaf: usize| {
        let neighbours = topology.neighbours(topology.hosts() + leaf as u32);
        neighbours.filter_map(|(port, peer)| Some((port, topology.endpoint_at(peer)?)))
    };
    let most = leaves.iter().map(|leaf| hosts(*leaf).count()).max().unwrap_or(0);
    let mut routes = Routes::new(levels, UnicastTables::new(lids.clone(), topology.switches()));
    for leaf in leaves {
        for (port, endpoint) in hosts(leaf) {
            routes.route_host(leaf, lids.base(endpoint), port);
        }
        (hosts(leaf).count()..most).for_each(|_| routes.route_nobody(leaf));
    }
    for switch in order(topology) {
        let switch = topology.switch_index(switch);
        routes.route_switch(switch, lids.switch(switch));
    }
    Outcome::Tables(routes.into_tables())
}
