//! What a transport reports.

use crate::protocol::{Counter, Token, Via};
use crate::rank::Rank;

/// A received buffer, to be given back by [`Transport::recycle`](super::Transport::recycle).
#[derive(Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The transport's own number for it.
    pub index: u32,
}

/// What a transport reports.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A packet.
    Packet {
        /// How it came.
        via: Via,
        /// Where it is.
        buffer: Buffer,
    },
    /// The adapter of `to` has acknowledged a reliable message: it will be received unless that
    /// rank fails.
    Delivered {
        /// The receiver.
        to: Rank,
        /// What the sender gave along.
        token: Token,
    },
    /// `from` has written a number into this rank's memory. Only the latest value is reported.
    Reported {
        /// The rank that wrote.
        from: Rank,
        /// Which number.
        counter: Counter,
        /// Its value.
        value: u64,
    },
    /// The adapter of `to` has acknowledged a [report](super::Transport::report) that was on its way.
    WriteAcked {
        /// The rank that was told.
        to: Rank,
        /// Which number.
        counter: Counter,
    },
    /// A [fetch](super::Transport::fetch) has read what the slot held, whatever it was.
    Fetched {
        /// Whose ring was read.
        from: Rank,
        /// What the fetcher gave along.
        token: Token,
        /// Where the bytes are.
        buffer: Buffer,
    },
    /// The adapter of `peer` has answered a [`Liveness::probe`](super::Liveness::probe).
    Alive {
        /// The rank that was asked.
        peer: Rank,
    },
    /// The connection with `peer` is broken; whatever it had sent before has been reported.
    Broken {
        /// The other side.
        peer: Rank,
        /// What the adapter says.
        reason: String,
    },
}
