//! What an endpoint takes of its device.

/// What an endpoint takes of its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Communicators that are not closed.
    pub communicators: usize,
    /// Communicators that are closed here, and whose memory other ranks may still reach.
    pub left: usize,
    /// Queue pairs: for each rail one for datagrams, and two for each process that a connection was made with.
    pub queue_pairs: usize,
    /// Multicast groups that it is in, with each rail.
    pub groups: usize,
    /// Bytes of registered memory, besides that of messages.
    pub registered_memory: usize,
}

impl Usage {
    /// With that of another rail, which has a part of each communicator.
    pub fn and(self, other: Usage) -> Usage {
        Usage {
            communicators: self.communicators.max(other.communicators),
            left: self.left.max(other.left),
            queue_pairs: self.queue_pairs + other.queue_pairs,
            groups: self.groups + other.groups,
            registered_memory: self.registered_memory + other.registered_memory,
        }
    }
}
