//! Which rail does what.

use super::*;
use crate::protocol::Token;
use crate::transport::notes::{Notes, token};

const NOW: Instant = Instant::ZERO;

fn rails(count: usize) -> Rails<Notes> {
    Rails::new(Notes::default(), (1..count).map(|_| Notes::default()).collect())
}

/// What each rail was asked for since that was asked last.
fn asked(rails: &mut Rails<Notes>) -> Vec<Vec<String>> {
    rails.iter_mut().map(|rail| std::mem::take(rail.asked.get_mut())).collect()
}

/// The rails that were asked for something.
fn busy(rails: &mut Rails<Notes>) -> Vec<usize> {
    let asked = asked(rails);
    (0..asked.len()).filter(|rail| !asked[*rail].is_empty()).collect()
}

fn comes(rails: &mut Rails<Notes>, rail: usize, via: Via, index: u32) {
    let buffer = Buffer { index };
    rails.get_mut(rail).arrivals.push_back(Arrival::Packet { via, buffer });
}

/// The rail of the next packet, and its number there.
fn next(rails: &mut Rails<Notes>) -> Option<(usize, u32)> {
    let Some(Arrival::Packet { buffer, .. }) = rails.poll(NOW).unwrap() else { return None };
    rails.recycle(buffer).unwrap();
    let mut all = rails.iter_mut().enumerate();
    all.find_map(|(rail, one)| Some((rail, one.recycled.pop()?)))
}

#[test]
fn all_that_is_done_with_a_slot_is_done_over_its_rail() {
    let mut rails = rails(3);
    let (header, payload) = (&[0; HEADER_LEN], || Payload::Bytes(b"x"));
    for slot in 0..7 {
        let to = Rank(4);
        rails.retain(slot, header, payload()).unwrap();
        rails.multicast_retained(slot, header, payload()).unwrap();
        rails.reliable_retained(to, slot, token()).unwrap();
        rails.fetch(to, slot, token()).unwrap();
        assert_eq!(busy(&mut rails), [slot as usize % 3]);
        assert_eq!(rails.is_idle(slot), slot == 3);
    }
}

#[test]
fn what_is_retained_nowhere_takes_turns_if_it_is_for_all() {
    let mut rails = rails(2);
    for turn in 0..4 {
        rails.multicast(&[0; HEADER_LEN], Payload::Bytes(b"x")).unwrap();
        assert_eq!(busy(&mut rails), [turn % 2]);
    }
    rails.reliable(Rank(1), &[0; HEADER_LEN], Payload::Bytes(b"x"), token()).unwrap();
    assert!(rails.report(Rank(1), Counter::Begun, 1).unwrap());
    rails.probe(Rank(1)).unwrap();
    assert_eq!(busy(&mut rails), [0]);
}

#[test]
fn there_is_room_for_as_many_as_the_fullest_rail_takes_of_each() {
    let mut rails = rails(3);
    let to = Rank(1);
    assert_eq!((rails.multicast_room(), rails.fetch_room(to)), (6, 31));
    assert_eq!((rails.reliable_room(to), rails.report_room(to), rails.notice_room()), (11, 21, 5));
    assert!(rails.is_connected(Rank(4)) && rails.is_in_reach(Rank(5)));
    assert_eq!(rails.connected(), [Rank(4)]);
    rails.get_mut(2).is_full = true;
    assert_eq!((rails.multicast_room(), rails.fetch_room(to)), (0, 0));
}

#[test]
fn packets_are_taken_from_each_rail_in_turn_and_given_back_to_their_own() {
    let mut rails = rails(2);
    for (rail, index) in [(0, 7), (0, 8), (0, 9), (1, 7)] {
        comes(&mut rails, rail, Via::Multicast, index);
    }
    let taken: Vec<_> = std::iter::from_fn(|| next(&mut rails)).collect();
    assert_eq!(taken, [(0, 7), (1, 7), (0, 8), (0, 9)]);
}

#[test]
fn what_comes_reliably_changes_no_turn() {
    let mut rails = rails(2);
    comes(&mut rails, 0, Via::Reliable, 1);
    comes(&mut rails, 0, Via::Multicast, 2);
    comes(&mut rails, 1, Via::Multicast, 3);
    assert_eq!(
        [next(&mut rails), next(&mut rails), next(&mut rails)],
        [Some((0, 1)), Some((0, 2)), Some((1, 3))]
    );
}

#[test]
fn buffers_that_were_read_are_of_the_rail_that_read() {
    let mut rails = rails(2);
    let token @ Token { .. } = token();
    let buffer = Buffer { index: 6 };
    rails.get_mut(1).arrivals.push_back(Arrival::Fetched { from: Rank(3), token, buffer });
    let Some(Arrival::Fetched { buffer, .. }) = rails.poll(NOW).unwrap() else { panic!() };
    assert!(rails.packet(&buffer, Key(1)).is_err() && rails.may_stay(&buffer));
    rails.damage(&buffer, 1);
    assert_eq!(busy(&mut rails), [1]);
    rails.recycle(buffer).unwrap();
    assert_eq!(rails.get(1).recycled, [6]);
}

fn run(first: u32, count: u32) -> Run {
    Run { op: OpId(0), source: Rank(0), first: Fragment(first), count, fragment_len: 10 }
}

#[test]
fn fragments_of_a_run_are_taken_from_each_rail_in_turn_until_one_is_missing() {
    let mut rails = rails(2);
    rails.get_mut(0).missing = vec![Fragment(4)].into();
    assert_eq!(rails.take_run(&run(0, 8), Some(&mut [0; 80])).unwrap(), 4);
    let taken = |fragment: u32| format!("take_run ({:?}, 1, Some(10))", Fragment(fragment));
    let of_first = vec![taken(0), taken(2), taken(4)];
    assert_eq!(asked(&mut rails), [of_first, vec![taken(1), taken(3)]]);
    rails.get_mut(0).missing = Vec::new().into();
    assert_eq!(rails.take_run(&run(4, 2), None).unwrap(), 2);
    assert!(asked(&mut rails).iter().all(|asked| asked.len() == 1));
}

#[test]
fn one_rail_takes_runs_as_they_are() {
    let mut rails = rails(1);
    assert_eq!(rails.take_run(&run(3, 8), None).unwrap(), 8);
    comes(&mut rails, 0, Via::Multicast, 9);
    assert_eq!(next(&mut rails), Some((0, 9)));
    assert_eq!(asked(&mut rails), [[format!("take_run ({:?}, 8, None)", Fragment(3))]]);
}

#[test]
fn the_only_fragment_of_a_message_is_looked_for_on_all_rails() {
    let mut rails = rails(3);
    rails.get_mut(0).missing = vec![Fragment(0)].into();
    rails.get_mut(1).missing = vec![Fragment(0)].into();
    assert!(rails.take_only(&run(0, 1), &mut [0; 10]).unwrap());
    rails.get_mut(2).missing = vec![Fragment(0)].into();
    assert!(!rails.take_only(&run(0, 1), &mut [0; 10]).unwrap());
}

#[test]
fn who_may_not_leave_for_one_rail_stays_and_all_are_told() {
    let mut rails = rails(3);
    assert!(rails.reserve(5, OpId(1)));
    rails.get_mut(1).is_full = true;
    assert!(!rails.reserve(5, OpId(2)));
    let told = [1, 2].map(|op| format!("reserve {:?}", (5, OpId(op)))).to_vec();
    assert_eq!(asked(&mut rails), [told.clone(), told.clone(), told]);
    rails.admit_eager(7);
    assert_eq!(busy(&mut rails), [0, 1, 2]);
}

#[test]
fn others_are_armed_only_before_the_first_sleeps() {
    let mut rails = rails(2);
    let (short, long) = (Duration::from_micros(1), Duration::from_millis(2));
    rails.park(short, long).unwrap();
    assert_eq!(busy(&mut rails), [0]);
    rails.park(long, long).unwrap();
    let asked = asked(&mut rails);
    assert!(asked[0][0].starts_with("park") && asked[1][0].starts_with("arm"), "{asked:?}");
    assert_eq!(rails.arm(long, long).unwrap(), long);
    rails.begin_wait();
    rails.end_wait();
    assert_eq!(busy(&mut rails), [0, 1]);
}
