//! What a core asks its driver to do.

use super::Fragments;
use crate::rank::{Fragment, OpId, Rank};
use crate::wire::{Kind, Region};
use std::ops::Range;

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// To every rank of the group, once, unreliably.
    Group,
    /// To one rank, reliably and in order.
    Rank(Rank),
}

/// The header of a packet, as far as a core decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Its purpose.
    pub kind: Kind,
    /// The operation it belongs to.
    pub op: OpId,
    /// The fragment it carries.
    pub fragment: Fragment,
    /// Length of the whole message in bytes.
    pub message_len: u64,
    /// What this rank reports of itself along with it; zero says nothing.
    pub report: u64,
    /// Whether its receivers are to report as soon as they have this fragment and all before it.
    pub asks: bool,
}

impl Piece {
    /// What its sender wants to be told about.
    pub fn token(&self) -> Token {
        Token { kind: self.kind, op: self.op, fragment: self.fragment }
    }
}

/// Tells one reliable message, or one fetch, from another when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    /// The message's purpose.
    pub kind: Kind,
    /// The operation that it belongs to.
    pub op: OpId,
    /// The fragment that it carries.
    pub fragment: Fragment,
}

/// Numbers that a rank writes into another's memory; each rank has one of each kind for every
/// other rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Counter {
    /// What the window family acknowledges.
    Acknowledged = 0,
    /// What the unicast family has consumed.
    Consumed = 1,
    /// What the two-stage protocol has begun to wait for.
    Begun = 2,
}

impl Counter {
    /// How many kinds there are.
    pub const KINDS: usize = 3;
    /// All kinds.
    pub const ALL: [Counter; Counter::KINDS] =
        [Counter::Acknowledged, Counter::Consumed, Counter::Begun];
}

/// Packets of consecutive fragments of a message, each for a slot of the ring whose former packet nobody needs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Packets {
    /// The slot of the first; those of the others follow.
    pub slot: u32,
    /// The header of the first. The others' differ in the fragment, and only that of the last asks.
    pub first: Piece,
    /// How many there are.
    pub count: u32,
    /// What the fragments are of the message.
    pub cut: Fragments,
}

impl Packets {
    /// The slot, header and bytes of the message of each packet.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Piece, Range<usize>)> {
        let Packets { slot, first, count, cut } = self.clone();
        (0..count).map(move |index| {
            let fragment = Fragment(first.fragment.0 + index);
            let asks = first.asks && index + 1 == count;
            let range = cut.range(fragment).unwrap_or_default();
            (slot + index, Piece { fragment, asks, ..first }, range)
        })
    }
}

/// Something that a core wants done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Transmit {
    /// Send a packet whose payload is `range` of the operation's message.
    Send {
        /// Where to.
        target: Target,
        /// Its header.
        piece: Piece,
        /// The bytes of the message that it carries.
        range: Range<usize>,
    },
    /// Write packets into slots of the ring, from where they can be [resent](Transmit::Resend) and
    /// [fetched](Transmit::Fetch).
    Retain {
        /// The packets, and their slots.
        packets: Packets,
        /// Whether each is sent to the group from there, too.
        is_multicast: bool,
    },
    /// Send the packet that a slot of the ring holds, reliably.
    Resend {
        /// Where to.
        to: Rank,
        /// The slot.
        slot: u32,
        /// What to be told of the delivery.
        token: Token,
    },
    /// Tell a rank where the operation's message can be written to, if the transport has its memory and can offer it.
    Offer {
        /// Who is to write.
        to: Rank,
        /// The packet's header.
        piece: Piece,
    },
    /// Write `range` of the operation's message into a rank's memory, out of this rank's own, then send a packet that says
    /// so.
    Write {
        /// Whose memory.
        to: Rank,
        /// The packet's header.
        piece: Piece,
        /// The bytes of the message.
        range: Range<usize>,
        /// Where the whole message is there.
        into: Region,
    },
    /// Write a number into the memory of a rank, which costs its CPU nothing (Liu 2004, section 5.5).
    Report {
        /// Whose memory.
        to: Rank,
        /// Which number.
        counter: Counter,
        /// Its new value.
        value: u64,
    },
    /// Read the packet that a slot of another rank's ring holds, which costs that rank's CPU nothing.
    Fetch {
        /// Whose ring.
        from: Rank,
        /// The slot.
        slot: u32,
        /// The packet that is hoped for.
        token: Token,
    },
}

/// How much a transport takes right now.
pub trait Room {
    /// Datagrams to the group.
    fn multicast_room(&self) -> usize;
    /// Reliable messages to `to`.
    fn reliable_room(&self, to: Rank) -> usize;
    /// Reports to `to`.
    fn report_room(&self, to: Rank) -> usize;
    /// Fetches from `from`.
    fn fetch_room(&self, from: Rank) -> usize;
    /// Whether a fetch from `from` takes nobody's CPU but this rank's, since there is a connection. By default there always is.
    fn is_in_reach(&self, _from: Rank) -> bool {
        true
    }
    /// Whether no send of the packet in a slot of the ring is under way, so that it can be replaced.
    fn is_idle(&self, slot: u32) -> bool;
}
