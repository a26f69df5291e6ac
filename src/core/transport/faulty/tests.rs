//! What a faulty transport does to the arrivals of one that only takes notes.

use super::*;
use crate::rank::Fragment;
use crate::transport::notes::{self, Notes};

/// A transport of rank 1, to which `count` datagrams come.
fn faulty(spec: &str, count: u32) -> Faulty<Notes> {
    of_rank(1, spec, count)
}

fn of_rank(rank: u32, spec: &str, count: u32) -> Faulty<Notes> {
    let arrivals = (0..count).map(|index| by_multicast(Buffer { index })).collect();
    Faulty::new(Notes { arrivals, ..Notes::default() }, spec.parse().unwrap(), Rank(rank))
}

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// The datagrams that can be had now, which are then given back.
fn received(transport: &mut Faulty<Notes>, now: Instant) -> Vec<u32> {
    let mut indices = Vec::new();
    while let Some(arrival) = transport.poll(now).unwrap() {
        let Arrival::Packet { via: Via::Multicast, buffer } = arrival else {
            panic!("{arrival:?}")
        };
        indices.push(buffer.index);
        transport.recycle(buffer).unwrap();
    }
    indices
}

/// All datagrams, those included that are overtaken by nothing.
fn received_at_last(transport: &mut Faulty<Notes>) -> Vec<u32> {
    let mut indices = received(transport, at(0));
    indices.extend(received(transport, Instant::ZERO + MAX_DETOUR));
    indices
}

fn sorted(mut indices: Vec<u32>) -> Vec<u32> {
    indices.sort_unstable();
    indices
}

#[test]
fn without_faults_datagrams_come_as_they_are() {
    let mut transport = faulty("loss=0,dup=0,reorder=0,seed=3", 100);
    assert_eq!(received(&mut transport, at(0)), Vec::from_iter(0..100));
    assert_eq!(transport.inner().recycled, Vec::from_iter(0..100));
}

#[test]
fn what_is_lost_for_certain_is_given_back_inside() {
    let mut transport = faulty("loss=1", 100);
    assert_eq!(received_at_last(&mut transport), []);
    assert_eq!(transport.inner().recycled, Vec::from_iter(0..100));
}

#[test]
fn about_as_much_is_lost_as_is_asked_for() {
    let mut transport = faulty("loss=0.1,seed=5", 10_000);
    let left = received(&mut transport, at(0));
    assert!((8_800..9_200).contains(&left.len()), "{} of 10000 came", left.len());
    assert!(left.is_sorted());
    assert_eq!(sorted(transport.inner().recycled.clone()), Vec::from_iter(0..10_000));
}

#[test]
fn a_duplicate_is_given_back_inside_with_its_twin() {
    let mut transport = faulty("dup=1", 1);
    let [first, second, none] = [(); 3].map(|()| transport.poll(at(0)).unwrap());
    assert_eq!(none, None);
    for (twin, recycled) in [(first, vec![]), (second, vec![0])] {
        let Some(Arrival::Packet { via: Via::Multicast, buffer }) = twin else {
            panic!("{twin:?}")
        };
        transport.recycle(buffer).unwrap();
        assert_eq!(transport.inner().recycled, recycled);
    }
}

#[test]
fn a_buffer_is_used_again_after_its_twins() {
    let mut transport = faulty("dup=1", 2);
    for _ in 0..3 {
        assert_eq!(received(&mut transport, at(0)), [0, 0, 1, 1]);
        assert_eq!(std::mem::take(&mut transport.inner_mut().recycled), [0, 1]);
        transport.inner_mut().arrivals.extend([0, 1].map(|index| by_multicast(Buffer { index })));
    }
}

#[test]
fn about_as_much_is_damaged_as_is_asked_for_and_comes_all_the_same() {
    let mut transport = faulty("corrupt=0.1,seed=5", 10_000);
    assert_eq!(received(&mut transport, at(0)), Vec::from_iter(0..10_000));
    let damaged = transport.inner().asked.borrow().len();
    assert!((800..1_200).contains(&damaged), "{damaged} of 10000");
}

#[test]
fn some_are_overtaken_and_by_four_at_most() {
    let mut transport = faulty("reorder=0.3,seed=1", 1000);
    let indices = received_at_last(&mut transport);
    assert!(!indices.is_sorted());
    for (place, index) in indices.iter().enumerate() {
        let passed = indices[..place].iter().filter(|earlier| *earlier > index);
        assert!(passed.count() <= 4, "{index} in {indices:?}");
    }
    assert_eq!(sorted(indices), Vec::from_iter(0..1000));
    assert_eq!(sorted(transport.inner().recycled.clone()), Vec::from_iter(0..1000));
}

#[test]
fn a_detour_ends_where_nothing_comes_to_overtake() {
    let mut transport = faulty("reorder=1", 1);
    assert_eq!(received(&mut transport, at(5)), []);
    assert_eq!(received(&mut transport, at(1004)), []);
    assert_eq!(received(&mut transport, at(1005)), [0]);
}

#[test]
fn nobody_sleeps_through_the_end_of_a_detour() {
    let mut transport = faulty("reorder=1", 1);
    let (idle, long) = (Duration::from_secs(1), Duration::from_secs(60));
    transport.park(idle, long).unwrap();
    assert_eq!(received(&mut transport, at(0)), []);
    transport.park(idle, long).unwrap();
    transport.park(idle, Duration::from_micros(1)).unwrap();
    let parked = ["park (1s, 60s)", "park (1s, 1ms)", "park (1s, 1µs)"];
    assert_eq!(*transport.inner().asked.borrow(), parked);
    assert_eq!(transport.arm(idle, long).unwrap(), Duration::from_millis(1));
}

#[test]
fn only_datagrams_of_the_group_suffer() {
    let others = || {
        let (peer, token, reason) = (Rank(2), notes::token(), "cut".to_owned());
        vec![
            Arrival::Packet { via: Via::Reliable, buffer: Buffer { index: 7 } },
            Arrival::Delivered { to: peer, token },
            Arrival::Reported { from: peer, counter: Counter::Acknowledged, value: 1 },
            Arrival::WriteAcked { to: peer, counter: Counter::Acknowledged },
            Arrival::Fetched { from: peer, token, buffer: Buffer { index: 8 } },
            Arrival::Alive { peer },
            Arrival::Broken { peer, reason },
        ]
    };
    for spec in ["loss=1", "dup=1", "reorder=1", "corrupt=1"] {
        let mut transport = faulty(spec, 0);
        transport.inner_mut().arrivals.extend(others());
        for other in others() {
            assert_eq!(transport.poll(at(0)).unwrap(), Some(other), "{spec}");
        }
        assert_eq!(transport.poll(Instant::ZERO + MAX_DETOUR).unwrap(), None, "{spec}");
        assert!(transport.inner().asked.borrow().is_empty(), "{spec}");
    }
}

#[test]
fn a_seed_gives_each_rank_its_own_faults_every_time() {
    let of = |rank, seed| {
        let spec = format!("loss=0.2,dup=0.2,reorder=0.2,seed={seed}");
        received_at_last(&mut of_rank(rank, &spec, 100))
    };
    assert_eq!(of(1, 7), of(1, 7));
    assert_ne!(of(1, 7), of(2, 7));
    assert_ne!(of(1, 7), of(1, 8));
}

#[test]
fn a_fault_that_is_turned_on_leaves_the_others_alone() {
    let of = |spec| {
        let mut indices = sorted(received_at_last(&mut faulty(spec, 100)));
        indices.dedup();
        indices
    };
    let left = of("loss=0.2,seed=7");
    assert!(left.len() < 100);
    assert_eq!(of("loss=0.2,dup=0.3,reorder=0.3,seed=7"), left);
}

#[test]
fn all_that_is_asked_of_it_is_asked_inside() {
    let mut transport = faulty("loss=1,dup=1,reorder=1", 0);
    let answers = notes::ask_everything(&mut transport);
    let mut notes = Notes::default();
    assert_eq!(answers, notes::ask_everything(&mut notes));
    assert_eq!(transport.inner().asked, notes.asked);
}

/// What is taken together would go past the faults.
#[test]
fn fragments_are_taken_together_only_where_nothing_can_happen_to_them() {
    let (op, source, first) = (OpId(7), Rank(0), Fragment(1));
    let run = Run { op, source, first, count: 3, fragment_len: 1 };
    for (faults, taken) in [("loss=0", 3), ("loss=0.5", 0), ("corrupt=0.1", 0)] {
        assert_eq!(faulty(faults, 1).take_run(&run, None).unwrap(), taken, "{faults}");
        assert_eq!(faulty(faults, 1).take_only(&run, &mut []).unwrap(), taken > 0, "{faults}");
    }
}
