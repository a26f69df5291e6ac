//! Requests over connections that the wire loses with nothing behind them.

use crate::calm::Calm;
use crate::drops::Drops;
use crate::needs;
use crate::ranks;
use std::time::{Duration, Instant};
use verbcast::bootstrap::Bootstrap;
use verbcast::broadcast::Broadcaster;
use verbcast::{Algorithm, Rank, Table};

/// Every second message over connections (RC SEND Only, opcode 0x04), the first among them.
const MESSAGES: &str = "protocol ip u32 match u8 0x04 0xff at 28 action drop random determ ok 2";
/// Every third answer to a read of no more than a packet (RC RDMA READ response Only, opcode 0x10).
const ANSWERS: &str = "protocol ip u32 match u8 0x10 0xff at 28 action ok random determ drop 3";
/// All datagrams (UD SEND Only, 0x64), by multicast too.
const DATAGRAMS: &str = "protocol ip u32 match u8 0x64 0xff at 28 action drop";
/// An adapter asks again by itself after an eighth of that or more.
const PATIENCE: Duration = Duration::from_secs(30);

/// A message of one packet is all that rank 0 sends to rank 1: when it is lost, no later packet tells the adapters.
#[test]
fn a_message_that_is_lost_at_the_end_of_a_queue_is_sent_again_soon() {
    a_broadcast_takes_less_than_an_adapters_timer(Algorithm::Binomial, &[MESSAGES]);
}

/// Rank 1 gets no datagram of rank 0 and reads what was broadcast: a header, a payload, and the header again, whose answer is
/// lost.
#[test]
fn a_read_whose_answer_is_lost_at_the_end_of_a_queue_is_asked_for_again_soon() {
    a_broadcast_takes_less_than_an_adapters_timer(Algorithm::Window, &[DATAGRAMS, ANSWERS]);
}

/// A broadcast from rank 0 to rank 1, which gets only some of its packets.
fn a_broadcast_takes_less_than_an_adapters_timer(algorithm: Algorithm, dropped: &[&str]) {
    let Some(devices) = needs::devices() else { return };
    let mut config = ranks::flat();
    config.device.devices.clone_from(&devices);
    config.device.ack_timeout = PATIENCE;
    config.device.timeout = 4 * PATIENCE;
    config.protocol.table = Table::uniform(algorithm);
    // What loses a second packet of a tail has to wait for the timer.
    let _calm = Calm::begin();
    ranks::run(2, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
        broadcaster.broadcast_into(Rank(0), &mut [1; 8]).unwrap();
        broadcaster.flush().unwrap();
        bootstrap.all_gather(&[]).unwrap();
        let is_leaf = broadcaster.rank() == Rank(1);
        let drops = is_leaf.then(|| Drops::begin(dropped));
        bootstrap.all_gather(&[]).unwrap();
        let begun = Instant::now();
        let mut message = [broadcaster.rank().0 as u8; 8];
        broadcaster.broadcast_into(Rank(0), &mut message).unwrap();
        assert_eq!(message, [0; 8]);
        if algorithm == Algorithm::Window {
            // Its root does nothing until it is read, and so does not send again by itself.
            bootstrap.all_gather(&[]).unwrap();
        }
        broadcaster.flush().unwrap();
        assert!(begun.elapsed() < PATIENCE / 8, "{:?}", begun.elapsed());
        bootstrap.all_gather(&[]).unwrap();
        drop(drops);
        broadcaster.close().unwrap();
    });
}
