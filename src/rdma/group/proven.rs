//! What was proven of a group before, so that it need not be proven again.
//!
//! A proof says that whole packets come from each of some processes to each of them. It is about processes and their UD
//! QPs, not about a communicator: any other communicator of the very same processes can use the group without a proof, and
//! sends nothing to anybody who would not receive the packets of the former one as well. With fewer processes a group of
//! their own is better, since the others would receive what they do not want; with more, something is not proven.
//!
//! A group that is left is forgotten with its proofs. Where a membership ends and is made anew, a further communicator is
//! where those are that use the group already.

use sha2::{Digest, Sha256};
use verbcast_core::wire::{GroupAddress, GroupOffer, ProvenGroup};

/// Proofs of a group that are kept at most: the first, as it is probably of the most processes, and the last ones.
const MAX_PROOFS: usize = 4;

/// A proof of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProvenAmong {
    /// The [processes](members) among which it was proven.
    pub members: u64,
    /// The longest packets that it was proven with.
    pub packet_len: usize,
}

/// The proofs of a group.
#[derive(Debug, Default)]
pub struct Proofs(Vec<ProvenAmong>);

impl Proofs {
    /// The group was proven.
    pub fn add(&mut self, proof: ProvenAmong) {
        self.0.retain(|other| other.members != proof.members);
        if self.0.len() == MAX_PROOFS {
            self.0.remove(1);
        }
        self.0.push(proof);
    }

    /// All of them, as they are told to other ranks.
    pub fn of(&self, group: GroupAddress) -> impl Iterator<Item = ProvenGroup> {
        self.0.iter().map(move |ProvenAmong { members, packet_len }| ProvenGroup {
            group,
            members: *members,
            packet_len: *packet_len as u32,
        })
    }
}

/// What stands for the processes of these incarnations in whatever order, and for no others; of each the incarnation, and the
/// least one of its node, as a group that works for one process of each node need not work for all.
pub fn members(processes: impl Iterator<Item = (u64, u64)>) -> u64 {
    let mut all: Vec<_> = processes.collect();
    all.sort_unstable();
    let mut hash = Sha256::new();
    all.iter().flat_map(|(own, node)| [own, node]).for_each(|one| hash.update(one.to_be_bytes()));
    let hash: [u8; 32] = hash.finalize().into();
    u64::from_be_bytes(std::array::from_fn(|at| hash[at]))
}

/// A group that all ranks with these offers have proven among the same processes, which are all of theirs.
pub fn proven_group<'a>(
    mut offers: impl Iterator<Item = &'a GroupOffer>,
    members: u64,
) -> Option<ProvenGroup> {
    let first = offers.next()?;
    let others: Vec<_> = offers.collect();
    let mut candidates = first.proven.iter().filter(|proof| proof.members == members);
    candidates.find(|proof| others.iter().all(|offer| offer.proven.contains(proof))).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(number: u8) -> GroupAddress {
        GroupAddress::V4([239, 1, 1, number].into())
    }

    fn offer(proven: &[(u8, u64, u32)]) -> GroupOffer {
        let proof = |(number, members, packet_len): &(u8, u64, u32)| ProvenGroup {
            group: group(*number),
            members: *members,
            packet_len: *packet_len,
        };
        GroupOffer { proven: proven.iter().map(proof).collect(), ..GroupOffer::default() }
    }

    #[test]
    fn the_order_of_ranks_does_not_matter_but_who_they_are_does() {
        let of = |incarnations: &[u64]| members(incarnations.iter().map(|one| (*one, *one)));
        assert_eq!(of(&[3, 1, 2]), of(&[1, 2, 3]));
        assert_ne!(of(&[1, 2]), of(&[1, 2, 3]));
        assert_ne!(of(&[1, 2]), of(&[1, 3]));
        let pair = [(1, 1), (2, 1), (3, 3)];
        assert_ne!(members(pair.into_iter()), of(&[1, 2, 3]), "two share a node");
    }

    #[test]
    fn a_group_is_used_again_only_if_all_have_proven_it_among_the_same() {
        let found = |offers: &[GroupOffer]| proven_group(offers.iter(), 7).map(|one| one.group);
        let all = offer(&[(1, 6, 4096), (2, 7, 4096)]);
        assert_eq!(found(&[all.clone(), offer(&[(2, 7, 4096)])]), Some(group(2)));
        assert_eq!(found(&[all.clone(), offer(&[(1, 6, 4096)])]), None, "one has left it");
        assert_eq!(found(&[all.clone(), offer(&[(2, 7, 2048)])]), None, "not of the same proof");
        assert_eq!(proven_group([all].iter(), 8), None, "proven among others");
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn the_first_proof_and_the_last_ones_are_kept() {
        let mut proofs = Proofs::default();
        for members in [0, 1, 2, 3, 4, 3] {
            proofs.add(ProvenAmong { members, packet_len: 4096 });
        }
        let kept: Vec<_> = proofs.of(group(1)).map(|one| one.members).collect();
        assert_eq!(kept, [0, 2, 4, 3]);
    }
}
