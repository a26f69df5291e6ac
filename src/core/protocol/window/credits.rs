//! How far a root may multicast by the credits known (Liu 2004, section 5.4).

use super::groups::Groups;
use super::neighbours::Neighbours;
use super::ring::Ring;
use super::seq::Seq;
use crate::rank::Rank;

/// The credits of a rank as root. What each rank reports of its own is known to the ring.
#[derive(Clone, Debug)]
pub(super) struct Credits {
    /// Receives that every rank has posted, if that counts.
    depth: Option<u32>,
    /// Every fragment before this one may be multicast, if these are the groups.
    limit: Seq,
    among: Groups,
    /// The rank that has least, and what it had.
    laggard: Option<(Rank, Seq)>,
}

impl Credits {
    /// The credits of a root where every rank begins at `first`.
    pub fn new(depth: Option<u32>, first: Seq, among: Groups) -> Self {
        Credits { depth, limit: first.plus(depth.unwrap_or(0)), among, laggard: None }
    }

    /// Whether this rank may multicast a fragment, as root with these neighbours.
    pub fn has_one_for(&mut self, seq: Seq, neighbours: &Neighbours, ring: &Ring) -> bool {
        let Some(depth) = self.depth else { return true };
        if self.among != neighbours.groups {
            self.among = neighbours.groups;
            self.limit = seq;
            self.laggard = None;
        }
        if seq.after(self.limit) < 0 {
            return true;
        }
        let is_waiting =
            self.laggard.is_some_and(|(rank, credit)| ring.known(rank).credit == credit);
        if is_waiting {
            return false;
        }
        let reporters = neighbours.leaves.iter().chain(&neighbours.co_roots);
        let credits = reporters.map(|rank| (*rank, ring.known(*rank).credit));
        self.laggard = credits.reduce(|a, b| if b.1.after(a.1) < 0 { b } else { a });
        if let Some((_, credit)) = self.laggard {
            self.limit = credit.plus(depth);
        }
        seq.after(self.limit) < 0
    }

    /// The rank whose credits are awaited.
    pub fn laggard(&self) -> Option<Rank> {
        self.laggard.map(|(rank, _)| rank)
    }
}
