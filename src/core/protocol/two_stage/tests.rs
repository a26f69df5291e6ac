//! One test per rule of the protocol, at a single rank.

use super::*;
use std::time::Duration;

struct Plenty;

impl Room for Plenty {
    fn multicast_room(&self) -> usize {
        100
    }

    fn reliable_room(&self, _to: Rank) -> usize {
        100
    }

    fn report_room(&self, _to: Rank) -> usize {
        100
    }

    fn fetch_room(&self, _from: Rank) -> usize {
        100
    }

    fn is_idle(&self, _slot: u32) -> bool {
        true
    }
}

const NOW: Instant = Instant::ZERO;
const LEN: u64 = 25;
const TOKEN: Token = Token { kind: Kind::Fragment, op: OpId(0), fragment: Fragment(0) };

fn config() -> Config {
    Config {
        fragment_len: 10,
        run_ahead: 8,
        in_flight: 4,
        absorbed: 100,
        eager: 100,
        synchronisation: Synchronisation::None,
        multicast: true,
    }
}

fn core(me: u32, config: Config) -> TwoStage {
    TwoStage::new(Rank(me), 4, OpId(0), config).unwrap()
}

/// What a core wants sent, as (target, fragment).
fn sent(core: &mut TwoStage) -> Vec<(Target, u32)> {
    std::iter::from_fn(|| core.poll_transmit(&Plenty))
        .map(|transmit| {
            let Transmit::Send { target, piece, .. } = transmit else { panic!("{transmit:?}") };
            assert_eq!(piece.kind, Kind::Fragment);
            (target, piece.fragment.0)
        })
        .collect()
}

fn events(core: &mut TwoStage) -> Vec<Event> {
    std::iter::from_fn(|| core.poll_event()).collect()
}

fn fragment(via: Via, source: u32, op: u32, fragment: u32) -> Incoming {
    Incoming {
        via,
        source: Rank(source),
        kind: Kind::Fragment,
        op: OpId(op),
        fragment: Fragment(fragment),
        message_len: LEN,
        payload_len: if fragment == 2 { 5 } else { 10 },
        report: 0,
        asks: false,
        memory: None,
    }
}

fn ready(source: u32, op: u32) -> Incoming {
    Incoming { kind: Kind::Ready, payload_len: 0, ..fragment(Via::Reliable, source, op, 0) }
}

const TO_GROUP: Target = Target::Group;
const fn to(rank: u32) -> Target {
    Target::Rank(Rank(rank))
}

#[test]
fn the_root_multicasts_every_fragment_and_forwards_it_to_its_successor() {
    let mut root = core(3, config());
    root.start(NOW, Rank(3), LEN).unwrap();
    let expected =
        [(TO_GROUP, 0), (TO_GROUP, 1), (TO_GROUP, 2), (to(0), 0), (to(0), 1), (to(0), 2)];
    assert_eq!(sent(&mut root), expected);
    assert_eq!(events(&mut root), [Event::Complete { op: OpId(0), lost: 0 }]);
}

#[test]
fn a_fragment_is_forwarded_as_soon_as_it_is_owned_however_it_came() {
    let mut rank = core(1, config());
    rank.start(NOW, Rank(0), LEN).unwrap();
    let late = fragment(Via::Multicast, 0, 0, 2);
    assert_eq!(rank.handle_packet(NOW, &late), Disposition::Place(20..25));
    assert_eq!(sent(&mut rank), [(to(2), 2)]);
    let repair = fragment(Via::Reliable, 0, 0, 1);
    assert_eq!(rank.handle_packet(NOW, &repair), Disposition::Place(10..20));
    assert_eq!(sent(&mut rank), [(to(2), 1)]);
}

#[test]
fn second_copies_are_not_forwarded_again() {
    let mut rank = core(1, config());
    rank.start(NOW, Rank(0), LEN).unwrap();
    rank.handle_packet(NOW, &fragment(Via::Multicast, 0, 0, 0));
    sent(&mut rank);
    for (via, expected) in [
        (Via::Multicast, Disposition::Duplicate),
        (Via::Reliable, Disposition::Redundant),
        (Via::Reliable, Disposition::Duplicate),
    ] {
        assert_eq!(rank.handle_packet(NOW, &fragment(via, 0, 0, 0)), expected);
    }
    assert_eq!(sent(&mut rank), []);
}

#[test]
fn the_ring_is_cut_in_front_of_the_root() {
    let mut last = core(3, config());
    last.start(NOW, Rank(0), LEN).unwrap();
    for index in 0..3 {
        last.handle_packet(NOW, &fragment(Via::Multicast, 0, 0, index));
    }
    assert_eq!(sent(&mut last), []);
    let op = OpId(0);
    assert_eq!(events(&mut last), [Event::Complete { op, lost: 0 }, Event::Quiescent(op)]);
}

#[test]
fn a_rank_leaves_when_it_has_all_and_has_forwarded_all() {
    let mut rank = core(1, config());
    rank.start(NOW, Rank(0), LEN).unwrap();
    for index in [0, 2] {
        rank.handle_packet(NOW, &fragment(Via::Multicast, 0, 0, index));
    }
    rank.handle_packet(NOW, &fragment(Via::Reliable, 0, 0, 1));
    assert_eq!(events(&mut rank), []);
    sent(&mut rank);
    assert_eq!(events(&mut rank), [Event::Complete { op: OpId(0), lost: 1 }]);
    for _ in 0..3 {
        assert_eq!(events(&mut rank), []);
        rank.handle_delivered(NOW, Rank(2), TOKEN);
    }
    assert_eq!(events(&mut rank), [Event::Quiescent(OpId(0))]);
}

#[test]
fn an_empty_message_is_one_empty_fragment() {
    let mut root = core(0, config());
    root.start(NOW, Rank(0), 0).unwrap();
    assert_eq!(sent(&mut root), [(TO_GROUP, 0), (to(1), 0)]);
}

#[test]
fn the_multicast_runs_no_further_ahead_than_allowed() {
    let mut root = core(0, Config { run_ahead: 2, ..config() });
    root.start(NOW, Rank(0), LEN).unwrap();
    assert_eq!(sent(&mut root), [(TO_GROUP, 0), (TO_GROUP, 1), (to(1), 0), (to(1), 1)]);
    root.handle_delivered(NOW, Rank(1), TOKEN);
    assert_eq!(sent(&mut root), [(TO_GROUP, 2), (to(1), 2)]);
}

#[test]
fn a_delayed_root_multicasts_when_its_timer_fires() {
    let delay = Duration::from_micros(50);
    let mut root = core(0, Config { synchronisation: Synchronisation::Delay(delay), ..config() });
    root.start(NOW, Rank(0), LEN).unwrap();
    assert_eq!(sent(&mut root), []);
    assert_eq!(root.poll_timeout(), Some((Timer::RootDelay, NOW + delay)));
    root.handle_timeout(NOW + delay);
    assert_eq!(sent(&mut root).len(), 6);
    assert_eq!(root.poll_timeout(), None);
}

#[test]
fn a_synchronised_root_waits_for_the_rank_that_all_know() {
    let synchronisation = Synchronisation::RandomRank { seed: 5 };
    let config = Config { synchronisation, ..config() };
    let awaited = synchronisation.announcer(OpId(0), Rank(0), 4).unwrap();
    let mut root = core(0, config);
    root.start(NOW, Rank(0), LEN).unwrap();
    let other = (1..4).find(|rank| Rank(*rank) != awaited).unwrap();
    root.handle_packet(NOW, &ready(other, 0));
    assert_eq!(sent(&mut root), []);
    root.handle_packet(NOW, &ready(awaited.0, 0));
    assert_eq!(sent(&mut root).len(), 6);

    let mut joined = core(awaited.0, config);
    joined.start(NOW, Rank(0), LEN).unwrap();
    let Some(Transmit::Send { target, piece, .. }) = joined.poll_transmit(&Plenty) else {
        panic!("no announcement")
    };
    assert_eq!((target, piece.kind), (to(0), Kind::Ready));
    assert_eq!(joined.poll_transmit(&Plenty), None);
}

#[test]
fn an_announcement_that_comes_before_the_root_is_kept() {
    let synchronisation = Synchronisation::RandomRank { seed: 5 };
    let mut root = core(0, Config { synchronisation, ..config() });
    let awaited = synchronisation.announcer(OpId(0), Rank(0), 4).unwrap();
    assert_eq!(root.handle_packet(NOW, &ready(awaited.0, 0)), Disposition::Consumed);
    root.start(NOW, Rank(0), LEN).unwrap();
    assert_eq!(sent(&mut root).len(), 6);
}

#[test]
fn packets_of_other_operations_are_kept_or_late() {
    let mut rank = core(3, config());
    assert_eq!(rank.handle_packet(NOW, &fragment(Via::Multicast, 0, 0, 0)), Disposition::Hold);
    rank.start(NOW, Rank(0), LEN).unwrap();
    for index in 0..3 {
        rank.handle_packet(NOW, &fragment(Via::Multicast, 0, 0, index));
    }
    assert_eq!(rank.handle_packet(NOW, &fragment(Via::Reliable, 2, 0, 0)), Disposition::Late);
}

#[test]
fn operations_are_forwarded_in_their_order() {
    let mut rank = core(1, config());
    rank.start(NOW, Rank(0), LEN).unwrap();
    rank.start(NOW, Rank(0), LEN).unwrap();
    rank.handle_packet(NOW, &fragment(Via::Multicast, 0, 1, 0));
    assert_eq!(sent(&mut rank), []);
    for index in 0..3 {
        rank.handle_packet(NOW, &fragment(Via::Multicast, 0, 0, index));
    }
    assert_eq!(sent(&mut rank), [(to(2), 0), (to(2), 1), (to(2), 2), (to(2), 0)]);
}

#[test]
fn without_multicast_the_chain_begins_at_the_root() {
    let mut root = core(0, Config { multicast: false, ..config() });
    root.start(NOW, Rank(0), LEN).unwrap();
    assert_eq!(sent(&mut root), [(to(1), 0), (to(1), 1), (to(1), 2)]);
}

#[test]
fn a_rank_that_disagrees_is_named() {
    let other_len = Incoming { message_len: 26, ..fragment(Via::Multicast, 0, 0, 0) };
    let other_root = fragment(Via::Multicast, 2, 0, 0);
    for packet in [other_len, other_root] {
        let mut rank = core(1, config());
        rank.start(NOW, Rank(0), LEN).unwrap();
        assert_eq!(rank.handle_packet(NOW, &packet), Disposition::Reject);
        let events = events(&mut rank);
        let [Event::Disagreement { op: OpId(0), rank, .. }] = events.as_slice() else {
            panic!("{events:?}")
        };
        assert_eq!(*rank, packet.source);
    }
}

#[test]
fn packets_that_make_no_sense_are_refused() {
    let mut rank = core(1, config());
    rank.start(NOW, Rank(0), LEN).unwrap();
    let sane = fragment(Via::Multicast, 0, 0, 0);
    for packet in [
        Incoming { fragment: Fragment(3), ..sane },
        Incoming { payload_len: 9, ..sane },
        Incoming { source: Rank(4), ..sane },
        Incoming { source: Rank(1), ..sane },
        Incoming { kind: Kind::Probe, ..sane },
        ready(2, 1 << 20),
    ] {
        assert_eq!(rank.handle_packet(NOW, &packet), Disposition::Reject, "{packet:?}");
    }
    assert_eq!(events(&mut rank), []);
}

#[test]
fn a_successor_that_left_with_everything_is_owed_nothing() {
    let mut rank = core(1, config());
    rank.start(NOW, Rank(0), LEN).unwrap();
    for index in 0..3 {
        rank.handle_packet(NOW, &fragment(Via::Multicast, 0, 0, index));
    }
    rank.handle_departed(NOW, Rank(2), OpId(1));
    let op = OpId(0);
    assert_eq!(events(&mut rank), [Event::Complete { op, lost: 0 }, Event::Quiescent(op)]);
    rank.start(NOW, Rank(0), LEN).unwrap();
    assert!(matches!(
        events(&mut rank).as_slice(),
        [Event::Disagreement { op: OpId(1), rank: Rank(2), .. }]
    ));
}

#[test]
fn a_rank_stays_until_its_receive_queue_takes_what_is_still_to_come() {
    let mut last = core(3, Config { absorbed: 1, ..config() });
    last.start(NOW, Rank(0), LEN).unwrap();
    for index in 0..3 {
        last.handle_packet(NOW, &fragment(Via::Multicast, 0, 0, index));
    }
    last.handle_packet(NOW, &fragment(Via::Reliable, 2, 0, 0));
    assert_eq!(events(&mut last), []);
    last.handle_packet(NOW, &fragment(Via::Reliable, 2, 0, 1));
    let op = OpId(0);
    assert_eq!(events(&mut last), [Event::Complete { op, lost: 0 }, Event::Quiescent(op)]);
    assert!(!last.is_drained());
    last.handle_packet(NOW, &fragment(Via::Reliable, 2, 0, 2));
    assert!(last.is_drained());
}

#[test]
fn calls_that_cannot_be_made_are_refused() {
    let mut rank = core(1, config());
    let no_root = StartError::NoSuchRoot { root: Rank(4), size: 4 };
    assert_eq!(rank.start(NOW, Rank(4), LEN), Err(no_root));
    for _ in 0..4 {
        rank.start(NOW, Rank(0), LEN).unwrap();
    }
    assert_eq!(rank.start(NOW, Rank(0), LEN), Err(StartError::TooManyInFlight(4)));
    assert!(TwoStage::new(Rank(0), 4, OpId(0), Config { run_ahead: 0, ..config() }).is_err());
}
