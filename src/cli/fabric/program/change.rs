//! What is written where, and what was there before; also as a file.

use crate::failure::Failure;
use crate::files::write_whole;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use verbcast_fabric::smp::{Attribute, MAX_BLOCK, MftBlock};
use verbcast_fabric::{BLOCK, FIRST_MLID};

/// One position of one block of a switch's multicast table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub switch: String,
    /// The switch's, in hexadecimal digits, as not all readers of JSON keep 64 bits.
    #[serde(with = "hexadecimal")]
    pub guid: u64,
    pub block: u16,
    pub position: u8,
    /// For each MLID of the block the ports, as bits from 16 · `position`.
    pub before: [u16; BLOCK as usize],
    pub after: [u16; BLOCK as usize],
}

mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(guid: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("0x{guid:016x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").unwrap_or_default();
        u64::from_str_radix(digits, 16).map_err(|_| D::Error::custom(format!("{text} is no GUID")))
    }
}

impl Change {
    pub fn attribute(&self) -> Attribute {
        Attribute::MulticastForwardingTable { block: self.block, position: self.position }
    }

    pub fn before(&self) -> MftBlock {
        MftBlock(self.before)
    }

    pub fn after(&self) -> MftBlock {
        MftBlock(self.after)
    }

    /// Whether it names a block and a position that there can be.
    fn is_sound(&self) -> bool {
        self.block <= MAX_BLOCK && self.position < 16
    }

    /// The entries that `block` has here: ports by MLID.
    pub fn entries(&self, block: &MftBlock) -> BTreeMap<u16, Vec<u8>> {
        let first = FIRST_MLID + BLOCK * self.block;
        let of = |entry: u16| block.ports(usize::from(entry), self.position).collect::<Vec<u8>>();
        let all = (0..BLOCK).map(|entry| (first + entry, of(entry)));
        all.filter(|(_, ports)| !ports.is_empty()).collect()
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Change { switch, guid, block, position, .. } = self;
        write!(f, "{switch} (GUID 0x{guid:016x}) block {block} position {position}")
    }
}

/// The file's first word, so that no other is taken for one.
const FORMAT: &str = "verbcast multicast tables 1";

#[derive(Serialize, Deserialize)]
struct Saved {
    format: String,
    changes: Vec<Change>,
}

/// Saves what was there before changes, and what is to be there after. An older file is not replaced: what
/// it has may be needed as well.
pub fn save(path: &Path, changes: Vec<Change>) -> Result<(), Failure> {
    if path.symlink_metadata().is_ok() {
        return Err(Failure::new(format!("{}: it is there already", path.display())));
    }
    let saved = Saved { format: FORMAT.to_owned(), changes };
    let text = serde_json::to_string(&saved).map_err(Failure::new)? + "\n";
    write_whole(path, &text)
}

/// What was saved to a file.
pub fn load(path: &Path) -> Result<Vec<Change>, Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::new(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
    let saved: Saved = serde_json::from_str(&text).map_err(|error| failed(&error))?;
    if saved.format != FORMAT {
        return Err(failed(&format!("it does not begin as {FORMAT} does")));
    }
    match saved.changes.iter().find(|change| !change.is_sound()) {
        Some(change) => Err(failed(&format!("there is no {change}"))),
        None => Ok(saved.changes),
    }
}
