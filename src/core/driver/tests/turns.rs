//! What a turn does, and when there is one.

use super::*;

#[test]
fn what_is_sent_goes_out_by_the_end_of_a_turn_and_of_a_failure() {
    let core = Window::new(Rank(1), 3, OpId(0), Config::new(10, 4)).unwrap();
    let mut driver = Driver::new(core, Notes::default(), identity(1));
    driver.start_owned(Instant::ZERO, Rank(1), vec![0; 10]).unwrap();
    driver.turn(Instant::ZERO, None).unwrap();
    assert_eq!((driver.statistics().multicast_sent, driver.transport.waiting), (1, 0));
    driver.abort("enough");
    assert_eq!((driver.transport.told.len(), driver.transport.waiting), (2, 0));
}

#[test]
fn a_turn_that_has_nothing_to_do_asks_for_nothing_until_it_is_time() {
    let mut driver = waiting();
    driver.turn(Instant::ZERO, None).unwrap();
    let (submitted, due) = (driver.transport.submitted, driver.next_timeout().unwrap());
    for _ in 0..10 {
        assert!(!driver.turn(Instant::ZERO, None).unwrap());
    }
    assert_eq!(driver.transport.submitted, submitted);
    assert!(driver.turn(due, None).unwrap());
    assert_eq!(driver.transport.fetched.len(), 1, "its timer was for that");
}

#[test]
fn a_transport_is_not_polled_while_it_knows_that_there_is_nothing() {
    let mut driver = waiting();
    driver.transport.knows_quiet = true;
    driver.turn(Instant::ZERO, None).unwrap();
    let (polls, due) = (driver.transport.polls, driver.next_timeout().unwrap());
    assert!(polls > 0, "what has begun is not at rest");
    for _ in 0..10 {
        assert!(!driver.turn(Instant::ZERO, None).unwrap());
    }
    assert_eq!(driver.transport.polls, polls);
    assert!(driver.turn(due, None).unwrap(), "its timer");
    receive(&mut driver, packet(0, Kind::Fragment, 0, KEY, &[9; 10])).unwrap();
    assert!(driver.take_complete(OpId(0)), "what comes is taken");
    driver.abort("enough");
    driver.turn(Instant::ZERO, None).unwrap_err();
}

#[test]
fn a_turn_that_has_worked_leaves_nothing_to_ask_for() {
    let mut driver = waiting();
    driver.transport.knows_quiet = true;
    assert!(receive(&mut driver, packet(0, Kind::Fragment, 0, KEY, &[9; 10])).unwrap());
    let polls = driver.transport.polls;
    assert!(!driver.turn(Instant::ZERO, None).unwrap());
    assert_eq!(driver.transport.polls, polls);
}

#[test]
fn what_was_kept_is_taken_when_its_broadcast_begins_in_a_turn() {
    let table = "ranks any bytes <= 5 window\nranks any bytes any two-stage\n".parse().unwrap();
    let mut driver = assembled(1, OpId(0), &Options { table, ..Options::default() });
    driver.transport.knows_quiet = true;
    // A two-stage broadcast begins when this rank owes nothing for earlier ones of the window.
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 5]).unwrap();
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
    for (op, payload) in [(1, &[7; 10][..]), (0, &[9; 5])] {
        let packet = packet(0, Kind::Fragment, op, KEY, payload);
        receive_by(&mut driver, Via::Multicast, packet).unwrap();
    }
    assert_eq!(driver.statistics().multicast_received, 1, "it waits");
    driver.turn(Instant::ZERO, None).unwrap();
    assert_eq!(driver.statistics().multicast_received, 2);
}

#[test]
fn reports_are_looked_for_while_something_is_kept_for_others() {
    let core = Window::new(Rank(1), 3, OpId(0), Config::new(10, 4)).unwrap();
    let mut driver = Driver::new(core, Notes::default(), identity(1));
    let (now, counter) = (Instant::ZERO, Counter::Acknowledged);
    driver.start_owned(now, Rank(0), vec![0; 10]).unwrap();
    receive(&mut driver, packet(0, Kind::Fragment, 0, KEY, &[9; 10])).unwrap();
    assert!(!driver.transport.expects_reports, "nobody tells a leaf anything");
    driver.start_owned(now, Rank(1), vec![0; 10]).unwrap();
    driver.turn(now, None).unwrap();
    assert!(driver.transport.expects_reports);
    let have = Seq(2);
    let value = Report { have, credit: have, lost: 0 }.emit();
    for from in [0, 2].map(Rank) {
        assert!(driver.transport.expects_reports, "{from} has not told");
        driver.transport.arrivals.push_back(Arrival::Reported { from, counter, value });
        driver.turn(now, None).unwrap();
    }
    assert!(!driver.transport.expects_reports);
}

#[test]
fn what_there_was_no_room_for_is_sent_once_there_is() {
    let core = Window::new(Rank(1), 3, OpId(0), Config::new(10, 4)).unwrap();
    let transport = Notes { is_congested: true, ..Notes::default() };
    let mut driver = Driver::new(core, transport, identity(1));
    driver.start_owned(Instant::ZERO, Rank(1), vec![0; 10]).unwrap();
    for _ in 0..3 {
        assert!(!driver.turn(Instant::ZERO, None).unwrap());
    }
    driver.transport.is_congested = false;
    assert!(driver.turn(Instant::ZERO, None).unwrap());
    assert_eq!(driver.statistics().multicast_sent, 1);
}

#[test]
fn answers_are_no_progress() {
    let mut driver = waiting();
    for step in 1..=10 {
        driver.transport.arrivals.push_back(Arrival::Alive { peer: Rank(0) });
        driver.turn(Instant::ZERO + STEP * step, None).unwrap();
    }
    let asked = driver.transport.probed.iter().filter(|rank| **rank == Rank(0)).count();
    assert!(asked >= 3, "{:?}", driver.transport.probed);
}
