//! How much an adapter holds.

/// How much an adapter holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depths {
    /// Receives posted for datagrams.
    pub receive: u32,
    /// Datagrams on their way out at most.
    pub send: u32,
    /// Receives posted for reliable messages.
    pub reliable_receive: u32,
    /// Reliable messages on their way out at most.
    pub reliable_send: u32,
    /// Slots of the ring, a power of two.
    pub ring: u32,
    /// Fetches under way at most.
    pub fetch: u32,
}

impl Default for Depths {
    /// As the real transport's.
    fn default() -> Self {
        Depths {
            receive: 64,
            send: 32,
            reliable_receive: 32,
            reliable_send: 32,
            ring: 32,
            fetch: 8,
        }
    }
}
