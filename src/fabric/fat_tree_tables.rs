//! The tables of Zhou, Lin and Chung 2007: path selection, LFT, and the cyclic multicast scheme.

use super::fat_tree::FatTree;
use super::lids::{Lids, Owner};
use super::multicast::Entries;
use super::nearest;
use super::topology::Topology;
use super::unicast::UnicastTables;

impl FatTree {
    /// Which of a destination's LIDs a source uses, counted from its base LID: PID mod q^(n−1).
    ///
    /// It is the same for all destinations and leads to the same path as [`FatTree::printed_offset`],
    /// as the digits that the rank leaves out are those of levels that the packet does not come to.
    pub fn offset(&self, source: u32) -> u32 {
        source % self.roots()
    }

    /// Which of a destination's LIDs a source uses by the paper's text (section 3.2): the rank of the
    /// source among those that share one digit more with it than the destination does.
    pub fn printed_offset(&self, source: u32, destination: u32) -> u32 {
        let shared = self.common_prefix(source, destination);
        self.rank((shared + 1).min(self.levels()), source)
    }

    /// The LID of a destination for packets from a source.
    pub fn select(&self, lids: &Lids, source: u32, destination: u32) -> u16 {
        lids.base(destination) + (self.offset(source) % u32::from(lids.per_endpoint())) as u16
    }

    /// The port to which a switch forwards a packet for a host's LID of number `offset` (section
    /// 3.3.1): down by equation 1 if the host is below, else up by equation 2.
    pub fn port(&self, switch: u32, destination: u32, offset: u32) -> u8 {
        if self.is_below(switch, destination) {
            return self.down_port(switch, destination);
        }
        let above = u32::from(self.levels() - 1 - self.level_of(switch));
        self.up_port(offset / self.half().pow(above))
    }

    /// The LFTs of all switches (section 3.3.1). The paper gives switches no LIDs; packets to those
    /// of `lids` take the lowest port on a shortest path.
    pub fn unicast_tables(&self, topology: &Topology, lids: &Lids) -> UnicastTables {
        self.tables(topology, lids, |_, number| number)
    }

    /// The LFTs of all switches for one LID a host, where a packet's way up depends on its destination: that
    /// which the destination's own packets take (D-mod-K). For trees of more hosts than there are LIDs for
    /// several each.
    pub fn destination_tables(&self, topology: &Topology, lids: &Lids) -> UnicastTables {
        self.tables(topology, lids, |host, _| self.offset(host))
    }

    /// The LFTs with the way up that `offset` gives for a host's LID of some number.
    fn tables(
        &self,
        topology: &Topology,
        lids: &Lids,
        offset: impl Fn(u32, u32) -> u32,
    ) -> UnicastTables {
        let mut tables = UnicastTables::new(lids.clone(), topology.switches());
        for lid in 1..=lids.last() {
            let Some(Owner::Endpoint(host)) = lids.owner(lid) else { continue };
            let offset = offset(host, u32::from(lid - lids.base(host)));
            for switch in topology.switch_nodes() {
                let port = self.port(switch, host, offset);
                tables.set(topology.switch_index(switch), lid, port);
            }
        }
        for target in topology.switch_nodes() {
            let lid = lids.switch(topology.switch_index(target));
            for (switch, port) in nearest::ports_towards(topology, target) {
                tables.set(topology.switch_index(switch), lid, port);
            }
        }
        tables
    }

    /// Number of tables that the cyclic scheme has for one group: q^(n−1), one for each way up.
    pub fn ways(&self) -> u32 {
        self.roots()
    }

    /// Which of the tables of a group carries a source's packets.
    pub fn way(&self, source: u32) -> u32 {
        self.offset(source)
    }

    /// The cyclic multicast scheme, corrected: table number `way` of a group.
    ///
    /// The ports of a switch are those down to members below it and, if there are others, the one up
    /// that sources with this offset use. The union of ports over destinations as printed (section
    /// 3.3.2; [`super::union::literal`]) can forward in circles.
    pub fn cyclic(&self, topology: &Topology, group: &[u32], way: u32) -> Entries {
        let mut entries = Entries::none(topology);
        for switch in topology.switch_nodes() {
            let ports = entries.ports_mut(topology.switch_index(switch));
            for member in group {
                ports.insert(self.port(switch, *member, way));
            }
        }
        entries
    }
}
