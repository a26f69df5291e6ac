//! What a packet's payload is sent from or received into, besides a slot.

use std::ops::Range;
use std::sync::Arc;
use verbcast_verbs::Lease;

/// A part of a message's memory in a request.
#[derive(Clone, Debug)]
pub struct Tail {
    pub lease: Arc<Lease>,
    pub range: Range<usize>,
}

/// A payload that is to be sent.
pub enum Source<'a> {
    /// It is in its place.
    Place(Tail),
    /// It waits elsewhere.
    Bytes(&'a [u8]),
}
