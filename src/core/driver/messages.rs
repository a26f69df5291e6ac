//! The messages that the driver has: those that it owns, and the one that its caller lends for a turn. Any
//! other is lent to the transport.

use crate::numbers::NumberMap;
use crate::rank::OpId;
use crate::transport::Payload;
use std::ops::Range;

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
    owned: NumberMap<OpId, Vec<u8>>,
}

impl Messages {
    pub fn insert(&mut self, op: OpId, message: Vec<u8>) {
        self.owned.insert(op, message);
    }

    pub fn remove(&mut self, op: OpId) -> Option<Vec<u8>> {
        self.owned.remove(&op)
    }

    /// A part of the message of `op`, wherever that is.
    pub fn payload<'a>(
        &'a self,
        lent: &'a Option<Lent<'_>>,
        op: OpId,
        range: Range<usize>,
    ) -> Payload<'a> {
        // An acknowledgement has no message.
        if range.is_empty() {
            return Payload::Bytes(&[]);
        }
        match lent {
            Some(lent) if lent.op == op => Payload::Bytes(&lent.bytes[range]),
            _ => match self.owned.get(&op) {
                Some(message) => Payload::Bytes(&message[range]),
                None => Payload::Lent(op, range),
            },
        }
    }

    /// The message of `op`, to be received into; `None` if the driver has not got it.
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
