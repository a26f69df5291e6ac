//! Roots that compute after their broadcast, on a device: whose receivers wait for them, and whose do not.

use crate::needs;
use crate::ranks;
use crate::variants;
use crate::variants::{Variant, config};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use verbcast::broadcast::Broadcaster;
use verbcast_core::rank::Rank;

const SIZE: u32 = 4;
/// Fragments that fit in the ring and in the receive queues, so that the root returns at once.
const LEN: usize = 12 * variants::FRAGMENT;
const LONGEST: Duration = Duration::from_secs(60);

/// Rank 0 broadcasts, then calls nothing until `until` says so of the number of ranks that have the
/// message; returns that number. Where the ranks are not connected yet, they connect in that broadcast.
fn away(
    variant: Variant,
    faults: &str,
    is_connected: bool,
    until: impl Fn(u32, Duration) -> bool + Sync,
) -> Option<u32> {
    let devices = needs::devices()?;
    let config = config(&devices, variant, Some(faults));
    let have = AtomicU32::new(0);
    let seen = ranks::run(SIZE, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
        if is_connected {
            broadcaster.broadcast_into(Rank(0), &mut [0_u8]).unwrap();
            broadcaster.flush().unwrap();
        }
        let sent = ranks::message(1, LEN);
        let mut seen = 0;
        if broadcaster.rank() == Rank(0) {
            broadcaster.broadcast_into(Rank(0), &mut sent.clone()).unwrap();
            let began = Instant::now();
            while !until(have.load(Ordering::SeqCst), began.elapsed()) {
                std::thread::sleep(Duration::from_millis(1));
            }
            seen = have.load(Ordering::SeqCst);
        } else {
            let mut buffer = vec![0; LEN];
            broadcaster.broadcast_into(Rank(0), &mut buffer).unwrap();
            assert!(buffer == sent);
            have.fetch_add(1, Ordering::SeqCst);
        }
        broadcaster.flush().unwrap();
        broadcaster.close().unwrap();
        seen
    });
    assert_eq!(have.into_inner(), SIZE - 1);
    Some(seen[0])
}

/// All others get the message while the root does nothing at all, whatever they lose.
fn delays_nobody(variant: Variant) {
    for faults in ["loss=0,seed=1", "loss=0.3,seed=2", "loss=1,seed=3"] {
        let everybody = |have, waited| have == SIZE - 1 || waited > LONGEST;
        let Some(have) = away(variant, faults, false, everybody) else { return };
        println!("{variant:?}, {faults}: {have} ranks had the message while the root was away");
        assert_eq!(have, SIZE - 1, "{variant:?}, {faults}");
    }
}

#[test]
fn with_pull_repair_a_root_that_computes_delays_nobody() {
    delays_nobody(&[("algorithm", "window")]);
    delays_nobody(&[("algorithm", "window"), ("co-roots", "2")]);
    delays_nobody(&[("algorithm", "aggregate"), ("acknowledge-by", "message")]);
}

#[test]
fn with_the_chain_a_root_that_computes_delays_nobody() {
    delays_nobody(&[("algorithm", "two-stage")]);
    delays_nobody(&[("algorithm", "two-stage-on-demand")]);
}

#[test]
fn with_push_repair_those_who_lost_something_wait_for_the_root() {
    let push = &[("algorithm", "window"), ("repair", "push")];
    let for_long = |_, waited| waited > Duration::from_secs(1);
    let Some(have) = away(push, "loss=1,seed=4", true, for_long) else { return };
    assert_eq!(have, 0, "only the root can send them anything");
}
