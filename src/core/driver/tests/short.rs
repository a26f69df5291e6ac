//! Messages that are there when their broadcast begins.

use super::*;
use crate::protocol::window::{Acknowledge, Repairers};

/// A driver that has ended a first broadcast of rank 0, and owes nothing for it at once.
fn rested() -> Driver<Window, Notes> {
    let (repairers, acknowledge) = (Repairers::Root, Acknowledge::Needed);
    let config = Config { repairers, acknowledge, ..Config::new(10, 64) };
    let core = Window::new(Rank(1), 3, OpId(0), config).unwrap();
    let mut driver = Driver::new(core, Notes::default(), identity(1));
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
    comes(&mut driver, 0, 9);
    driver.turn(Instant::ZERO, None).unwrap();
    assert!(driver.take_complete(OpId(0)));
    driver
}

/// A message of ten bytes comes.
fn comes(driver: &mut Driver<Window, Notes>, op: u32, byte: u8) {
    let buffer = driver.transport.arrives(packet(0, Kind::Fragment, op, KEY, &[byte; 10]));
    driver.transport.arrivals.push_back(Arrival::Packet { via: Via::Multicast, buffer });
}

fn take(driver: &mut Driver<Window, Notes>, message: &mut [u8]) -> Option<OpId> {
    assert!(driver.is_short(Instant::ZERO, Rank(0), message.len()));
    driver.take_short((Instant::ZERO, Instant::ZERO), Rank(0), message).unwrap()
}

#[test]
fn a_message_that_is_there_is_taken_without_a_turn() {
    let mut driver = rested();
    let (before, submitted) = (driver.statistics(), driver.transport.submitted);
    for op in 1..4_u8 {
        comes(&mut driver, op.into(), op);
        let mut message = [0; 10];
        assert_eq!(take(&mut driver, &mut message), Some(OpId(op.into())));
        assert_eq!(message, [op; 10]);
    }
    assert_eq!(driver.core.next_op(), OpId(4));
    assert_eq!(driver.transport.submitted, submitted);
    assert_eq!(driver.transport.recycled, 4);
    let after = driver.statistics();
    assert_eq!((after.operations - before.operations, after.short - before.short), (3, 3));
    assert_eq!(after.multicast_received - before.multicast_received, 3);
    // The report that they are here is told by the timer.
    assert!(driver.next_timeout().is_some());
    driver.turn(Instant::ZERO + STEP, None).unwrap();
    assert_eq!(driver.transport.reported, [Rank(0)]);
}

#[test]
fn a_report_that_is_there_at_once_leaves_nothing_to_wait_for() {
    for tells_at_once in [true, false] {
        let mut driver = rested();
        driver.transport.tells_at_once = tells_at_once;
        driver.flush(Instant::ZERO);
        driver.turn(Instant::ZERO, None).unwrap();
        assert_eq!(driver.transport.reported, [Rank(0)]);
        assert_eq!(driver.is_quiescent(), tells_at_once);
    }
}

#[test]
fn a_message_that_the_transport_has_copied_is_taken_too() {
    let mut driver = rested();
    let (recycled, polls) = (driver.transport.recycled, driver.transport.polls);
    driver.transport.has_only = true;
    let mut message = [0; 10];
    assert_eq!(take(&mut driver, &mut message), Some(OpId(1)));
    assert_eq!((message, driver.core.next_op()), ([1; 10], OpId(2)));
    assert_eq!((driver.transport.recycled, driver.transport.polls), (recycled, polls));
    assert_eq!(take(&mut driver, &mut message), None, "the next one is not here");
}

#[test]
fn what_comes_instead_is_left_to_the_next_turn() {
    // Of the broadcast after the next, so the next one's message is lost or late.
    let mut driver = rested();
    comes(&mut driver, 2, 2);
    comes(&mut driver, 1, 1);
    assert_eq!(take(&mut driver, &mut [0; 10]), None);
    assert!(!driver.is_short(Instant::ZERO, Rank(0), 10));
    let op = driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
    driver.turn(Instant::ZERO, None).unwrap();
    assert!(driver.take_complete(op));
    assert_eq!(driver.take_message(op).unwrap(), [1; 10]);
}

/// A driver that has ended a second broadcast, and keeps the packets of these operations.
fn with_kept(kept: &[Vec<u8>]) -> Driver<Window, Notes> {
    let mut driver = rested();
    for packet in kept {
        let buffer = driver.transport.arrives(packet.clone());
        driver.transport.arrivals.push_back(Arrival::Packet { via: Via::Multicast, buffer });
    }
    comes(&mut driver, 1, 1);
    let op = driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
    driver.turn(Instant::ZERO, None).unwrap();
    assert!(driver.take_complete(op));
    driver
}

fn message_of(op: u32) -> Vec<u8> {
    packet(0, Kind::Fragment, op, KEY, &[op as u8; 10])
}

#[test]
fn what_was_kept_is_taken_without_a_turn_too() {
    let mut driver = with_kept(&[2, 3, 5].map(message_of));
    let (before, polls) = (driver.statistics(), driver.transport.polls);
    for op in 2..4_u8 {
        let mut message = [0; 10];
        assert_eq!(take(&mut driver, &mut message), Some(OpId(op.into())));
        assert_eq!(message, [op; 10]);
    }
    let after = driver.statistics();
    assert_eq!((after.short - before.short, driver.transport.polls), (2, polls));
    assert_eq!(after.multicast_received - before.multicast_received, 2);
    // What is kept is of a later one.
    comes(&mut driver, 4, 4);
    let mut message = [0; 10];
    assert_eq!(take(&mut driver, &mut message), Some(OpId(4)));
    assert_eq!(take(&mut driver, &mut message), Some(OpId(5)));
    assert_eq!((message, driver.transport.recycled), ([5; 10], 6));
}

#[test]
fn what_is_kept_in_front_of_the_message_is_left_to_the_next_turn() {
    // A second copy of a message, and one that was overtaken.
    for kept in [&[2, 2, 3][..], &[3, 2]] {
        let packets: Vec<_> = kept.iter().copied().map(message_of).collect();
        let mut driver = with_kept(&packets);
        let mut message = [0; 10];
        if kept[1] == 2 && kept[0] == 2 {
            assert_eq!(take(&mut driver, &mut message), Some(OpId(2)));
        }
        let next = driver.core.next_op();
        assert_eq!(take(&mut driver, &mut message), None, "{kept:?}");
        assert!(!driver.is_short(Instant::ZERO, Rank(0), 10));
        let op = driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
        driver.turn(Instant::ZERO, None).unwrap();
        assert!(driver.take_complete(op));
        assert_eq!((op, driver.take_message(op).unwrap()), (next, vec![next.0 as u8; 10]));
    }
}

#[test]
fn a_kept_message_that_asks_is_left_to_the_next_turn() {
    let payload = [2; 10];
    let asks =
        Header { asks: true, ..Packet::parse(&message_of(2), KEY).map(|it| *it.header()).unwrap() };
    let mut driver = with_kept(&[[&asks.emit(&payload, true)[..], &payload].concat()]);
    assert_eq!(take(&mut driver, &mut [0; 10]), None);
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
    driver.turn(Instant::ZERO, None).unwrap();
    assert_eq!(driver.transport.reported, [Rank(0)]);
}

#[test]
fn a_message_of_another_length_is_not_taken() {
    let mut driver = rested();
    comes(&mut driver, 1, 1);
    let mut message = [0; 9];
    assert_eq!(take(&mut driver, &mut message), None);
    assert_eq!(message, [0; 9]);
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 9]).unwrap();
    let failure = driver.turn(Instant::ZERO, None).unwrap_err();
    assert!(failure.reason.contains("10 bytes"), "{failure:?}");
}

#[test]
fn where_there_is_something_else_to_do_no_message_is_short() {
    let is_short =
        |driver: &Driver<Window, Notes>, at| driver.is_short(Instant::ZERO + at, Rank(0), 10);
    assert!(is_short(&rested(), Duration::ZERO));
    // A timer is due.
    assert!(!is_short(&rested(), STEP));
    // Mates wait for what this rank hands on.
    let mut driver = rested();
    driver.transport.has_mates = true;
    assert!(!is_short(&driver, Duration::ZERO));
    // This rank is the root, no rank has that number, or the message has two fragments.
    let driver = rested();
    let of = |root, len| driver.is_short(Instant::ZERO, Rank(root), len);
    assert_eq!((of(1, 10), of(3, 10), of(0, 11)), (false, false, false));
    // Another is in flight.
    let mut driver = rested();
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
    driver.turn(Instant::ZERO, None).unwrap();
    assert!(!is_short(&driver, Duration::ZERO));
    // It has a question of its own to send, and no room for it (a root does not ask with every message).
    let mut driver = rested();
    driver.turn(Instant::ZERO + STEP, None).unwrap();
    for _ in 0..8 {
        let op = driver.start_owned(Instant::ZERO + STEP, Rank(1), vec![0; 10]).unwrap();
        driver.turn(Instant::ZERO + STEP, None).unwrap();
        assert!(driver.take_complete(op));
    }
    assert!(is_short(&driver, STEP));
    driver.transport.is_congested = true;
    driver.flush(Instant::ZERO + STEP);
    driver.turn(Instant::ZERO + STEP, None).unwrap();
    assert!(!is_short(&driver, STEP));
    // This rank has failed.
    let mut driver = rested();
    driver.abort("enough");
    assert!(!is_short(&driver, Duration::ZERO));
}

#[test]
fn what_comes_behind_the_last_that_is_needed_waits_in_the_transport() {
    for has_mates in [false, true] {
        let mut driver = rested();
        driver.transport.has_mates = has_mates;
        let op = driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
        (1..4).for_each(|op| comes(&mut driver, op.into(), op));
        driver.turn(Instant::ZERO, None).unwrap();
        assert!(driver.take_complete(op));
        assert_eq!(driver.transport.arrivals.len(), if has_mates { 0 } else { 2 });
        assert_eq!(driver.most_kept(), if has_mates { 2 } else { 0 });
    }
}

#[test]
fn where_others_still_send_something_no_message_is_short() {
    let rows = "ranks any bytes <= 50 window\nranks any bytes any two-stage\n";
    let options = Options { table: rows.parse().unwrap(), ..Options::default() };
    let mut driver = assembled_with_ring(64, 1, OpId(0), &options);
    let op = driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
    receive_by(&mut driver, Via::Multicast, packet(0, Kind::Fragment, 0, KEY, &[1; 10])).unwrap();
    assert!(driver.take_complete(op));
    assert!(driver.is_short(Instant::ZERO, Rank(0), 10));
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 100]).unwrap();
    driver.turn(Instant::ZERO, None).unwrap();
    assert!(!driver.is_short(Instant::ZERO, Rank(0), 10));
}

/// A driver whose own broadcasts are short: it has ended a first one.
fn rested_root() -> Driver<Window, Notes> {
    let (repairers, acknowledge) = (Repairers::Root, Acknowledge::Needed);
    let config = Config { repairers, acknowledge, ..Config::new(10, 64) };
    let core = Window::new(Rank(0), 3, OpId(0), config).unwrap();
    let mut driver = Driver::new(core, Notes::default(), identity(0));
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
    while driver.turn(Instant::ZERO, None).unwrap() {}
    assert!(driver.take_complete(OpId(0)));
    driver
}

#[test]
fn a_root_multicasts_what_is_short_without_a_turn_and_looks_now_and_then() {
    let mut driver = rested_root();
    let (before, submitted) = (driver.statistics(), driver.transport.submitted);
    let polls = driver.transport.polls;
    let sent: Vec<_> =
        (0..20).map_while(|_| driver.send_short(Instant::ZERO, &[7; 10]).unwrap()).collect();
    assert_eq!(sent, (1..17).map(OpId).collect::<Vec<_>>());
    assert_eq!(driver.core.next_op(), OpId(17));
    let after = driver.statistics();
    assert_eq!((after.operations - before.operations, after.short - before.short), (16, 16));
    assert_eq!(after.multicast_sent - before.multicast_sent, 16);
    assert_eq!((driver.transport.submitted - submitted, driver.transport.polls - polls), (16, 0));
    assert!(driver.transport.expects_reports && !driver.is_quiescent());
    // Once it has looked, others are short again.
    driver.turn(Instant::ZERO, None).unwrap();
    assert_eq!(driver.send_short(Instant::ZERO, &[7; 10]), Ok(Some(OpId(17))));
}

#[test]
fn a_root_that_has_not_looked_for_long_does_so_first() {
    let mut driver = rested_root();
    assert!(driver.send_short(Instant::ZERO, &[7; 10]).unwrap().is_some());
    assert_eq!(driver.send_short(Instant::ZERO + STEP, &[7; 10]), Ok(None));
}

#[test]
fn a_root_that_mates_wait_for_sends_to_them_too() {
    let mut driver = rested_root();
    driver.transport.has_mates = true;
    assert!(driver.send_short(Instant::ZERO, &[7; 10]).unwrap().is_some());
}

#[test]
fn what_a_root_cannot_multicast_at_once_is_begun() {
    let mut driver = rested_root();
    assert_eq!(driver.send_short(Instant::ZERO, &[7; 11]), Ok(None), "it has two fragments");
    driver.transport.is_congested = true;
    assert_eq!(driver.send_short(Instant::ZERO, &[7; 10]), Ok(None), "there is no room");
    driver.transport.is_congested = false;
    let op = driver.start_owned(Instant::ZERO, Rank(0), vec![7; 10]).unwrap();
    assert_eq!(driver.send_short(Instant::ZERO, &[7; 10]), Ok(None), "another one is begun");
    driver.turn(Instant::ZERO, None).unwrap();
    assert!(driver.take_complete(op));
    driver.abort("enough");
    assert_eq!(driver.send_short(Instant::ZERO, &[7; 10]), Ok(None), "it has failed");
}
