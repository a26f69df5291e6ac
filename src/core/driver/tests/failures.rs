//! Who is asked, who is believed, and what ends a broadcast.

use super::*;

#[test]
fn whoever_is_waited_for_is_asked() {
    // With four ranks the root, rank 0, is not a neighbour of rank 2.
    let core = Window::new(Rank(2), 4, OpId(0), Config::new(10, 4)).unwrap();
    let mut driver = Driver::new(core, Notes::default(), identity(2));
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
    driver.turn(Instant::ZERO + STEP * 3, None).unwrap();
    let probed = &mut driver.transport.probed;
    probed.sort_unstable();
    probed.dedup();
    assert_eq!(*probed, [Rank(0), Rank(1), Rank(3)]);
}

#[test]
fn fetches_that_find_nothing_are_no_progress() {
    let mut driver = waiting();
    for step in 1..=10 {
        for (from, token) in std::mem::take(&mut driver.transport.fetched) {
            let buffer = driver.transport.arrives(vec![0; HEADER_LEN]);
            driver.transport.arrivals.push_back(Arrival::Fetched { from, token, buffer });
        }
        driver.turn(Instant::ZERO + STEP * step, None).unwrap();
    }
    assert!(driver.transport.recycled >= 3, "it hardly read");
    assert!(driver.transport.probed.contains(&Rank(0)));
}

/// Datagrams can be recorded and multicast again by anybody, for as long as they like.
#[test]
fn datagrams_of_before_are_no_progress() {
    let mut driver = waiting();
    receive(&mut driver, packet(0, Kind::Fragment, 0, KEY, &[9; 10])).unwrap();
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
    for step in 1..=10 {
        let buffer = driver.transport.arrives(packet(0, Kind::Fragment, 0, KEY, &[9; 10]));
        driver.transport.arrivals.push_back(Arrival::Packet { via: Via::Multicast, buffer });
        driver.turn(Instant::ZERO + STEP * step, None).unwrap();
    }
    let asked = driver.transport.probed.iter().filter(|rank| **rank == Rank(0)).count();
    assert!(asked >= 3, "{:?}", driver.transport.probed);
}

#[test]
fn a_broken_connection_is_a_failure_of_that_rank_which_all_hear_of() {
    let mut driver = waiting();
    let failure = breaks(&mut driver, 0).unwrap_err();
    assert_eq!((failure.rank, failure.kind), (Rank(0), FailureKind::Unreachable));
    assert_eq!(driver.transport.told, [Rank(2)], "all but the one that failed");
    assert_eq!(driver.turn(Instant::ZERO, None).unwrap_err().rank, Rank(0), "for good");
}

#[test]
fn an_abort_is_a_ranks_last_word() {
    let notice = notice(2, "enough");
    let mut driver = waiting();
    for packet in
        [packet(0, Kind::Fragment, 0, KEY, &[9; 10]), packet(2, Kind::Abort, 0, KEY, &notice)]
    {
        let buffer = driver.transport.arrives(packet);
        let via = Via::Multicast;
        driver.transport.arrivals.push_back(Arrival::Packet { via, buffer });
    }
    // What it waits for has come, and is acknowledged before the rest is looked at.
    assert!(driver.turn(Instant::ZERO, None).unwrap());
    driver.transport.reported.clear();
    for step in 1..20 {
        driver.turn(Instant::ZERO + STEP * step, None).unwrap_err();
    }
    // What it tells and reads after that would reach into memory that is given back.
    let Notes { told, reported, fetched, .. } = &driver.transport;
    assert_eq!(
        (&told[..], &reported[..], &fetched[..]),
        (&[Rank(0), Rank(2)][..], &[][..], &[][..])
    );
}

#[test]
fn a_rank_that_left_in_good_order_did_not_fail() {
    let mut driver = waiting();
    receive(&mut driver, packet(2, Kind::Bye, 1, KEY, &[])).unwrap();
    breaks(&mut driver, 2).unwrap();
    assert_eq!(driver.transport.told, []);
}

#[test]
fn packets_that_no_rank_sends_so_disconnect_nobody_and_end_nothing() {
    let notice = |rank| notice(rank, "forged");
    let kinds = [Kind::Ready, Kind::Bye, Kind::Connect];
    let mut forged: Vec<_> =
        kinds.iter().map(|kind| (Via::Multicast, 2, *kind, Vec::new())).collect();
    for via in [Via::Multicast, Via::Reliable] {
        for kind in (0..=u8::MAX).filter_map(Kind::from_wire) {
            let sources = [3, 1 << 31, u32::MAX];
            forged.extend(sources.iter().map(|source| (via, *source, kind, notice(0))));
        }
        forged.push((via, 0, Kind::Abort, notice(3)));
        forged.push((via, 0, Kind::Abort, b"no notice".to_vec()));
    }
    let mut driver = waiting();
    for (via, source, kind, payload) in forged {
        let bytes = packet(source, kind, 0, KEY, &payload);
        let outcome = receive_by(&mut driver, via, bytes);
        assert!(outcome.is_ok(), "{via:?} {source} {kind:?}: {outcome:?}");
    }
    assert_eq!(driver.transport.disconnected, []);
    assert_eq!(driver.transport.recycled, driver.transport.packets.len());
    receive(&mut driver, packet(2, Kind::Bye, 1, KEY, &[])).unwrap();
    assert_eq!(driver.transport.disconnected, [Rank(2)], "its own farewell");
}

/// Nothing in a packet proves who has sent it.
#[test]
fn who_knows_the_key_is_believed() {
    let mut driver = waiting();
    let forged = packet(0, Kind::Fragment, 0, KEY, &[6; 10]);
    receive_by(&mut driver, Via::Multicast, forged).unwrap();
    assert!(driver.take_complete(OpId(0)));
    assert_eq!(driver.take_message(OpId(0)).unwrap(), [6; 10]);
    let forged = packet(2, Kind::Abort, 1, KEY, &notice(2, "forged"));
    let failure = receive_by(&mut driver, Via::Multicast, forged).unwrap_err();
    assert_eq!((failure.rank, failure.kind), (Rank(2), FailureKind::GaveUp));
}

/// The last rank of a chain, which has offered no memory.
#[test]
fn who_was_offered_no_memory_is_not_believed_to_have_written() {
    let table = Table::uniform(Algorithm::Chain);
    let options = Options { table, segment: Some(30), ..Options::default() };
    let mut driver = assembled(2, OpId(0), &options);
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 60]).unwrap();
    for fragment in [0, 3] {
        let payload = Written { len: 30, crc: None }.emit();
        let header = Header {
            kind: Kind::Written,
            source: Rank(1),
            key: KEY,
            op: OpId(0),
            fragment: Fragment(fragment),
            message_len: 60,
            report: 0,
            asks: false,
        };
        receive(&mut driver, [&header.emit(&payload, true), &payload[..]].concat()).unwrap();
    }
    assert!(!driver.take_complete(OpId(0)));
}

#[test]
fn packets_of_strangers_and_damaged_ones_are_counted_and_dropped() {
    let mut driver = waiting();
    receive(&mut driver, packet(0, Kind::Fragment, 0, Key(8), &[9; 10])).unwrap();
    let mut damaged = packet(0, Kind::Fragment, 0, KEY, &[9; 10]);
    *damaged.last_mut().unwrap() ^= 1;
    receive(&mut driver, damaged).unwrap();
    let Statistics { foreign, damaged, .. } = driver.statistics();
    assert_eq!((foreign, damaged), (1, 1));
    assert!(!driver.take_complete(OpId(0)));
    receive(&mut driver, packet(0, Kind::Fragment, 0, KEY, &[9; 10])).unwrap();
    assert!(driver.take_complete(OpId(0)));
    assert_eq!(driver.take_message(OpId(0)).unwrap(), [9; 10]);
    assert_eq!(driver.transport.recycled, 3);
}
