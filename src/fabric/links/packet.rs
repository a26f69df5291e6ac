//! What goes over links, and what those at the ends see of it.

/// Entries of a multicast LID that the links know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group(pub(super) u32);

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// To the owner of a LID.
    Lid(u16),
    /// To whoever the entries lead to.
    Group(Group),
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Where it goes.
    pub to: To,
    /// All its bytes, headers included.
    pub bytes: u32,
    /// Its service level.
    pub level: u8,
    /// What its sender knows it by.
    pub tag: u64,
}

/// What those at the ends see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A packet has left its sender to its last byte.
    Left {
        /// The sender.
        endpoint: u32,
        /// The packet's tag.
        tag: u64,
    },
    /// A packet, or a copy of it, is here to its last byte.
    Delivered {
        /// Who has it.
        endpoint: u32,
        /// The packet's tag.
        tag: u64,
    },
    /// A packet, or a copy of it, has waited for too long.
    Dropped {
        /// The packet's tag.
        tag: u64,
    },
    /// Nothing of a packet is on its way any more.
    Ended {
        /// The packet's tag.
        tag: u64,
    },
}
