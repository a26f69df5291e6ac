//! Which protocol a suite takes where there is no group.

use std::cell::RefCell;
use std::collections::BTreeSet;
use verbcast_core::protocol::options::{Options, SuiteParameters};
use verbcast_core::protocol::{Core, Room, Target, Transmit};
use verbcast_core::rank::Rank;
use verbcast_core::time::Instant;
use verbcast_sim::Plan;

/// A transport that takes one reliable message for each rank.
#[derive(Default)]
struct One(RefCell<BTreeSet<Rank>>);

impl Room for One {
    fn multicast_room(&self) -> usize {
        0
    }

    fn reliable_room(&self, to: Rank) -> usize {
        usize::from(!self.0.borrow().contains(&to))
    }

    fn report_room(&self, _to: Rank) -> usize {
        0
    }

    fn fetch_room(&self, _from: Rank) -> usize {
        0
    }

    fn is_idle(&self, _slot: u32) -> bool {
        true
    }
}

/// Whom rank 0 of eight sends the first fragments of a message to.
fn children(algorithm: &str, len: u64) -> Vec<u32> {
    let mut options = Options::default();
    options.set("algorithm", algorithm).unwrap();
    let parameters = Plan::new(8, Vec::new()).parameters(Rank(0)).suite;
    let mut suite = options.suite(&SuiteParameters { multicast: false, ..parameters }).unwrap();
    suite.start(Instant::ZERO, Rank(0), len).unwrap();
    let room = One::default();
    while let Some(Transmit::Send { target: Target::Rank(to), .. }) = suite.poll_transmit(&room) {
        room.0.borrow_mut().insert(to);
    }
    room.0.into_inner().into_iter().map(|rank| rank.0).collect()
}

#[test]
fn without_a_group_what_needs_none_is_still_chosen() {
    for len in [8, 100_000] {
        assert_eq!(children("binomial", len), [1, 2, 4], "{len} bytes");
        assert_eq!(children("chain", len), [1], "{len} bytes");
    }
}

#[test]
fn without_a_group_multicast_is_replaced() {
    for algorithm in ["auto", "window", "two-stage"] {
        assert_eq!((children(algorithm, 8).len(), children(algorithm, 100_000).len()), (3, 1));
    }
}
