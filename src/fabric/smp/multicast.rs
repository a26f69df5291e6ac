//! Multicast tables cut into what one packet carries (section 14.2.5.12).

use super::attributes::Attribute;
use super::datagram::Data;
use crate::multicast::{BLOCK, FIRST_MLID, MulticastTables};
use crate::topology::Topology;
use std::collections::BTreeMap;

/// Ports that one position of a block has bits for.
pub const MFT_PORTS: u8 = 16;
/// The last block that can be named: a field of nine bits.
pub const MAX_BLOCK: u16 = 0x1ff;

/// Ports of 32 MLIDs, as bits from that of the position's first port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MftBlock(pub [u16; BLOCK as usize]);

impl MftBlock {
    /// Whether no MLID has a port.
    pub fn is_empty(&self) -> bool {
        *self == MftBlock::default()
    }

    /// As an attribute's contents.
    pub fn to_data(&self) -> Data {
        let mut data = [0; 64];
        for (bytes, bits) in data.chunks_exact_mut(2).zip(self.0) {
            bytes.copy_from_slice(&bits.to_be_bytes());
        }
        data
    }

    /// The ports of an entry of the block at `position`, ascending.
    pub fn ports(&self, entry: usize, position: u8) -> impl Iterator<Item = u8> + use<> {
        let bits = self.0[entry];
        let set = (0..MFT_PORTS).filter(move |bit| bits >> bit & 1 == 1);
        set.map(move |bit| position * MFT_PORTS + bit)
    }
}

impl From<&Data> for MftBlock {
    fn from(data: &Data) -> MftBlock {
        MftBlock(std::array::from_fn(|at| u16::from_be_bytes([data[2 * at], data[2 * at + 1]])))
    }
}

/// One position of one block of one switch: what one packet reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The switch, by its index among the switches.
    pub switch: usize,
    /// MLIDs from 0xc000 plus 32 times this.
    pub block: u16,
    /// Ports from 16 times this.
    pub position: u8,
}

impl Place {
    /// The attribute that reads or writes it.
    pub fn attribute(&self) -> Attribute {
        Attribute::MulticastForwardingTable { block: self.block, position: self.position }
    }
}

/// The positions that a switch of this many ports has; port 0 is one more.
pub fn positions(ports: u8) -> std::ops::RangeInclusive<u8> {
    0..=ports / MFT_PORTS
}

/// The blocks of all switches that have an entry in the tables.
pub fn places(topology: &Topology, tables: &MulticastTables) -> BTreeMap<Place, MftBlock> {
    let mut blocks: BTreeMap<Place, MftBlock> = BTreeMap::new();
    for (mlid, entries) in tables.iter() {
        let (block, entry) =
            ((mlid - FIRST_MLID) / BLOCK, usize::from((mlid - FIRST_MLID) % BLOCK));
        for switch in 0..topology.switches() as usize {
            for port in entries.ports(switch).iter() {
                let place = Place { switch, block, position: port / MFT_PORTS };
                blocks.entry(place).or_default().0[entry] |= 1 << (port % MFT_PORTS);
            }
        }
    }
    blocks
}
