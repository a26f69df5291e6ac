//! What a communicator does in a group, as far as gathering its ranks there needs it.

use super::join_error::JoinError;
use super::order::PortSpeed;
use std::time::Duration;
use verbcast_core::rank::Rank;
use verbcast_core::time::Instant;
use verbcast_core::transport::TransportError;
use verbcast_core::wire::GroupAddress;

/// A rank of a communicator, which can be in one group at a time.
pub trait Member {
    /// Joins the group, all of whose ports are as fast as this, at most for `patience`, and receives its datagrams.
    /// Tries once.
    fn join(
        &mut self,
        group: (GroupAddress, PortSpeed),
        patience: Duration,
    ) -> Result<(), JoinError>;

    /// Leaves the group, if it is in one.
    fn leave(&mut self);

    /// Goes on without a group.
    fn go_without(&mut self) -> Result<(), String>;

    /// Most bytes of a packet.
    fn packet_len(&self) -> usize;

    /// Uses packets of no more than so many bytes from now on.
    fn limit_packet_len(&mut self, packet_len: usize);

    /// Multicasts a probe of so many bytes to the group, if it is in one.
    fn send_probe(&mut self, len: usize) -> Result<(), TransportError>;

    /// Takes what has come; false if nothing has.
    fn receive(&mut self, now: Instant) -> Result<bool, TransportError>;

    /// Waits for something to come, at most for so long; nothing has for the time `idle`.
    fn wait(&mut self, idle: Duration, at_most: Duration) -> Result<(), TransportError>;

    /// Whether a rank uses the same port.
    fn is_beside(&self, rank: Rank) -> bool;

    /// The ranks whose probes have come.
    fn heard(&mut self) -> &mut Heard;

    /// Packets of strangers that have come so far.
    fn foreign(&self) -> u64;
}

/// Which ranks were heard on the group, and by what.
#[derive(Debug)]
pub struct Heard {
    /// Bytes of a packet of whole length.
    whole: usize,
    ranks: Vec<Probes>,
}

/// The probes of a rank that have come.
#[derive(Clone, Copy, Debug, Default)]
struct Probes {
    /// One of whole length has.
    whole: bool,
    /// How many shorter ones have.
    short: u32,
}

impl Heard {
    /// Nobody of `size` ranks, where packets of whole length have `whole` bytes.
    pub fn new(size: usize, whole: usize) -> Self {
        Heard { whole, ranks: vec![Probes::default(); size] }
    }

    /// A probe of so many bytes has come from a rank.
    pub fn insert(&mut self, rank: Rank, len: usize) {
        let Some(probes) = self.ranks.get_mut(rank.index()) else { return };
        match len >= self.whole {
            true => probes.whole = true,
            false => probes.short = probes.short.saturating_add(1),
        }
    }

    /// By rank, whether no probe of whole length has come.
    pub fn missing(&self) -> Vec<bool> {
        self.ranks.iter().map(|probes| !probes.whole).collect()
    }

    /// Whether so many short ones have come from a rank, and none of whole length.
    pub fn is_short_alone(&self, probes: u32) -> bool {
        self.ranks.iter().any(|one| !one.whole && one.short >= probes)
    }

    /// Whether all these ranks were heard by probes of whole length.
    pub fn has(&self, mut ranks: impl Iterator<Item = usize>) -> bool {
        ranks.all(|rank| self.ranks[rank].whole)
    }
}
