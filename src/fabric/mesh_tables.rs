//! The tables of Zhou, Liu and Chung: XY routing, and its multicast by union.

use super::lids::{Lids, Owner};
use super::mesh::{EAST, LOCAL, Mesh, NORTH, SOUTH, WEST};
use super::multicast::Entries;
use super::topology::Topology;
use super::unicast::UnicastTables;
use std::cmp::Ordering;

impl Mesh {
    /// The port to which the switch of one place forwards packets for another: first along x, then
    /// along y (section 3.3.1), and to the host, a case that the paper leaves out.
    pub fn port(&self, switch: u32, destination: u32) -> u8 {
        let ((x, y), (to_x, to_y)) = (self.place(switch), self.place(destination));
        match (to_x.cmp(&x), to_y.cmp(&y)) {
            (Ordering::Greater, _) => EAST,
            (Ordering::Less, _) => WEST,
            (_, Ordering::Greater) => NORTH,
            (_, Ordering::Less) => SOUTH,
            _ => LOCAL,
        }
    }

    /// The LFTs of all switches, for LMC 0.
    pub fn unicast_tables(&self, topology: &Topology, lids: &Lids) -> UnicastTables {
        let mut tables = UnicastTables::new(lids.clone(), topology.switches());
        for lid in 1..=lids.last() {
            for switch in topology.switch_nodes() {
                let port = match lids.owner(lid) {
                    Some(Owner::Endpoint(host)) => self.port(switch, host),
                    Some(Owner::Switch(node)) if node == switch => 0,
                    Some(Owner::Switch(node)) => self.port(switch, node),
                    None => continue,
                };
                tables.set(topology.switch_index(switch), lid, port);
            }
        }
        tables
    }

    /// Number of tables that the XY scheme has for one group: one for each row of sources.
    pub fn ways(&self) -> u32 {
        u32::from(self.rows())
    }

    /// Which of the tables of a group carries a source's packets: that of its row.
    pub fn way(&self, source: u32) -> u32 {
        u32::from(self.place(source).1)
    }

    /// The XY union, corrected: the table of a group for sources in row `way`.
    ///
    /// In that row packets go east and west as far as there are members; from it north and south as
    /// far as there are members in the column. The union of ports over destinations at every node, as
    /// printed (section 3.3.2; [`super::union::literal`]), loops, also in the paper's figure 7.
    pub fn xy_union(&self, topology: &Topology, group: &[u32], way: u32) -> Entries {
        let mut entries = Entries::none(topology);
        for switch in topology.switch_nodes() {
            let row = u32::from(self.place(switch).1);
            let ports = entries.ports_mut(topology.switch_index(switch));
            for member in group {
                let port = self.port(switch, *member);
                let is_used = match port {
                    EAST | WEST => row == way,
                    NORTH => row >= way,
                    SOUTH => row <= way,
                    _ => true,
                };
                if is_used {
                    ports.insert(port);
                }
            }
        }
        entries
    }
}
