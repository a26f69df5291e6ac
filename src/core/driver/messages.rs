//! The messages that the driver has: those that it owns, and the one that its caller lends for a turn. Any
//! other is lent to the transport.

use crate::numbers::NumberMap;
use crate::rank::OpId;
use crate::transport::Payload;
use std::ops::{Deref, Range};

/// A message that the caller lends for one turn.
pub struct Lent<'a> {
    /// The operation that it belongs to.
    pub op: OpId,
    /// Its bytes.
    pub bytes: LentBytes<'a>,
}

/// The bytes of a message that is lent.
#[derive(Debug)]
pub enum LentBytes<'a> {
    /// The root's, which are only read: others may read them at the same time.
    Send(&'a [u8]),
    /// Memory to receive into.
    Receive(&'a mut [u8]),
}

impl LentBytes<'_> {
    /// The same bytes for a shorter time.
    pub fn reborrow(&mut self) -> LentBytes<'_> {
        match self {
            LentBytes::Send(bytes) => LentBytes::Send(bytes),
            LentBytes::Receive(bytes) => LentBytes::Receive(bytes),
        }
    }
}

impl Deref for LentBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            LentBytes::Send(bytes) => bytes,
            LentBytes::Receive(bytes) => bytes,
        }
    }
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

    /// The message of `op`, to be received into; `None` if the driver has not got it, or it is only to be sent.
    pub fn get_mut<'a>(
        &'a mut self,
        lent: &'a mut Option<Lent<'_>>,
        op: OpId,
    ) -> Option<&'a mut [u8]> {
        match lent {
            Some(lent) if lent.op == op => match &mut lent.bytes {
                LentBytes::Receive(bytes) => Some(bytes),
                LentBytes::Send(_) => None,
            },
            _ => self.owned.get_mut(&op).map(Vec::as_mut_slice),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OP: OpId = OpId(3);

    #[test]
    fn messages_of_several_broadcasts_at_their_root_may_be_the_same_memory() {
        let memory = [1, 2, 3];
        let lent = || Some(Lent { op: OP, bytes: LentBytes::Send(&memory) });
        let (mut first, second, mut messages) = (lent(), lent(), Messages::default());
        let payload = messages.payload(&second, OP, 1..3);
        assert!(matches!(payload, Payload::Bytes([2, 3])));
        assert!(messages.get_mut(&mut first, OP).is_none(), "nothing is received into it");
        assert!(matches!(messages.payload(&second, OP, 0..1), Payload::Bytes([1])));
    }

    #[test]
    fn what_is_lent_to_receive_into_is_written_and_read() {
        let mut memory = [0; 3];
        let bytes = LentBytes::Receive(&mut memory);
        let (mut lent, mut messages) = (Some(Lent { op: OP, bytes }), Messages::default());
        messages.get_mut(&mut lent, OP).unwrap()[1] = 7;
        assert!(matches!(messages.payload(&lent, OP, 0..2), Payload::Bytes([0, 7])));
        assert!(messages.get_mut(&mut lent, OP.next()).is_none());
    }
}
