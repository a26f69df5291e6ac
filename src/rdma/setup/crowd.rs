//! Whether every rank's QP can be attached to one group.

use crate::bootstrap::name_ranks;
use std::collections::BTreeMap;
use verbcast_core::node::Nodes;
use verbcast_core::rank::Rank;
use verbcast_core::wire::{Adapter, Introduction};

/// Which device has more ranks than it takes QPs in a group, if there is one. The same at every rank, as it follows
/// from what all have told.
/// Of a node one rank at a time is attached.
pub fn crowded(all: &[Introduction], nodes: &Nodes) -> Option<String> {
    overfull(all.iter().map(|one| one.adapter), nodes)
}

fn overfull(adapters: impl Iterator<Item = Adapter>, nodes: &Nodes) -> Option<String> {
    let mut by_guid = BTreeMap::<u64, (u32, Vec<Rank>)>::new();
    for (rank, Adapter { guid, max_attached }) in (0..).map(Rank).zip(adapters) {
        let (most, ranks) = by_guid.entry(guid).or_insert((max_attached, Vec::new()));
        *most = max_attached.min(*most);
        let is_counted = ranks.iter().any(|other| nodes.are_mates(*other, rank));
        if !is_counted {
            ranks.push(rank);
        }
    }
    let is_overfull = |(_, (most, ranks)): &(u64, (u32, Vec<Rank>))| ranks.len() > *most as usize;
    let (guid, (most, ranks)) = by_guid.into_iter().find(is_overfull)?;
    Some(format!(
        "{} share the device with node GUID {guid:016x}, which takes at most {most} queue pairs in a group \
         (max_mcast_qp_attach); with at most as many ranks on each device, or where they share memory \
         (VERBCAST_NODES=auto), multicast is used",
        name_ranks(&ranks)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_counted_by_device() {
        let two = [Adapter { guid: 0xa, max_attached: 2 }, Adapter { guid: 0xb, max_attached: 2 }];
        let flat = Nodes::flat(5);
        let on = |devices: &[usize]| overfull(devices.iter().map(|at| two[*at]), &flat);
        assert_eq!(on(&[0, 1, 0, 1]), None);
        let what = on(&[0, 1, 1, 0, 1]).unwrap();
        assert!(what.starts_with("ranks 1, 2 and 4 share the device"), "{what}");
        assert!(what.contains("at most 2 queue pairs"), "{what}");
        let pairs = Nodes::blocks(5, 2);
        let of_nodes = overfull([0, 1, 1, 0, 1].iter().map(|at| two[*at]), &pairs);
        assert!(of_nodes.unwrap().starts_with("ranks 1, 2 and 4"), "each is of another node");
        assert_eq!(overfull([0; 4].iter().map(|at| two[*at]), &pairs), None);
    }
}
