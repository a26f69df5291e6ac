//! The union rule as both papers print it.

use super::multicast::Entries;
use super::topology::Topology;
use super::unicast::UnicastTables;

/// The union over `lids`, one of each member, of the ports to which a switch forwards them, at every
/// switch (section 3.3.2 of both papers).
///
/// Switches that are on no path get ports too, and some that are get ports of paths that do not come
/// by, so that packets can be forwarded in circles. The corrected tables are [`FatTree::cyclic`] and
/// [`Mesh::xy_union`].
///
/// [`FatTree::cyclic`]: super::FatTree::cyclic
/// [`Mesh::xy_union`]: super::Mesh::xy_union
pub fn literal(topology: &Topology, tables: &UnicastTables, lids: &[u16]) -> Entries {
    let mut entries = Entries::none(topology);
    for switch in 0..topology.switches() as usize {
        let ports = entries.ports_mut(switch);
        lids.iter().filter_map(|lid| tables.port(switch, *lid)).for_each(|port| ports.insert(port));
    }
    entries
}
