//! Broadcasts with a NIC for each rank, over a wire that really loses, doubles and reorders.

use crate::needs;
use crate::ranks;

#[test]
fn messages_cross_the_wire_whole_and_losses_are_repaired() {
    let Some(devices) = needs::devices() else { return };
    let mut config = ranks::flat();
    config.device.devices.clone_from(&devices);
    let size = devices.len() as u32;
    let lens = [1, 4048, 4049, 1_000_000, 0, 8, 200_000, 500_000];
    let all = ranks::exchange(size, |_| config.clone(), &lens);
    assert!(all.iter().map(|one| one.repaired).sum::<u64>() > 0, "{all:?}");
    if devices.len() > 1 {
        // Each rank has a NIC of its own, and so losses of its own.
        assert!(all.iter().any(|one| one.lost != all[0].lost), "{all:?}");
    }
}
