//! Which group a communicator uses: one of its own, or one that it shares.
//!
//! Groups are scarce: adapters and subnet managers have room for so many. A communicator of the same processes as another
//! one shares [its group](super::proven). While none of the ranks is in as many groups as it may be, any other gets a group
//! of its own. Otherwise it shares one, too, and its packets are told apart by its key. Ranks that are in the group for
//! another communicator only drop them.

use verbcast_core::wire::{GroupAddress, GroupOffer};

/// The group that the ranks with these offers share, if they share one. The same at all ranks; `key` spreads
/// communicators over groups that are as good. Where no group has all ranks that are full, the others of them
/// join one more.
pub fn shared_group<'a>(
    offers: impl Iterator<Item = &'a GroupOffer> + Clone,
    key: u64,
) -> Option<GroupAddress> {
    if !offers.clone().any(|offer| offer.is_full) {
        return None;
    }
    let mut merits: Vec<(GroupAddress, (u32, u32))> = Vec::new();
    for offer in offers {
        for group in &offer.groups {
            let known = merits.iter().position(|(other, _)| other == group);
            let at = known.unwrap_or_else(|| {
                merits.push((*group, (0, 0)));
                merits.len() - 1
            });
            let (full, all) = &mut merits[at].1;
            *full += u32::from(offer.is_full);
            *all += 1;
        }
    }
    let most = merits.iter().map(|(_, merit)| *merit).max()?;
    let best: Vec<_> = merits.iter().filter(|(_, merit)| *merit == most).collect();
    Some(best[(key % best.len() as u64) as usize].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(number: u8) -> GroupAddress {
        GroupAddress::V4([239, 1, 1, number].into())
    }

    fn offer(numbers: &[u8], is_full: bool) -> GroupOffer {
        let groups = numbers.iter().copied().map(group).collect();
        GroupOffer { groups, is_full, proven: Vec::new() }
    }

    #[test]
    fn ranks_share_a_group_once_one_of_them_is_full() {
        let with_room = [offer(&[1], false), offer(&[1, 2], false)];
        assert_eq!(shared_group(with_room.iter(), 0), None);
        let one_full = [offer(&[1], false), offer(&[3, 1], true)];
        assert_eq!(shared_group(one_full.iter(), 7), Some(group(1)), "both are in it");
        let strangers = [offer(&[4], false), offer(&[5], true)];
        assert_eq!(shared_group(strangers.iter(), 7), Some(group(5)), "who has room joins");
    }

    #[test]
    fn groups_that_are_as_good_take_turns() {
        let offers = [offer(&[1, 2, 3], true), offer(&[2, 1], true)];
        let chosen = [0, 1, 2].map(|key| shared_group(offers.iter(), key));
        assert_eq!(chosen, [Some(group(1)), Some(group(2)), Some(group(1))]);
    }
}
