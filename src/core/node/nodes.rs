//! Which ranks of a communicator share memory.

use crate::rank::Rank;
use crate::wire::NodeOffer;
use std::collections::BTreeMap;

/// The nodes of a communicator, alike at every rank. A rank that shares memory with nobody is a node of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// By rank, the lowest rank of its node.
    leads: Vec<Rank>,
    /// Of each node that several ranks share, by the lowest of them, all of them in their order.
    shared: BTreeMap<Rank, Vec<Rank>>,
}

impl Nodes {
    /// `size` ranks that share nothing.
    pub fn flat(size: u32) -> Self {
        Nodes { leads: (0..size).map(Rank).collect(), shared: BTreeMap::new() }
    }

    /// `size` ranks, every `each` neighbours of which share a node.
    pub fn blocks(size: u32, each: u32) -> Self {
        let mut nodes = Nodes::flat(size);
        let ranks = nodes.leads.clone();
        ranks.chunks(each.max(1) as usize).for_each(|node| nodes.share(node));
        nodes
    }

    /// From what all ranks have said: the ranks of a host share a node, in their order, and at most as many as each of them
    /// allows.
    pub fn of(offers: &[NodeOffer]) -> Self {
        let mut hosts = BTreeMap::<_, Vec<Rank>>::new();
        for (rank, offer) in (0..).map(Rank).zip(offers) {
            if let Some(place) = offer.place() {
                hosts.entry(place).or_default().push(rank);
            }
        }
        let mut nodes = Nodes::flat(offers.len() as u32);
        for ranks in hosts.into_values() {
            let most = ranks.iter().map(|rank| offers[rank.index()].most).min().unwrap_or(1);
            ranks.chunks(usize::from(most)).for_each(|node| nodes.share(node));
        }
        nodes
    }

    /// Ranks that shared nothing share a node from now on.
    fn share(&mut self, ranks: &[Rank]) {
        if let [lead, _, ..] = *ranks {
            ranks.iter().for_each(|rank| self.leads[rank.index()] = lead);
            self.shared.insert(lead, ranks.to_vec());
        }
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
        self.shared.keys().copied().collect()
    }

    /// The ranks of a node, by its lowest one.
    pub fn members(&self, lead: Rank) -> &[Rank] {
        match self.shared.get(&lead) {
            Some(ranks) => ranks,
            None => &self.leads[lead.index()..=lead.index()],
        }
    }

    /// Whether two ranks share a node.
    pub fn are_mates(&self, one: Rank, other: Rank) -> bool {
        self.lead(one) == self.lead(other)
    }

    /// Whether all ranks share one node.
    pub fn are_one(&self) -> bool {
        self.size() < 2 || self.members(Rank(0)).len() == self.leads.len()
    }

    /// Takes a node apart: its ranks share nothing after all.
    pub fn split(&mut self, lead: Rank) {
        for rank in self.shared.remove(&lead).unwrap_or_default() {
            self.leads[rank.index()] = rank;
        }
    }
}
