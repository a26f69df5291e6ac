//! Which ranks of a communicator share memory.

use crate::rank::Rank;
use crate::wire::NodeOffer;

/// The nodes of a communicator, alike at every rank. A rank that shares memory with nobody is a node of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// By rank, the lowest rank of its node.
    leads: Vec<Rank>,
}

impl Nodes {
    /// `size` ranks that share nothing.
    pub fn flat(size: u32) -> Self {
        Nodes { leads: (0..size).map(Rank).collect() }
    }

    /// `size` ranks, every `each` neighbours of which share a node.
    pub fn blocks(size: u32, each: u32) -> Self {
        let each = each.max(1);
        Nodes { leads: (0..size).map(|rank| Rank(rank - rank % each)).collect() }
    }

    /// From what all ranks have said: the ranks of a host share a node, in their order, and at most as many as each of them
    /// allows.
    pub fn of(offers: &[NodeOffer]) -> Self {
        let mut nodes = Nodes::flat(offers.len() as u32);
        for (rank, offer) in offers.iter().enumerate() {
            let beside = |other: &usize| offers[*other].is_beside(offer);
            let Some(most) = (0..offers.len()).filter(beside).map(|one| offers[one].most).min()
            else {
                continue;
            };
            let before = (0..rank).filter(beside).count();
            let first = before - before % usize::from(most);
            if let Some(lead) = (0..=rank).filter(beside).nth(first) {
                nodes.leads[rank] = Rank(lead as u32);
            }
        }
        nodes
    }

    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.leads.len() as u32
    }

    /// The lowest rank of a rank's node.
    pub fn lead(&self, rank: Rank) -> Rank {
        self.leads[rank.index()]
    }

    /// The lowest ranks of all nodes that several ranks share.
    pub fn shared(&self) -> Vec<Rank> {
        let ranks = (0..).map(Rank).zip(&self.leads);
        let mut leads: Vec<_> =
            ranks.filter(|(rank, lead)| rank != *lead).map(|(_, lead)| *lead).collect();
        leads.sort_unstable();
        leads.dedup();
        leads
    }

    /// The ranks of a node, by its lowest one.
    pub fn members(&self, lead: Rank) -> impl Iterator<Item = Rank> + '_ {
        let ranks = (0..).map(Rank).zip(&self.leads);
        ranks.filter(move |(_, other)| **other == lead).map(|(rank, _)| rank)
    }

    /// Whether two ranks share a node.
    pub fn are_mates(&self, one: Rank, other: Rank) -> bool {
        self.lead(one) == self.lead(other)
    }

    /// Whether all ranks share one node.
    pub fn are_one(&self) -> bool {
        self.leads.iter().all(|lead| *lead == Rank(0))
    }

    /// Takes a node apart: its ranks share nothing after all.
    pub fn split(&mut self, lead: Rank) {
        for (rank, other) in (0..).map(Rank).zip(&mut self.leads) {
            if *other == lead {
                *other = rank;
            }
        }
    }
}
