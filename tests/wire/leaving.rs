//! Ranks that leave while the wire to one of them carries nothing, or not all.

use crate::calm::Calm;
use crate::drops::Drops;
use crate::needs;
use crate::ranks;
use std::thread;
use std::time::{Duration, Instant};
use verbcast::bootstrap::Bootstrap;
use verbcast::broadcast::Broadcaster;
use verbcast_core::rank::Rank;

/// Longer than a rank that leaves stays for what it may leave undone.
const OUTAGE: Duration = Duration::from_secs(5);

/// What is dropped on the way to the second NIC.
const EVERYTHING: &str = "matchall action drop";
/// The first acknowledgement over a connection, the third and so on: an IPv4 header of 20 bytes and a UDP header are in front of
/// the opcode (InfiniBand Architecture, volume 1, section 9.2.1).
const EVERY_SECOND_ACKNOWLEDGEMENT: &str =
    "protocol ip u32 match u8 0x11 0xff at 28 action drop random determ ok 2";

/// Rank 1 broadcasts, and hears neither that rank 0 has the message nor that it leaves, until the wire carries that again.
/// If rank 0 were gone by then, rank 1 would take it for dead.
#[test]
fn who_leaves_stays_until_its_farewell_has_arrived() {
    let Some(devices) = needs::devices() else { return };
    let mut config = ranks::flat();
    config.device.devices.clone_from(&devices);
    config.device.ack_timeout = 6 * OUTAGE;
    config.device.timeout = 6 * OUTAGE;
    ranks::run(2, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
        broadcaster.broadcast_into(Rank(1), &mut [1; 8]).unwrap();
        broadcaster.flush().unwrap();
        bootstrap.all_gather(&[]).unwrap();
        let drops = (broadcaster.rank() == Rank(0)).then(|| Drops::begin(&[EVERYTHING]));
        bootstrap.all_gather(&[]).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(OUTAGE);
                drop(drops);
            });
            let mut message = [broadcaster.rank().0 as u8; 8];
            broadcaster.broadcast_into(Rank(1), &mut message).unwrap();
            assert_eq!(message, [1; 8]);
            broadcaster.close().unwrap();
        });
    });
}

/// Rank 1 leaves first. Rank 0 hears its farewell, has none for a rank that has left, and is gone before the adapter of rank 1
/// asks again: that of rank 0 has acknowledged the farewell, which was lost.
#[test]
fn a_farewell_whose_acknowledgement_is_lost_holds_nobody_up() {
    let Some(devices) = needs::devices() else { return };
    let mut config = ranks::flat();
    config.device.devices.clone_from(&devices);
    config.device.ack_timeout = 6 * OUTAGE;
    config.device.timeout = 12 * OUTAGE;
    let _calm = Calm::begin();
    ranks::run(2, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
        broadcaster.broadcast_into(Rank(1), &mut [1; 8]).unwrap();
        broadcaster.flush().unwrap();
        bootstrap.all_gather(&[]).unwrap();
        let is_first = broadcaster.rank() == Rank(1);
        let drops = is_first.then(|| Drops::begin(&[EVERY_SECOND_ACKNOWLEDGEMENT]));
        bootstrap.all_gather(&[]).unwrap();
        if !is_first {
            thread::sleep(OUTAGE / 20);
        }
        let begun = Instant::now();
        broadcaster.close().unwrap();
        assert!(begun.elapsed() < config.device.ack_timeout, "its adapter asks until it gives up");
        drop(drops);
    });
}
