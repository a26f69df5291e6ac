//! Counts of what mates did in the memory of their node.

/// What went through the memory of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCounters {
    /// Datagrams that mates had published, taken from the ring.
    pub taken: u64,
    /// Datagrams published for mates.
    pub published: u64,
    /// Datagrams that were overrun before they were taken.
    pub lost: u64,
    /// Times that this rank became the one that receives.
    pub roles: u64,
    /// Mates that slept and were woken.
    pub woken: u64,
}

impl NodeCounters {
    /// Both of them.
    pub fn and(self, other: NodeCounters) -> NodeCounters {
        NodeCounters {
            taken: self.taken + other.taken,
            published: self.published + other.published,
            lost: self.lost + other.lost,
            roles: self.roles + other.roles,
            woken: self.woken + other.woken,
        }
    }
}
