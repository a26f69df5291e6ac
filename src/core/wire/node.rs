//! What ranks tell one another of the memory that they share.

use super::error::WireError;
use super::fields::{Reader, Writer};

/// What a rank says of its host, in its introduction, so that those that can share memory find each other.
///
/// On the wire: the host (16 bytes), the process space (64 bits), the number of ranks (16).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeOffer {
    /// What stands for the host.
    pub host: [u8; 16],
    /// What stands for the processes that this one can name to others: those of a container have numbers of their own.
    pub space: u64,
    /// As many ranks of the host may share a node; 0: this one shares nothing.
    pub most: u16,
}

impl NodeOffer {
    /// Where it can share memory with others that can do so there; none if it wants to share nothing.
    pub fn place(&self) -> Option<([u8; 16], u64)> {
        (self.most > 0).then_some((self.host, self.space))
    }

    pub(super) fn write(&self, to: &mut Writer) {
        to.bytes(&self.host).u64(self.space).u16(self.most);
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(NodeOffer { host: from.array()?, space: from.u64()?, most: from.u16()? })
    }
}

/// Where the ranks of a node find the memory that its lowest rank has made. Whoever changes the layout of that changes the versions of
/// introductions and exposures.
///
/// On the wire: the process (32 bits), its descriptor (32), a number that the memory has too (64), slots (32), bytes of a
/// slot (32).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeMemory {
    /// The number of the process that made it.
    pub process: u32,
    /// That process's descriptor of it.
    pub descriptor: u32,
    /// Drawn at random; also in the memory.
    pub nonce: u64,
    /// Slots of the ring.
    pub slots: u32,
    /// Bytes of a datagram at most.
    pub slot_len: u32,
}

impl NodeMemory {
    /// Whether there is one (8 bits), and that.
    pub(super) fn write_if_any(one: Option<&NodeMemory>, to: &mut Writer) {
        to.bool(one.is_some());
        if let Some(one) = one {
            one.write(to);
        }
    }

    pub(super) fn read_if_any(from: &mut Reader<'_>) -> Result<Option<Self>, WireError> {
        from.bool("has memory of a node")?.then(|| Self::read(from)).transpose()
    }

    fn write(&self, to: &mut Writer) {
        to.u32(self.process).u32(self.descriptor).u64(self.nonce);
        to.u32(self.slots).u32(self.slot_len);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(NodeMemory {
            process: from.u32()?,
            descriptor: from.u32()?,
            nonce: from.u64()?,
            slots: from.u32()?,
            slot_len: from.u32()?,
        })
    }
}
