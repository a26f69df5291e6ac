//! Requests over connections that the wire loses with nothing behind them.

use crate::drops::Drops;
use crate::needs;
use crate::ranks;
use std::time::{Duration, Instant};
use verbcast::bootstrap::Bootstrap;
use verbcast::broadcast::{Broadcaster, Config};
use verbcast::{Algorithm, Rank, Table};

/// Messages over connections (RC SEND Only, opcode 0x04) by turns, the first among them: each that is lost comes when it is sent
/// again.
const DROPPED: &str = "protocol ip u32 match u8 0x04 0xff at 28 action drop random determ ok 2";
/// An adapter asks again after an eighth of that by itself (rxe: after more than a quarter).
const PATIENCE: Duration = Duration::from_secs(30);

/// A message of one packet is all that rank 0 sends to rank 1: when it is lost, no later packet tells the adapters.
#[test]
fn what_is_lost_at_the_end_of_a_queue_is_asked_for_again_soon() {
    let Some(devices) = needs::devices() else { return };
    let mut config = Config::default();
    config.device.devices.clone_from(&devices);
    config.device.ack_timeout = PATIENCE;
    config.device.timeout = 4 * PATIENCE;
    config.protocol.table = Table::uniform(Algorithm::Binomial);
    ranks::run(2, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
        broadcaster.broadcast_into(Rank(0), &mut [1; 8]).unwrap();
        broadcaster.flush().unwrap();
        bootstrap.all_gather(&[]).unwrap();
        let is_leaf = broadcaster.rank() == Rank(1);
        let drops = is_leaf.then(|| Drops::begin(&[DROPPED]));
        bootstrap.all_gather(&[]).unwrap();
        let begun = Instant::now();
        let mut message = [broadcaster.rank().0 as u8; 8];
        broadcaster.broadcast_into(Rank(0), &mut message).unwrap();
        assert_eq!(message, [0; 8]);
        assert!(begun.elapsed() < PATIENCE / 8, "{:?}", begun.elapsed());
        broadcaster.flush().unwrap();
        bootstrap.all_gather(&[]).unwrap();
        drop(drops);
        broadcaster.close().unwrap();
    });
}
