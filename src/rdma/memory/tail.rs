//! What a packet's payload is sent from or received into, besides a slot.

use std::ops::Range;
use std::sync::Arc;
use verbcast_core::transport::Transfer;
use verbcast_verbs::Lease;

/// A part of a message's memory in a request.
#[derive(Clone, Debug)]
pub struct Tail {
    pub lease: Arc<Lease>,
    pub range: Range<usize>,
}

/// A payload that is to be sent.
pub enum Source<'a> {
    /// The device can read it out of its message.
    Place(Tail),
    /// It is to be copied.
    Bytes(&'a [u8]),
}

impl Source<'_> {
    /// How it is sent.
    pub fn transfer(&self) -> Transfer {
        match self {
            Source::Place(_) => Transfer::InPlace,
            Source::Bytes(_) => Transfer::Copied,
        }
    }
}
