//! What an endpoint takes of its device.

/// What an endpoint takes of its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Communicators that are not closed.
    pub communicators: usize,
    /// Communicators that are closed here, and whose memory other ranks may still reach.
    pub left: usize,
    /// Queue pairs: one for datagrams, and two for each process that a connection was made with.
    pub queue_pairs: usize,
    /// Multicast groups that it is in.
    pub groups: usize,
    /// Bytes of registered memory, besides that of messages.
    pub registered_memory: usize,
}
