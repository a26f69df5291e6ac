//! Packets of operations that have not begun here (the queue of Liu 2004, section 5.2).

use crate::protocol::Via;
use crate::rank::OpId;
use crate::transport::{Buffer, Origin, Transport};
use crate::wire::{HEADER_LEN, Key, Malformed, Packet};

/// Copies whose memory is kept at most.
const MOST_SPARE: usize = 64;

/// A received packet: in the transport's buffer, or copied out of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parcel {
    Buffer(Buffer),
    Copy(Vec<u8>),
}

impl Parcel {
    /// The packet, checked.
    pub fn packet<'a>(
        &'a self,
        transport: &'a impl Transport,
        key: Key,
    ) -> Result<Packet<'a>, Malformed> {
        let bytes = match self {
            Parcel::Buffer(buffer) => transport.bytes(buffer),
            Parcel::Copy(bytes) => bytes,
        };
        let elsewhere = match self {
            Parcel::Buffer(buffer) => transport.payload_elsewhere(buffer),
            Parcel::Copy(_) => None,
        };
        match (bytes.first_chunk(), elsewhere) {
            (Some(head), Some(payload)) => Packet::parse_parts(head, payload, key),
            _ => Packet::parse(bytes, key),
        }
    }

    /// Where a payload of `len` bytes is.
    pub fn origin(&self, len: usize) -> Origin<'_> {
        match self {
            Parcel::Buffer(buffer) => Origin::Received(buffer),
            Parcel::Copy(bytes) => Origin::Bytes(&bytes[HEADER_LEN..][..len]),
        }
    }
}

/// Kept packets, in the order of their arrival. Datagrams are kept up to a limit, since they take
/// buffers from the current operation's. Reliable messages are always kept: up to a limit as
/// copies, so that their buffers serve the current operation; beyond it in their buffers, so that
/// their senders are held back once the receive queue is empty.
#[derive(Debug)]
pub(super) struct Held {
    packets: Vec<(OpId, Via, Parcel)>,
    datagrams: usize,
    most_datagrams: usize,
    /// Datagrams are copied too.
    copies_datagrams: bool,
    copies: usize,
    most_copies: usize,
    most_kept: usize,
    refused: u64,
    /// Memory of copies, to be used again.
    spare: Vec<Vec<u8>>,
}

impl Held {
    pub fn new(most_datagrams: usize, most_copies: usize, copies_datagrams: bool) -> Self {
        Held {
            packets: Vec::new(),
            datagrams: 0,
            most_datagrams,
            copies_datagrams,
            copies: 0,
            most_copies,
            most_kept: 0,
            refused: 0,
            spare: Vec::new(),
        }
    }

    /// Keeps a packet, by copying its `bytes` or as it is; returns what is to be given back to the
    /// transport.
    pub fn keep<'a>(
        &mut self,
        op: OpId,
        via: Via,
        parcel: Parcel,
        bytes: impl FnOnce(&Buffer) -> &'a [u8],
    ) -> Option<Parcel> {
        self.most_kept = self.most_kept.max(self.packets.len() + 1);
        if via == Via::Multicast {
            if self.datagrams == self.most_datagrams {
                self.refused += 1;
                return Some(parcel);
            }
            self.datagrams += 1;
            if let Parcel::Buffer(buffer) = &parcel
                && self.copies_datagrams
            {
                let copy = self.copy(bytes(buffer));
                self.packets.push((op, via, copy));
                return Some(parcel);
            }
        } else if let Parcel::Buffer(buffer) = &parcel
            && self.copies < self.most_copies
        {
            self.copies += 1;
            let copy = self.copy(bytes(buffer));
            self.packets.push((op, via, copy));
            return Some(parcel);
        }
        self.packets.push((op, via, parcel));
        None
    }

    fn copy(&mut self, bytes: &[u8]) -> Parcel {
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(bytes);
        Parcel::Copy(copy)
    }

    /// Takes the memory of a copy back.
    pub fn give_back(&mut self, copy: Vec<u8>) {
        if self.spare.len() < MOST_SPARE {
            self.spare.push(copy);
        }
    }

    /// Datagrams that were not kept.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Packets kept at once, at most.
    pub fn most_kept(&self) -> usize {
        self.most_kept
    }

    /// The next kept packet of an operation before `next`.
    pub fn take_begun(&mut self, next: OpId) -> Option<(Via, Parcel)> {
        let at = self.packets.iter().position(|(op, ..)| op.after(next) < 0)?;
        let (_, via, parcel) = self.packets.remove(at);
        self.datagrams -= usize::from(via == Via::Multicast);
        let is_copy = via != Via::Multicast && matches!(parcel, Parcel::Copy(_));
        self.copies -= usize::from(is_copy);
        Some((via, parcel))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_limited_and_reliable_messages_are_not() {
        let mut held = Held::new(1, 1, false);
        let bytes = |_: &Buffer| &b"copied"[..];
        let buffer = |index| Parcel::Buffer(Buffer { index });
        let keep = |held: &mut Held, op, via, index| held.keep(OpId(op), via, buffer(index), bytes);
        assert_eq!(keep(&mut held, 5, Via::Multicast, 0), None);
        assert_eq!(keep(&mut held, 6, Via::Multicast, 1), Some(buffer(1)));
        assert_eq!(keep(&mut held, 6, Via::Reliable, 2), Some(buffer(2)));
        assert_eq!(keep(&mut held, 6, Via::Reliable, 3), None);
        assert_eq!(held.take_begun(OpId(5)), None);
        assert_eq!(held.take_begun(OpId(6)), Some((Via::Multicast, buffer(0))));
        assert_eq!(keep(&mut held, 7, Via::Multicast, 1), None);
        let copy = Parcel::Copy(b"copied".to_vec());
        assert_eq!(held.take_begun(OpId(7)), Some((Via::Reliable, copy)));
        assert_eq!(held.take_begun(OpId(7)), Some((Via::Reliable, buffer(3))));
    }

    #[test]
    fn datagrams_are_copied_where_others_need_their_buffers() {
        let mut held = Held::new(1, 0, true);
        let bytes = |_: &Buffer| &b"copied"[..];
        let buffer = |index| Parcel::Buffer(Buffer { index });
        let keep =
            |held: &mut Held, index| held.keep(OpId(5), Via::Multicast, buffer(index), bytes);
        assert_eq!(keep(&mut held, 0), Some(buffer(0)));
        let copy = Parcel::Copy(b"copied".to_vec());
        assert_eq!((keep(&mut held, 1), held.refused()), (Some(buffer(1)), 1));
        assert_eq!(held.take_begun(OpId(6)), Some((Via::Multicast, copy)));
        assert_eq!((keep(&mut held, 1), held.refused()), (Some(buffer(1)), 1), "there is room");
    }
}
