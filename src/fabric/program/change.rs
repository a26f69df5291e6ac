//! What is written where, and what was there before.

use crate::multicast::{BLOCK, FIRST_MLID};
use crate::smp::{Addressing, Attribute, Discovered, MAX_BLOCK, MFT_PORTS, MftBlock, Route};
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// One position of one block of a switch's multicast table, before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Change {
    /// The switch's name.
    pub switch: String,
    /// The switch's GUID; written in hexadecimal digits, as not all readers of JSON keep 64 bits.
    #[cfg_attr(feature = "serde", serde(with = "hexadecimal"))]
    pub guid: u64,
    /// Multicast LIDs from 0xc000 plus 32 times this.
    pub block: u16,
    /// Ports from 16 times this.
    pub position: u8,
    /// For each multicast LID of the block the ports, as bits from the position's first.
    pub before: [u16; BLOCK as usize],
    /// As `before`.
    pub after: [u16; BLOCK as usize],
}

#[cfg(feature = "serde")]
mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(guid: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("0x{guid:016x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").unwrap_or_default();
        u64::from_str_radix(digits, 16)
            .map_err(|_| D::Error::custom(format!("{text} is not a GUID")))
    }
}

impl Change {
    /// The attribute that reads or writes the block.
    pub fn attribute(&self) -> Attribute {
        Attribute::MulticastForwardingTable { block: self.block, position: self.position }
    }

    /// What was there.
    pub fn before(&self) -> MftBlock {
        MftBlock(self.before)
    }

    /// What is to be there.
    pub fn after(&self) -> MftBlock {
        MftBlock(self.after)
    }

    /// Whether a switch can have such a block and position.
    pub fn is_valid(&self) -> bool {
        self.block <= MAX_BLOCK && self.position <= u8::MAX / MFT_PORTS
    }

    /// The entries that `block` has here: ports by multicast LID, without those that have none.
    pub fn entries(&self, block: &MftBlock) -> BTreeMap<u16, Vec<u8>> {
        let first = FIRST_MLID + BLOCK * self.block;
        let of = |entry: u16| block.ports(usize::from(entry), self.position).collect::<Vec<u8>>();
        let all = (0..BLOCK).map(|entry| (first + entry, of(entry)));
        all.filter(|(_, ports)| !ports.is_empty()).collect()
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change { switch, guid, block, position, .. } = self;
        write!(f, "{switch} (GUID 0x{guid:016x}) block {block} position {position}")
    }
}

/// A change, and how its switch is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The change.
    pub change: Change,
    /// The way to its switch.
    pub route: Route,
}

/// Finds the switches of changes, by their GUIDs, in what was discovered; and the changes whose switch is not there.
pub fn find(
    changes: Vec<Change>,
    there: &Discovered,
    addressing: Addressing,
) -> (Vec<Task>, Vec<Change>) {
    let topology = &there.topology;
    let by_guid: HashMap<u64, u32> =
        topology.switch_nodes().map(|node| (topology.node(node).guid, node)).collect();
    let (mut tasks, mut gone) = (Vec::new(), Vec::new());
    for change in changes {
        match by_guid.get(&change.guid) {
            Some(node) => tasks.push(Task { route: there.route(*node, addressing), change }),
            None => gone.push(change),
        }
    }
    (tasks, gone)
}
