//! The groups that an endpoint's communicators are in.

use super::membership::Group;
use std::sync::{Arc, Weak};
use verbcast_core::wire::{GroupOffer, MAX_OFFERED_GROUPS};

/// The groups that communicators are in, or were.
#[derive(Debug)]
pub struct Groups {
    known: Vec<Weak<Group>>,
    /// Groups to be in at most, unless ranks have none in common.
    most: usize,
}

impl Groups {
    /// None yet, and `most` at most, unless ranks have none in common.
    pub fn new(most: usize) -> Self {
        Groups { known: Vec::new(), most }
    }

    /// The groups that communicators are in.
    pub fn live(&self) -> impl Iterator<Item = Arc<Group>> {
        self.known.iter().filter_map(Weak::upgrade)
    }

    /// A communicator is in a further group.
    pub fn add(&mut self, group: &Arc<Group>) {
        self.known.retain(|group| group.strong_count() > 0);
        self.known.push(Arc::downgrade(group));
    }

    /// What is told of them to other ranks of a communicator.
    pub fn offer(&self) -> GroupOffer {
        let mut groups: Vec<_> = self.live().map(|group| group.address).collect();
        let is_full = groups.len() >= self.most;
        groups.truncate(MAX_OFFERED_GROUPS);
        GroupOffer { groups, is_full }
    }
}
