//! Ranks that leave while the wire to one of them carries nothing.

use crate::needs;
use crate::ranks;
use std::process::Command;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;
use verbcast::broadcast::{Broadcaster, Config};
use verbcast_core::rank::Rank;

/// Longer than a rank that leaves stays for what it may leave undone.
const OUTAGE: Duration = Duration::from_secs(5);

/// Nothing comes to the second NIC, as long as this is there; what it sends gets through.
struct Silence;

fn tc(arguments: &str) {
    let status = Command::new("tc").args(arguments.split(' ')).status().unwrap();
    assert!(status.success(), "tc {arguments}");
}

impl Silence {
    fn begin() -> Silence {
        tc("qdisc add dev p2 clsact");
        let silence = Silence;
        tc("filter add dev p2 egress matchall action drop");
        silence
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        tc("qdisc del dev p2 clsact");
    }
}

/// Rank 1 broadcasts, and hears neither that rank 0 has the message nor that it leaves, until the wire carries that again.
/// If rank 0 were gone by then, rank 1 would take it for dead.
#[test]
fn who_leaves_stays_until_its_farewell_has_arrived() {
    let Some(devices) = needs::devices() else { return };
    let mut config = Config::default();
    config.device.devices.clone_from(&devices);
    config.device.ack_timeout = 6 * OUTAGE;
    config.device.timeout = 6 * OUTAGE;
    let together = Barrier::new(3);
    thread::scope(|scope| {
        let wire = scope.spawn(|| {
            together.wait();
            let silence = Silence::begin();
            together.wait();
            thread::sleep(OUTAGE);
            drop(silence);
        });
        ranks::run(2, |bootstrap| {
            let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
            broadcaster.broadcast_into(Rank(1), &mut [1; 8]).unwrap();
            broadcaster.flush().unwrap();
            together.wait();
            together.wait();
            let mut message = [broadcaster.rank().0 as u8; 8];
            broadcaster.broadcast_into(Rank(1), &mut message).unwrap();
            assert_eq!(message, [1; 8]);
            broadcaster.close().unwrap();
        });
        wire.join().unwrap();
    });
}
