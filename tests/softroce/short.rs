//! Short messages, whose broadcasts are over without being begun: where they are there when it is called, and at their root.

use crate::variants::{Variant, config};
use crate::{needs, ranks};
use std::thread::sleep;
use std::time::Duration;
use verbcast::bootstrap::Bootstrap;
use verbcast::broadcast::Broadcaster;
use verbcast_core::rank::Rank;

/// Until what was sent has come.
const PAUSE: Duration = Duration::from_millis(500);
const ROOT: Rank = Rank(0);
/// So many that the root asks for acknowledgements seldom.
const WARM_UP: u8 = 200;
const COUNTED: u8 = 16;
/// No acknowledgement falls due by its timer.
const WINDOW: Variant = &[("algorithm", "window"), ("acknowledge-after", "10000000")];

/// Broadcasts of eight bytes, each other ones.
fn broadcast(broadcaster: &mut Broadcaster, count: u8) {
    for number in 0..count {
        let mut message = [number; 8];
        if broadcaster.rank() != ROOT {
            message.fill(0xee);
        }
        broadcaster.broadcast_into(ROOT, &mut message).unwrap();
        assert_eq!(message, [number; 8]);
    }
}

#[test]
fn short_messages_are_sent_and_taken_without_beginning_their_broadcasts() {
    let Some(devices) = needs::devices() else { return };
    let config = config(&devices, WINDOW, None);
    let counted = ranks::run(3, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
        broadcast(&mut broadcaster, WARM_UP);
        broadcaster.flush().unwrap();
        bootstrap.all_gather(&[]).unwrap();
        let before = broadcaster.statistics();
        if broadcaster.rank() == ROOT {
            broadcast(&mut broadcaster, COUNTED);
            sleep(PAUSE);
        }
        bootstrap.all_gather(&[]).unwrap();
        if broadcaster.rank() != ROOT {
            broadcast(&mut broadcaster, COUNTED);
        }
        let counted = broadcaster.statistics().since(before);
        broadcaster.flush().unwrap();
        // The next broadcast still finds its own message.
        broadcast(&mut broadcaster, 1);
        broadcaster.close().unwrap();
        (bootstrap.rank(), counted.operations, counted.short)
    });
    for (rank, operations, short) in counted {
        assert_eq!(operations, u64::from(COUNTED), "{rank}");
        // The root may ask once or twice, and a report is owed then, but it never is for most. It begins one now and then.
        assert!((10..=u64::from(COUNTED)).contains(&short), "{rank}: {short} of {operations}");
    }
}
