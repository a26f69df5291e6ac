//! Packets of operations that have not begun here (the queue of Liu 2004, section 5.2).

use crate::protocol::Via;
use crate::rank::OpId;
use crate::transport::{Buffer, Origin, Transport};
use crate::wire::{Header, Key, Malformed, Packet};
use std::collections::VecDeque;

/// Copies whose memory is kept at most.
const MAX_SPARE: usize = 64;

/// Where a received packet is: in the transport's buffer; or its payload copied out of it, after it was checked.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stored {
    Buffer(Buffer),
    Copy(Header, Vec<u8>),
}

impl Stored {
    /// The packet, checked.
    pub fn packet<'a>(
        &'a self,
        transport: &'a impl Transport,
        key: Key,
    ) -> Result<Packet<'a>, Malformed> {
        match self {
            Stored::Buffer(buffer) => transport.packet(buffer, key),
            Stored::Copy(header, payload) => Ok(Packet::checked(*header, payload)),
        }
    }

    /// Where its payload is.
    pub fn origin(&self) -> Origin<'_> {
        match self {
            Stored::Buffer(buffer) => Origin::Received(buffer),
            Stored::Copy(_, payload) => Origin::Bytes(payload),
        }
    }
}

/// What becomes of a packet that is early.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Early {
    /// It is to be [kept](Held::keep) where it is.
    Kept,
    /// A copy of it is kept.
    Copied,
    /// It is dropped.
    Refused,
}

/// Kept packets, in the order of their arrival. Datagrams are kept up to a limit, since they take
/// buffers from the current operation's: in their buffers as long as the transport can spare these, and else as copies.
/// Reliable messages are always kept: up to a limit as copies, so that their buffers serve the current operation; beyond
/// it in their buffers, so that their senders are held back once the receive queue is empty.
#[derive(Debug)]
pub(super) struct Held {
    /// Hundreds may wait, and leave from the front or near it.
    packets: VecDeque<(OpId, Via, Stored)>,
    /// No packet is of an operation before this one.
    first: Option<OpId>,
    datagrams: usize,
    most_datagrams: usize,
    copies: usize,
    /// None: as many as there are.
    most_copies: Option<usize>,
    most_kept: usize,
    refused: u64,
    /// Memory of copies, to be used again.
    spare: Vec<Vec<u8>>,
}

impl Held {
    pub fn new(most_datagrams: usize, most_copies: Option<usize>) -> Self {
        Held {
            packets: VecDeque::new(),
            first: None,
            datagrams: 0,
            most_datagrams,
            copies: 0,
            most_copies,
            most_kept: 0,
            refused: 0,
            spare: Vec::new(),
        }
    }

    /// Decides about a packet, and copies it if that is to be. `may_stay` says whether the transport can spare its buffer,
    /// if it is a datagram.
    pub fn admit(&mut self, via: Via, packet: &Packet<'_>, is_copy: bool, may_stay: bool) -> Early {
        let copies = match via {
            Via::Multicast if self.datagrams == self.most_datagrams => {
                self.refused += 1;
                return Early::Refused;
            }
            Via::Multicast => {
                self.datagrams += 1;
                !may_stay
            }
            Via::Reliable | Via::Fetched => {
                let has_room = self.most_copies.is_none_or(|most| self.copies < most);
                let copies = is_copy || has_room;
                self.copies += usize::from(copies);
                copies
            }
        };
        if is_copy || !copies {
            return Early::Kept;
        }
        let copy = self.copy(packet.payload());
        self.keep(via, packet.header(), Stored::Copy(*packet.header(), copy));
        Early::Copied
    }

    /// Keeps a packet that was [admitted](Self::admit).
    pub fn keep(&mut self, via: Via, header: &Header, stored: Stored) {
        let first = self.first.filter(|_| !self.packets.is_empty());
        self.first = first.filter(|first| header.op.after(*first) >= 0).or(Some(header.op));
        self.packets.push_back((header.op, via, stored));
        self.most_kept = self.most_kept.max(self.packets.len());
    }

    fn copy(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(bytes);
        copy
    }

    /// Takes the memory of a copy back.
    pub fn give_back(&mut self, copy: Vec<u8>) {
        if self.spare.len() < MAX_SPARE {
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

    /// Whether a packet of an operation before `next` may be kept.
    pub fn has_begun(&self, next: OpId) -> bool {
        !self.packets.is_empty() && self.first.is_some_and(|first| next.after(first) > 0)
    }

    /// Whether one is.
    pub fn finds_begun(&mut self, next: OpId) -> bool {
        let is_in_front = self.packets.front().is_some_and(|(op, ..)| op.after(next) < 0);
        if self.has_begun(next) && !is_in_front {
            let ops = self.packets.iter().map(|(op, ..)| *op);
            self.first = ops.reduce(|first, op| if op.after(first) < 0 { op } else { first });
        }
        self.has_begun(next)
    }

    /// The packet that came first.
    pub fn front(&self) -> Option<(Via, &Stored)> {
        self.packets.front().map(|(_, via, stored)| (*via, stored))
    }

    /// The next kept packet of an operation before `next`.
    pub fn take_begun(&mut self, next: OpId) -> Option<(Via, Stored)> {
        if !self.finds_begun(next) {
            return None;
        }
        let is_begun = |(op, ..): &(OpId, Via, Stored)| op.after(next) < 0;
        let (_, via, stored) = match self.packets.front() {
            Some(first) if is_begun(first) => self.packets.pop_front(),
            _ => self.packets.iter().position(is_begun).and_then(|at| self.packets.remove(at)),
        }?;
        self.datagrams -= usize::from(via == Via::Multicast);
        let is_copy = via != Via::Multicast && matches!(stored, Stored::Copy(..));
        self.copies -= usize::from(is_copy);
        Some((via, stored))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::{Fragment, Rank};
    use crate::wire::Kind;

    const PAYLOAD: &[u8] = b"copied";

    fn header(op: u32) -> Header {
        Header {
            kind: Kind::Fragment,
            source: Rank(0),
            key: Key(7),
            op: OpId(op),
            fragment: Fragment(0),
            message_len: PAYLOAD.len() as u64,
            report: 0,
            asks: false,
        }
    }

    fn buffer(index: u32) -> Stored {
        Stored::Buffer(Buffer { index })
    }

    fn copy(op: u32) -> Stored {
        Stored::Copy(header(op), PAYLOAD.to_vec())
    }

    /// A packet in a buffer is early.
    fn comes(held: &mut Held, op: u32, via: Via, index: u32) -> Early {
        comes_to(held, op, via, index, true)
    }

    fn comes_to(held: &mut Held, op: u32, via: Via, index: u32, may_stay: bool) -> Early {
        let header = header(op);
        let early = held.admit(via, &Packet::checked(header, PAYLOAD), false, may_stay);
        if early == Early::Kept {
            held.keep(via, &header, buffer(index));
        }
        early
    }

    #[test]
    fn datagrams_are_limited_and_reliable_messages_are_not() {
        let mut held = Held::new(1, Some(1));
        assert_eq!(comes(&mut held, 5, Via::Multicast, 0), Early::Kept);
        assert_eq!(comes(&mut held, 6, Via::Multicast, 1), Early::Refused);
        assert_eq!(comes(&mut held, 6, Via::Reliable, 2), Early::Copied);
        assert_eq!(comes(&mut held, 6, Via::Reliable, 3), Early::Kept);
        assert_eq!(held.take_begun(OpId(5)), None);
        assert_eq!(held.take_begun(OpId(6)), Some((Via::Multicast, buffer(0))));
        assert_eq!(comes(&mut held, 7, Via::Multicast, 1), Early::Kept);
        assert_eq!(held.take_begun(OpId(7)), Some((Via::Reliable, copy(6))));
        assert_eq!(held.take_begun(OpId(7)), Some((Via::Reliable, buffer(3))));
        assert_eq!((held.refused(), held.most_kept()), (1, 3));
    }

    #[test]
    fn datagrams_are_copied_where_others_need_their_buffers() {
        let mut held = Held::new(1, Some(0));
        let comes = |held: &mut Held, index| comes_to(held, 5, Via::Multicast, index, false);
        assert_eq!(comes(&mut held, 0), Early::Copied);
        assert_eq!(comes(&mut held, 1), Early::Refused);
        assert_eq!(held.refused(), 1);
        assert_eq!(held.take_begun(OpId(6)), Some((Via::Multicast, copy(5))));
        assert_eq!(comes(&mut held, 1), Early::Copied, "there is room");
    }

    #[test]
    fn what_is_of_later_operations_is_not_looked_for_until_then() {
        let mut held = Held::new(4, Some(0));
        comes(&mut held, 5, Via::Multicast, 0);
        comes(&mut held, 9, Via::Multicast, 1);
        comes(&mut held, 8, Via::Multicast, 2);
        assert!(!held.has_begun(OpId(5)) && held.has_begun(OpId(6)));
        assert_eq!(held.front(), Some((Via::Multicast, &buffer(0))));
        assert_eq!(held.take_begun(OpId(6)), Some((Via::Multicast, buffer(0))));
        assert!(held.has_begun(OpId(6)), "nobody has looked since");
        assert!(!held.finds_begun(OpId(6)));
        assert!(
            [6, 7, 8].iter().all(|next| !held.has_begun(OpId(*next))) && held.has_begun(OpId(9))
        );
        comes(&mut held, 7, Via::Multicast, 3);
        assert!(!held.has_begun(OpId(7)) && held.has_begun(OpId(8)));
    }

    #[test]
    fn what_comes_after_a_vain_look_is_found() {
        let mut held = Held::new(4, Some(0));
        comes(&mut held, 6, Via::Multicast, 0);
        assert_eq!(held.take_begun(OpId(6)), None);
        comes(&mut held, 5, Via::Multicast, 1);
        assert_eq!(held.take_begun(OpId(6)), Some((Via::Multicast, buffer(1))));
        assert_eq!(held.take_begun(OpId(6)), None);
        assert_eq!(held.take_begun(OpId(7)), Some((Via::Multicast, buffer(0))));
    }
}
