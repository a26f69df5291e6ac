//! The groups that an endpoint's communicators are in.

use super::attached::Group;
use super::proven::{Proofs, ProvenAmong};
use verbcast_core::wire::{GroupAddress, GroupOffer, MAX_OFFERED_GROUPS, MAX_OFFERED_PROOFS};

/// A group, as its endpoint numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupId(usize);

#[cfg(test)]
impl GroupId {
    /// Any.
    pub const ANY: GroupId = GroupId(0);
}

/// A group, and how many communicators use it: those that have left it do until what they sent has left.
#[derive(Debug)]
struct Entry {
    group: Group,
    users: usize,
    proofs: Proofs,
}

/// The groups that communicators are in.
#[derive(Debug)]
pub struct Groups {
    entries: Vec<Option<Entry>>,
    /// Groups to be in at most, unless ranks have none in common.
    most: usize,
}

impl Groups {
    /// None yet, and `most` at most, unless ranks have none in common.
    pub fn new(most: usize) -> Self {
        Groups { entries: Vec::new(), most }
    }

    /// A group that a communicator is in.
    ///
    /// # Panics
    /// If nobody uses it.
    pub fn get(&self, id: GroupId) -> &Group {
        let entry = self.entries.get(id.0).and_then(Option::as_ref);
        &entry.expect("a group stays while it is used").group
    }

    /// As [`get`](Self::get), to renew it; none if nobody uses it any more.
    pub fn get_mut(&mut self, id: GroupId) -> Option<&mut Group> {
        Some(&mut self.entries.get_mut(id.0)?.as_mut()?.group)
    }

    /// All groups.
    pub fn iter(&self) -> impl Iterator<Item = (GroupId, &Group)> {
        let numbered = self.entries.iter().enumerate();
        numbered.filter_map(|(id, entry)| Some((GroupId(id), &entry.as_ref()?.group)))
    }

    /// All groups, to look after them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (GroupId, &mut Group)> {
        let numbered = self.entries.iter_mut().enumerate();
        numbered.filter_map(|(id, entry)| Some((GroupId(id), &mut entry.as_mut()?.group)))
    }

    /// A communicator uses a group of this address, if there is one.
    pub fn share(&mut self, address: GroupAddress) -> Option<GroupId> {
        let is_it =
            |entry: &Option<Entry>| entry.as_ref().is_some_and(|one| one.group.address == address);
        let id = self.entries.iter().position(is_it)?;
        self.entries[id].as_mut()?.users += 1;
        Some(GroupId(id))
    }

    /// A communicator uses a further group.
    pub fn add(&mut self, group: Group) -> GroupId {
        let free = self.entries.iter().position(Option::is_none).unwrap_or(self.entries.len());
        if free == self.entries.len() {
            self.entries.push(None);
        }
        self.entries[free] = Some(Entry { group, users: 1, proofs: Proofs::default() });
        GroupId(free)
    }

    /// A group was proven among all processes of a communicator.
    pub fn note_proof(&mut self, id: GroupId, proof: ProvenAmong) {
        if let Some(entry) = self.entries.get_mut(id.0).and_then(Option::as_mut) {
            entry.proofs.add(proof);
        }
    }

    /// A communicator does not use a group any more; the last one leaves it.
    pub fn release(&mut self, id: GroupId) {
        let Some(place) = self.entries.get_mut(id.0) else { return };
        if let Some(entry) = place {
            entry.users -= 1;
        }
        place.take_if(|entry| entry.users == 0);
    }

    /// What is told of them to other ranks of a communicator.
    pub fn offer(&self) -> GroupOffer {
        let mut groups: Vec<_> = self.iter().map(|(_, group)| group.address).collect();
        let is_full = groups.len() >= self.most;
        groups.truncate(MAX_OFFERED_GROUPS);
        let proofs = |entry: &Entry| entry.proofs.of(entry.group.address).collect::<Vec<_>>();
        let proven = self.entries.iter().flatten().flat_map(proofs);
        GroupOffer { groups, is_full, proven: proven.take(MAX_OFFERED_PROOFS).collect() }
    }
}
