//! Fragments that the transport takes together.

use super::*;

/// A fragment of ten bytes of a message of 5000.
fn fragment(number: u32) -> Vec<u8> {
    let header = Header {
        kind: Kind::Fragment,
        source: Rank(0),
        key: KEY,
        op: OpId(0),
        fragment: Fragment(number),
        message_len: 5000,
        report: 0,
        asks: false,
    };
    [&header.emit(&[9; 10], true), &[9; 10][..]].concat()
}

#[test]
fn fragments_in_order_are_taken_from_the_transport_together() {
    let core = Window::new(Rank(1), 3, OpId(0), Config::new(10, 4096)).unwrap();
    let mut driver = Driver::new(core, Notes::default(), identity(1));
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 5000]).unwrap();
    driver.transport.in_order = 300;
    receive_by(&mut driver, Via::Multicast, fragment(0)).unwrap();
    // So that a flood cannot keep a turn from ending.
    assert_eq!(driver.transport.runs, [(Fragment(1), 255)]);
    assert_eq!(driver.statistics().multicast_received, 256);
    // In the next turn a pause is seen before more is taken together.
    driver.turn(Instant::ZERO + STEP, None).unwrap();
    assert_eq!(driver.transport.runs.len(), 1);
    for number in 256..500 {
        receive(&mut driver, fragment(number)).unwrap();
    }
    assert!(driver.take_complete(OpId(0)));
    let message = driver.take_message(OpId(0)).unwrap();
    let expected = [&[9; 10][..], &[7; 2550], &[9; 2440]].concat();
    assert!(message == expected);
}
