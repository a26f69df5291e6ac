//! Where the bytes of messages are.
//!
//! The bytes of a message have one home at a time. Either the driver has them, and hands parts of them out for
//! the time of a call; or they were lent to the transport, and the driver names parts of them.

use super::Buffer;
use crate::rank::{OpId, Rank};
use std::ops::Range;

/// What a rank has a message for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// All of it is here and is sent, so that nothing may be received into it.
    Send,
    /// It is received, and parts of it that are here may be sent on.
    Receive,
}

impl Purpose {
    /// The purpose at rank `me` of a broadcast of `root`.
    pub fn of(me: Rank, root: Rank) -> Self {
        if me == root { Purpose::Send } else { Purpose::Receive }
    }
}

/// The part of a message that a packet carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// These bytes, which are taken before the call returns.
    Bytes(&'a [u8]),
    /// These of a message that was lent to the transport, which may read them until it gives the message back.
    Lent(OpId, Range<usize>),
}

/// Where a payload is that goes into a lent message.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    /// In a received packet.
    Received(&'a Buffer),
    /// Elsewhere.
    Bytes(&'a [u8]),
}

/// How a payload gets out of its message, or into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// By the device: it is sent, or was received, where it belongs.
    InPlace,
    /// By a copy.
    Copied,
}
