//! OpenSM's multicast: one spanning tree for each group, whatever the source.

use super::hops::Hops;
use super::order;
use crate::multicast::Entries;
use crate::topology::{Port, Topology};

/// The hops that OpenSM counts where there is no path.
const NO_PATH: u32 = 255;

/// The root of a group's tree: the switch from which the farthest member is nearest; of several the
/// first in OpenSM's order. None if no member is linked to a switch.
pub fn root(topology: &Topology, members: &[u32], hops: impl Fn(u32) -> Hops) -> Option<u32> {
    let mut leaves: Vec<u32> =
        members.iter().filter_map(|member| Some(topology.leaf(*member)?.node)).collect();
    leaves.sort_unstable();
    leaves.dedup();
    let mut farthest = vec![0; topology.switches() as usize];
    for leaf in &leaves {
        for (farthest, hops) in farthest.iter_mut().zip(&hops(*leaf).least) {
            *farthest = (*farthest).max(hops.saturating_add(1).min(NO_PATH + 1));
        }
    }
    let all = order(topology).into_iter();
    let best = all.min_by_key(|switch| farthest[topology.switch_index(*switch)]);
    best.filter(|_| !leaves.is_empty())
}

/// The entries of a group: from the root to each member the way by the lowest port with the least
/// hops, and back. Groups of fewer than two members have none. OpenSM treats members of all kinds
/// alike, SendOnly and NonMember included.
pub fn spanning_tree(topology: &Topology, members: &[u32], hops: impl Fn(u32) -> Hops) -> Entries {
    let mut entries = Entries::none(topology);
    let mut members = members.to_vec();
    members.sort_unstable();
    members.dedup();
    // Members of one switch follow one another, so that its hops are counted once.
    members.sort_by_key(|member| topology.leaf(*member));
    if members.len() < 2 {
        return entries;
    }
    let Some(root) = root(topology, &members, &hops) else { return entries };
    let mut last: Option<(u32, Hops)> = None;
    for leaf in members.iter().filter_map(|member| topology.leaf(*member)) {
        if last.as_ref().is_none_or(|(node, _)| *node != leaf.node) {
            let hops = hops(leaf.node);
            branch(topology, &mut entries, root, leaf.node, &hops);
            last = Some((leaf.node, hops));
        }
        let (_, hops) = last.as_ref().expect("it has just been set");
        if hops.least[topology.switch_index(root)] < NO_PATH {
            entries.ports_mut(topology.switch_index(leaf.node)).insert(leaf.port);
        }
    }
    entries
}

/// Adds the way from the root to a switch.
fn branch(topology: &Topology, entries: &mut Entries, root: u32, to: u32, hops: &Hops) {
    let mut at = root;
    while at != to {
        let index = topology.switch_index(at);
        let Some(port) = hops.first_port(index) else { return };
        let Some(peer) = topology.peer(Port { node: at, port }) else { return };
        entries.ports_mut(index).insert(port);
        entries.ports_mut(topology.switch_index(peer.node)).insert(peer.port);
        at = peer.node;
    }
}
