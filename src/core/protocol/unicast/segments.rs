//! Long messages, which go in segments from memory to memory.
//!
//! Who gets a long message from another rank tells it where its memory is, and is written to: a segment is one write, one
//! packet that says so, and one answer, however many fragments it is. The first fragment goes without being asked for, as
//! those of short messages do: it shows a rank that has other arguments. Who can offer no memory, or none that its sender
//! can write to, gets fragments in packets.

use crate::wire::Region;
use std::ops::Range;

/// How a rank is reached that gets a long message from this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Nothing was sent to it, nor has it told where its memory is.
    Unknown,
    /// It was sent a fragment, and is to tell.
    Awaited,
    /// By packets.
    Packets,
    /// By writes into this memory.
    Memory(Region),
}

impl Reach {
    /// By what the rank has offered.
    pub fn of(memory: Option<Region>) -> Reach {
        memory.map_or(Reach::Packets, Reach::Memory)
    }

    /// Fragments that can be sent to it at once, where a segment has so many.
    pub fn at_once(self, segment: u32) -> u32 {
        match self {
            Reach::Unknown | Reach::Packets => 1,
            Reach::Awaited => 0,
            Reach::Memory(_) => segment,
        }
    }

    /// Something was sent to it.
    pub fn sent(&mut self) {
        if *self == Reach::Unknown {
            *self = Reach::Awaited;
        }
    }

    /// Whether it has told where its memory is.
    pub fn is_known(self) -> bool {
        matches!(self, Reach::Packets | Reach::Memory(_))
    }
}

/// What waits to be sent to a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// Where this rank's memory is.
    Offer,
    /// Fragments that follow one another.
    Fragments(Range<u32>),
}
