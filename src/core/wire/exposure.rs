//! What a rank exposes of its memory for a further communicator of the same ranks.

use super::error::WireError;
use super::format::Format;
use super::introduction::Region;
use super::node::NodeMemory;

/// The memory of a rank that the others may reach.
///
/// On the wire: the two [regions](Region), the slots of the ring (32 bits), whether there is memory of a node (8), and
/// [that](NodeMemory).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exposure {
    /// Its ring of retained packets, which the others may read.
    pub ring: Region,
    /// Its table of counters, which the others may write.
    pub cells: Region,
    /// Slots of its ring: a power of two.
    pub slots: u32,
    /// The memory that it has made for its node, as the lowest rank there.
    pub node: Option<NodeMemory>,
}

impl Exposure {
    /// Its tag and version.
    pub const FORMAT: Format = Format { name: "a rank's exposure", tag: *b"vbE", version: 5 };

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        self.ring.write(&mut to);
        self.cells.write(&mut to);
        to.u32(self.slots);
        NodeMemory::write_if_any(self.node.as_ref(), &mut to);
        to.finish()
    }

    /// Reads one.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<Exposure, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let (ring, cells) = (Region::read(&mut from)?, Region::read(&mut from)?);
        let slots = from.u32()?;
        if !slots.is_power_of_two() {
            return Err(from.invalid("ring"));
        }
        let node = NodeMemory::read_if_any(&mut from)?;
        from.end().map(|()| Exposure { ring, cells, slots, node })
    }
}
