//! Messages that a rank has lent to its transport, and what others write into them.
//!
//! On a device a write takes effect whenever it comes. Here it waits at the adapter until the rank looks at that, which it
//! does before it sees the packet that comes behind the write.

use super::event::Bytes;
use std::collections::BTreeMap;
use verbcast_core::rank::OpId;
use verbcast_core::transport::Purpose;
use verbcast_core::wire::Region;

/// A write that has come, to an address of the memory with a key.
#[derive(Debug)]
pub(super) struct Write {
    pub into: Region,
    pub bytes: Bytes,
}

#[derive(Debug)]
struct Loan {
    bytes: Vec<u8>,
    purpose: Purpose,
    /// Where others write, if they may.
    exposed: Option<Region>,
}

/// The messages of one rank on one communicator.
#[derive(Debug, Default)]
pub(super) struct Lent {
    by_op: BTreeMap<u32, Loan>,
}

impl Lent {
    pub fn lend(&mut self, op: OpId, bytes: Vec<u8>, purpose: Purpose) {
        self.by_op.insert(op.0, Loan { bytes, purpose, exposed: None });
    }

    /// The message of an operation, and the key with which others wrote to it.
    pub fn take_back(&mut self, op: OpId) -> Option<(Vec<u8>, Option<u32>)> {
        let loan = self.by_op.remove(&op.0)?;
        Some((loan.bytes, loan.exposed.map(|region| region.key)))
    }

    pub fn get(&self, op: OpId) -> Option<&[u8]> {
        self.by_op.get(&op.0).map(|loan| &loan.bytes[..])
    }

    pub fn get_mut(&mut self, op: OpId) -> Option<&mut [u8]> {
        self.by_op.get_mut(&op.0).map(|loan| &mut loan.bytes[..])
    }

    pub fn exposed(&self, op: OpId) -> Option<Region> {
        self.by_op.get(&op.0)?.exposed
    }

    /// Lets others write to a message that is received, at a place that `draw` gives it.
    pub fn expose(&mut self, op: OpId, draw: impl FnOnce() -> Region) -> Option<Region> {
        let loan = self.by_op.get_mut(&op.0).filter(|loan| loan.purpose == Purpose::Receive)?;
        Some(*loan.exposed.get_or_insert_with(draw))
    }

    /// Does what has come for one of the messages; whether it is of one.
    pub fn write(&mut self, Write { into, bytes }: &Write) -> bool {
        for loan in self.by_op.values_mut() {
            let Some(region) = loan.exposed.filter(|region| region.key == into.key) else {
                continue;
            };
            let start = (into.address - region.address) as usize;
            loan.bytes[start..start + bytes.len()].copy_from_slice(bytes);
            return true;
        }
        false
    }
}
