//! What an endpoint tells a communicator, and where the bytes are that came for it.

use crate::rdma::ud::Extent;
use verbcast_core::protocol::{Counter, Token, Via};
use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::wire::{Checks, HEADER_LEN, Malformed, Packet, RawHeader};
use verbcast_verbs::{Pool, Slot};

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// A packet came, which may have been found intact. Its payload may be at the place of a fragment in a lent message.
    Packet {
        via: Via,
        header: RawHeader,
        is_intact: bool,
        body: Body,
        place: Option<(OpId, Fragment)>,
    },
    /// A receive that was posted for the place of a fragment has ended otherwise; whether what it
    /// received was moved from there.
    Missed { op: OpId, fragment: Fragment, moved: bool },
    /// A reliable message was delivered.
    Delivered { to: Rank, token: Token },
    /// A send from a slot of the ring has ended; who got it, and what the sender wants to be told.
    RingSent { slot: u32, delivered: Option<(Rank, Token)> },
    /// A report has ended, well or not.
    Reported { to: Rank, counter: Counter, is_told: bool },
    /// A read has ended well.
    Fetched { from: Rank, token: Token, body: Body },
    /// A probe was answered.
    Alive { peer: Rank },
}

/// The bytes of something received.
#[derive(Debug)]
pub enum Body {
    /// A datagram.
    Datagram(Slot, Extent),
    /// A reliable message of so many bytes.
    Message(Slot, usize),
    /// So many bytes read from a ring.
    Read(Slot, usize),
    /// A packet that was copied out of its buffer.
    Copy(Vec<u8>),
}

/// The memory that bodies are in.
#[derive(Clone, Debug)]
pub struct Pools {
    pub datagrams: Pool,
    pub messages: Pool,
    pub reads: Pool,
}

impl Body {
    /// The packet, header first.
    pub fn bytes<'a>(&'a self, pools: &'a Pools) -> &'a [u8] {
        let (pool, slot, len) = match self {
            Body::Datagram(slot, extent) => return extent.of(pools.datagrams.bytes(slot)),
            Body::Message(slot, len) => (&pools.messages, slot, *len),
            Body::Read(slot, len) => (&pools.reads, slot, *len),
            Body::Copy(bytes) => return bytes,
        };
        pool.bytes(slot).get(..len).unwrap_or_default()
    }

    /// The packet whose header this is, checked unless it was found intact; its payload is here too.
    pub fn check<'a>(
        &'a self,
        header: &RawHeader,
        is_intact: bool,
        pools: &'a Pools,
    ) -> Result<Packet<'a>, Malformed> {
        let bytes = self.bytes(pools);
        match is_intact {
            true => header.known_intact(bytes.get(HEADER_LEN..).unwrap_or_default()),
            false => header.check(bytes, Checks::Whole),
        }
    }

    /// Changes a bit of the packet's first `len` bytes, or of all it has, whichever `drawn` chooses.
    pub fn damage(&mut self, pools: &mut Pools, len: usize, drawn: u32) {
        let bytes = match self {
            Body::Datagram(slot, extent) => extent.of_mut(pools.datagrams.bytes_mut(slot)),
            Body::Message(slot, end) => &mut pools.messages.bytes_mut(slot)[..*end],
            Body::Read(slot, end) => &mut pools.reads.bytes_mut(slot)[..*end],
            Body::Copy(bytes) => &mut bytes[..],
        };
        let end = len.min(bytes.len());
        let Some(bytes) = bytes.get_mut(..end).filter(|bytes| !bytes.is_empty()) else { return };
        let bit = drawn as usize % (8 * bytes.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
    }

    /// Puts a payload that was received elsewhere behind the header.
    pub fn move_in(&mut self, pools: &mut Pools, payload: &[u8]) {
        let start = match self {
            Body::Datagram(slot, extent) => {
                &mut pools.datagrams.bytes_mut(slot)[extent.payload_from()..]
            }
            Body::Copy(bytes) => &mut bytes[HEADER_LEN..],
            // Only datagrams are received elsewhere.
            Body::Message(..) | Body::Read(..) => return,
        };
        start[..payload.len()].copy_from_slice(payload);
    }
}
