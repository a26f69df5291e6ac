//! What OpenSM puts into the switches' tables, so that its tables can be foretold, and the real ones
//! compared with.
//!
//! Each rule was checked against OpenSM 3.3.23 on ibsim; `verbcast fabric check` does it again for any
//! topology. OpenSM goes through switches and ports in the order of its GUID maps, whose keys are
//! GUIDs in network byte order: on little-endian hosts that is the order of the GUIDs read backwards.

mod ftree;
mod hops;
mod tree;
mod unicast;

pub use hops::{Hops, Ranking};
pub use tree::{root, spanning_tree};
pub use unicast::{Engine, Options, Unforeseeable, unicast_tables};

use super::topology::Topology;

/// The switches, as nodes, in the order in which OpenSM goes through them.
pub fn order(topology: &Topology) -> Vec<u32> {
    let mut switches: Vec<u32> = topology.switch_nodes().collect();
    switches.sort_by_key(|switch| key(topology.node(*switch).guid));
    switches
}

/// What OpenSM on a little-endian host sorts by: the GUID in network byte order.
fn key(guid: u64) -> u64 {
    guid.swap_bytes()
}
