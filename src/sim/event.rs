//! What happens in a simulation, and what adapters report. Ranks are processes here.

use super::communicator::Channel;
use super::lent::Write;
use super::read::{Part, Read};
use std::rc::Rc;
use verbcast_core::protocol::{Counter, Token, Via};
use verbcast_core::rank::Rank;

/// A packet's bytes, shared by all who have them.
pub(super) type Bytes = Rc<[u8]>;

/// A slot of a communicator's ring.
pub(super) type RingSlot = (Channel, u32);

/// Something that happens at a time.
#[derive(Debug)]
pub(super) enum Event {
    /// A rank's CPU looks at what there is.
    Turn(Rank),
    /// A multicast arrives wherever it is not lost.
    Multicast { from: Rank, channel: Channel, bytes: Bytes },
    /// One receiver's copy of a multicast comes off a link; it may yet be lost.
    Copy { to: Rank, bytes: Bytes },
    /// One receiver's copy of a multicast arrives.
    Datagram { to: Rank, bytes: Bytes },
    /// A datagram has left its sender.
    Left(Rank, Option<RingSlot>),
    /// A reliable message arrives.
    Message(Message),
    /// A write into a message arrives.
    Write { from: Rank, to: Rank, write: Write },
    /// A report arrives.
    Report { from: Rank, to: Rank, channel: Channel, counter: Counter, value: u64 },
    /// A mate of the node sees a report.
    MateReport { from: Rank, to: Rank, channel: Channel, counter: Counter, value: u64 },
    /// A read request arrives at the ring's owner.
    Read(Read),
    /// The second part of a read takes place.
    Rest(Read, Part),
    /// Something for the rank's completion queue.
    Complete(Rank, Completion),
    /// A rank dies.
    Crash(Rank),
    /// A program's word for another arrives.
    Word { from: Rank, to: Rank },
}

/// A reliable message.
#[derive(Debug)]
pub(super) struct Message {
    pub from: Rank,
    pub to: Rank,
    pub channel: Channel,
    pub bytes: Bytes,
    pub token: Token,
    pub slot: Option<u32>,
}

/// An entry of a completion queue.
#[derive(Debug)]
pub(super) enum Completion {
    Packet(Via, Bytes),
    /// A reliable send was acknowledged; it may have been from a slot.
    Sent(Channel, Rank, Token, Option<u32>),
    WriteAcked(Channel, Rank, Counter),
    Fetched(Channel, Rank, Token, Bytes),
    Alive(Channel, Rank),
    Broken(Rank),
}
