//! Where the bytes of the operations in flight are.

use crate::rank::OpId;
use std::collections::HashMap;

/// A message that the caller lends for one turn.
pub struct Lent<'a> {
    /// The operation that it belongs to.
    pub op: OpId,
    /// Its bytes.
    pub bytes: &'a mut [u8],
}

/// Messages that the driver owns until they are taken back.
#[derive(Debug, Default)]
pub(super) struct Messages {
    owned: HashMap<OpId, Vec<u8>>,
}

impl Messages {
    pub fn insert(&mut self, op: OpId, message: Vec<u8>) {
        self.owned.insert(op, message);
    }

    pub fn remove(&mut self, op: OpId) -> Option<Vec<u8>> {
        self.owned.remove(&op)
    }

    /// The message of `op`: lent, or owned.
    pub fn get_mut<'a>(
        &'a mut self,
        lent: &'a mut Option<Lent<'_>>,
        op: OpId,
    ) -> Option<&'a mut [u8]> {
        match lent {
            Some(lent) if lent.op == op => Some(lent.bytes),
            _ => self.owned.get_mut(&op).map(Vec::as_mut_slice),
        }
    }
}
