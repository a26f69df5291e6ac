//! What comes before its call, and what is waited for at the end.

use super::*;

#[test]
fn what_is_early_waits_for_its_call() {
    let mut driver = waiting();
    receive(&mut driver, packet(0, Kind::Fragment, 1, KEY, &[5; 10])).unwrap();
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
    driver.turn(Instant::ZERO, None).unwrap();
    assert!(driver.take_complete(OpId(1)));
    assert_eq!(driver.take_message(OpId(1)).unwrap(), [5; 10]);
}

#[test]
fn what_is_early_stays_in_its_buffer_while_that_can_be_spared() {
    for is_scarce in [false, true] {
        let mut driver = waiting();
        driver.transport.is_scarce = is_scarce;
        let early = packet(0, Kind::Fragment, 1, KEY, &[5; 10]);
        receive_by(&mut driver, Via::Multicast, early).unwrap();
        assert_eq!(driver.transport.recycled, usize::from(is_scarce), "{is_scarce}");
        driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
        driver.turn(Instant::ZERO, None).unwrap();
        assert_eq!(driver.take_message(OpId(1)).unwrap(), [5; 10]);
        assert_eq!(driver.transport.recycled, 1);
    }
}

#[test]
fn nothing_completes_before_those_who_may_read_are_connected() {
    let mut driver = waiting();
    driver.transport.is_slow = true;
    receive(&mut driver, packet(0, Kind::Fragment, 0, KEY, &[9; 10])).unwrap();
    assert_eq!(driver.transport.connecting, [Rank(0)]);
    assert!(!driver.take_complete(OpId(0)) && !driver.is_quiescent());
    driver.transport.connecting.clear();
    driver.turn(Instant::ZERO, None).unwrap();
    assert!(driver.take_complete(OpId(0)));
}

#[test]
fn nobody_leaves_more_to_come_than_the_transport_has_receives_for() {
    let config = two_stage::Config {
        fragment_len: 10,
        run_ahead: 4,
        in_flight: 4,
        absorbed: 4,
        eager: 100,
        synchronisation: two_stage::Synchronisation::None,
        multicast: true,
    };
    let core = TwoStage::new(Rank(1), 3, OpId(0), config).unwrap();
    let mut driver = Driver::new(core, Notes::default(), identity(1));
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
    driver.transport.is_full = true;
    assert!(!driver.take_complete(OpId(0)));
    assert_eq!(driver.transport.reserved, None, "it does not leave yet");
    let fragment = packet(0, Kind::Fragment, 0, KEY, &[9; 10]);
    receive_by(&mut driver, Via::Multicast, fragment.clone()).unwrap();
    assert!(!driver.take_complete(OpId(0)));
    assert_eq!(driver.transport.reserved, Some((1, OpId(1))));
    receive(&mut driver, fragment).unwrap();
    driver.transport.is_full = false;
    assert!(driver.take_complete(OpId(0)));
    assert_eq!(driver.transport.reserved, Some((0, OpId(1))));
}

#[test]
fn who_left_is_not_waited_for() {
    let core = Window::new(Rank(0), 3, OpId(0), Config::new(10, 4)).unwrap();
    let transport = Notes { is_slow: true, ..Notes::default() };
    let mut driver = Driver::new(core, transport, identity(0));
    driver.start_owned(Instant::ZERO, Rank(0), vec![7; 10]).unwrap();
    driver.turn(Instant::ZERO, None).unwrap();
    assert_eq!(driver.transport.connecting, [Rank(1), Rank(2)]);
    assert!(!driver.take_complete(OpId(0)));
    // Who left needs nothing more.
    receive(&mut driver, packet(1, Kind::Bye, 1, KEY, &[])).unwrap();
    receive(&mut driver, packet(2, Kind::Bye, 1, KEY, &[])).unwrap();
    assert!(driver.take_complete(OpId(0)));
}
