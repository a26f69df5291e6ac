//! Broadcasts with a NIC for each rank, over a wire that really loses, doubles and reorders.

#![cfg(feature = "verbs")]

mod ranks;

use verbcast::broadcast::{Broadcaster, Config};
use verbcast::rank::Rank;

#[test]
fn messages_cross_the_wire_whole_and_losses_are_repaired() {
    let Some(devices) = ranks::devices() else { return };
    let mut config = Config::default();
    config.settings.devices.clone_from(&devices);
    let size = devices.len() as u32;
    let all = ranks::run(size, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
        let me = broadcaster.rank();
        for (op, len) in [1, 4048, 4049, 1_000_000, 0, 8, 200_000, 500_000].into_iter().enumerate()
        {
            let root = Rank(op as u32 % size);
            let sent = ranks::message(op, len);
            let mut buffer = if me == root { sent.clone() } else { vec![0xee; len] };
            broadcaster.broadcast_into(root, &mut buffer).unwrap();
            assert!(buffer == sent, "{me}, broadcast {op} of {len} bytes");
        }
        broadcaster.flush().unwrap();
        let statistics = broadcaster.statistics();
        broadcaster.close().unwrap();
        statistics
    });
    assert!(all.iter().map(|one| one.repaired).sum::<u64>() > 0, "{all:?}");
    if devices.len() > 1 {
        // Each rank has a NIC of its own, and so losses of its own.
        assert!(all.iter().any(|one| one.lost != all[0].lost), "{all:?}");
    }
}
