//! What a rank still hears when it has failed or left.

use super::*;

/// A notice comes while a rank lingers.
fn hears(driver: &mut Driver<Window, Notes>, of: u32, reason: &str) {
    let word = packet(2, Kind::Abort, 0, KEY, &notice(of, reason));
    let buffer = driver.transport.arrives(word);
    driver.transport.arrivals.push_back(Arrival::Packet { via: Via::Reliable, buffer });
    assert!(driver.linger(Instant::ZERO));
}

fn said(driver: &Driver<Window, Notes>) -> Option<(u32, &str)> {
    driver.failure().map(|failure| (failure.rank.0, failure.reason.as_str()))
}

#[test]
fn ranks_that_notice_a_failure_at_once_come_to_say_the_same() {
    let mut driver = waiting();
    driver.abort("enough");
    hears(&mut driver, 2, "later");
    assert_eq!(said(&driver), Some((1, "enough")), "rank 2 hears that, and says it too");
    hears(&mut driver, 0, "gone");
    hears(&mut driver, 0, "away");
    hears(&mut driver, 0, "gone");
    hears(&mut driver, 3, "of no rank");
    assert_eq!(said(&driver), Some((0, "away")));
    assert_eq!(driver.turn(Instant::ZERO, None).unwrap_err().reason, "away");
}

#[test]
fn who_has_left_hears_of_no_failure() {
    let mut driver = Driver::new(waiting().core, Notes::default(), identity(1));
    driver.depart().unwrap();
    hears(&mut driver, 0, "gone");
    assert_eq!(said(&driver), None);
}
