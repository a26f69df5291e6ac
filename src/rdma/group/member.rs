//! What a communicator does in a group, as far as gathering its ranks there needs it.

use std::time::Duration;
use verbcast_core::rank::Rank;
use verbcast_core::transport::{Park, Transport, TransportError};
use verbcast_core::wire::GroupAddress;

/// A rank of a communicator, which can be in one group at a time.
pub trait Member: Transport + Park {
    /// Joins the group, at most for `patience`, and receives its datagrams.
    fn join(&mut self, address: GroupAddress, patience: Duration) -> Result<(), String>;

    /// Leaves the group, if it is in one.
    fn leave(&mut self);

    /// Goes on without a group.
    fn go_without(&mut self) -> Result<(), String>;

    /// Multicasts a probe to the group, if it is in one.
    fn send_probe(&mut self) -> Result<(), TransportError>;

    /// The ranks whose probes have come.
    fn heard(&mut self) -> &mut Heard;

    /// Packets of strangers that have come so far.
    fn foreign(&self) -> u64;
}

/// Which ranks were heard on the group.
#[derive(Debug)]
pub struct Heard {
    ranks: Vec<bool>,
}

impl Heard {
    pub fn new(size: usize) -> Self {
        Heard { ranks: vec![false; size] }
    }

    pub fn insert(&mut self, rank: Rank) {
        if let Some(heard) = self.ranks.get_mut(rank.index()) {
            *heard = true;
        }
    }

    pub fn missing(&self) -> impl Iterator<Item = Rank> {
        (0..).map(Rank).zip(&self.ranks).filter(|(_, heard)| !**heard).map(|(rank, _)| rank)
    }

    pub fn is_complete(&self) -> bool {
        self.missing().next().is_none()
    }
}
