//! Which fragment the next receive will get.
//!
//! A UD QP consumes its receives in the order in which they were posted. Both sides of that are
//! numbered: if the receive of number c got fragment f, and datagrams come in order and without gaps,
//! the one of number s will get fragment f + s − c. A loss, a stranger's datagram or a duplicate
//! shifts this, so the latest fragment decides. A shift falsifies what was foretold for all receives that
//! are outstanding; where that happens often, to foretell costs more than it saves. After a gap nothing is
//! foretold until as many fragments have come without one.
//!
//! The same numbers tell why something is missing. A queue that has run out of receives drops datagrams until new ones are
//! posted, so that the gap is right between the last receive that was posted before and the first one after.

use crate::rdma::ids::ChannelId;
use verbcast_core::rank::{Fragment, OpId};

/// What fragments belong to: an operation of a communicator.
pub type Stream = (ChannelId, OpId);

/// Numbers the receives of a queue and foretells what they get.
#[derive(Debug)]
pub struct Prediction {
    posted: u64,
    completed: u64,
    /// Fragments since the last gap, up to the queue's depth.
    in_order: u32,
    depth: u32,
    /// The stream that fragments come of, and how far its fragments are ahead of the receives'
    /// numbers.
    latest: Option<(Stream, i64)>,
    /// Receives that had been posted when all completions so far were known for the last time: while the rank looks at none,
    /// the queue runs out behind these.
    known: u64,
}

impl Prediction {
    /// For a queue of `depth` receives, none of which is posted yet.
    pub fn new(depth: u32) -> Self {
        Prediction { posted: 0, completed: 0, in_order: depth, depth, latest: None, known: 0 }
    }

    /// Receives posted and not completed.
    pub fn outstanding(&self) -> u64 {
        self.posted - self.completed
    }

    /// A receive was posted.
    pub fn post(&mut self) {
        self.posted += 1;
    }

    /// All completions so far are known, and more receives will be posted only when the next ones are.
    pub fn know_all(&mut self) {
        self.known = self.posted;
    }

    /// The first outstanding receive has ended; with a fragment of another rank, or with something else. Whether the queue
    /// had run out of receives, so that what should have come before was dropped.
    pub fn complete(&mut self, seen: Option<(Stream, Fragment)>) -> bool {
        let mut ran_out = false;
        if let Some((stream, fragment)) = seen {
            ran_out = self.completed == self.known && self.misses(stream, fragment);
            let ahead = i64::from(fragment.0) - self.completed as i64;
            let is_gap =
                self.latest.is_some_and(|(last, before)| last == stream && before != ahead);
            self.in_order = if is_gap { 0 } else { self.depth.min(self.in_order + 1) };
            self.latest = Some((stream, ahead));
        }
        self.completed += 1;
        ran_out
    }

    /// Whether a fragment comes in order behind the latest one if the first outstanding receive gets it.
    pub fn is_next(&self, stream: Stream, fragment: Fragment) -> bool {
        self.latest == Some((stream, i64::from(fragment.0) - self.completed as i64))
    }

    /// As many outstanding receives have ended with the fragments that [came in order](Self::is_next).
    pub fn complete_run(&mut self, count: u32) {
        self.in_order = self.depth.min(self.in_order + count);
        self.completed += u64::from(count);
    }

    /// Whether fragments are missing between the latest one and this.
    fn misses(&self, stream: Stream, fragment: Fragment) -> bool {
        let Some(((channel, op), ahead)) = self.latest else { return false };
        match stream.1.after(op) {
            _ if stream.0 != channel => false,
            0 => i64::from(fragment.0) - self.completed as i64 > ahead,
            1 => fragment.0 > 0,
            later => later > 1,
        }
    }

    /// What the receive that is posted next will get; `None` where that is uncertain.
    pub fn next(&self) -> Option<(Stream, Fragment)> {
        let (stream, ahead) = self.latest.filter(|_| self.in_order == self.depth)?;
        let fragment = u32::try_from(self.posted as i64 + ahead).ok()?;
        Some((stream, Fragment(fragment)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTH: u32 = 4;

    fn ready() -> Prediction {
        let mut prediction = Prediction::new(DEPTH);
        (0..DEPTH).for_each(|_| prediction.post());
        prediction
    }

    fn seen(fragment: u32) -> Option<(Stream, Fragment)> {
        Some(((ChannelId(0), OpId(9)), Fragment(fragment)))
    }

    #[test]
    fn in_order_every_prediction_is_right() {
        let mut prediction = ready();
        assert_eq!(prediction.next(), None);
        for fragment in 0..100 {
            prediction.complete(seen(fragment));
            assert_eq!(prediction.next(), seen(fragment + DEPTH));
            prediction.post();
            assert_eq!(prediction.outstanding(), u64::from(DEPTH));
        }
    }

    #[test]
    fn a_run_counts_as_its_fragments_would() {
        let (mut run, mut each) = (ready(), ready());
        for prediction in [&mut run, &mut each] {
            prediction.complete(seen(7));
            // In place of 8 and 9, so that there was a gap.
            prediction.complete(seen(10));
        }
        let (stream, _) = seen(0).unwrap();
        let is_next = |fragment| run.is_next(stream, Fragment(fragment));
        assert_eq!([10, 11, 12].map(is_next), [false, true, false]);
        assert!(!run.is_next((ChannelId(1), stream.1), Fragment(11)));
        run.complete_run(2);
        (11..13).for_each(|fragment| _ = each.complete(seen(fragment)));
        assert_eq!(format!("{run:?}"), format!("{each:?}"));
    }

    #[test]
    fn receives_posted_late_count_what_is_outstanding() {
        let mut prediction = ready();
        (0..3).for_each(|fragment| _ = prediction.complete(seen(fragment)));
        for fragment in 4..7 {
            assert_eq!(prediction.next(), seen(fragment));
            prediction.post();
        }
    }

    #[test]
    fn after_a_gap_nothing_is_foretold_for_a_while() {
        let mut prediction = ready();
        prediction.complete(seen(0));
        prediction.post();
        // Fragment 1 is lost, so that its receive gets fragment 2.
        for fragment in 2..2 + DEPTH {
            prediction.complete(seen(fragment));
            assert_eq!(prediction.next(), None, "after {fragment}");
            prediction.post();
        }
        prediction.complete(seen(2 + DEPTH));
        assert_eq!(prediction.next(), seen(2 + 2 * DEPTH));
    }

    #[test]
    fn a_stranger_is_a_gap_once_it_shows() {
        let mut prediction = ready();
        prediction.complete(seen(0));
        prediction.post();
        prediction.complete(None);
        assert_eq!(prediction.next(), seen(1 + DEPTH), "it may have come in place of a fragment");
        prediction.post();
        prediction.complete(seen(1));
        assert_eq!(prediction.next(), None);
    }

    #[test]
    fn a_gap_behind_the_last_receive_posted_before_a_pause_is_one_of_receives() {
        let mut prediction = ready();
        prediction.know_all();
        for fragment in 0..DEPTH {
            assert!(!prediction.complete(seen(fragment)));
            prediction.post();
        }
        assert!(prediction.complete(seen(DEPTH + 3)), "what came meanwhile found no receive");
        // Elsewhere it was lost on its way.
        prediction.post();
        assert!(!prediction.complete(seen(DEPTH + 9)));
    }

    #[test]
    fn a_gap_is_none_of_receives_while_there_are_some_or_nothing_is_missing() {
        let mut prediction = ready();
        prediction.know_all();
        assert!(!prediction.complete(seen(0)));
        assert!(!prediction.complete(seen(2)), "three receives were left");
        for fragment in 3..5 {
            assert!(!prediction.complete(seen(fragment)));
        }
        prediction.post();
        assert!(!prediction.complete(seen(5)), "nothing is missing");
    }

    #[test]
    fn operations_that_are_missing_are_a_gap_too() {
        for (op, fragment, is_gap) in [(10, 0, false), (10, 1, true), (11, 0, true), (8, 0, false)]
        {
            let mut prediction = ready();
            prediction.know_all();
            (0..DEPTH).for_each(|fragment| _ = prediction.complete(seen(fragment)));
            prediction.post();
            let next = Some(((ChannelId(0), OpId(op)), Fragment(fragment)));
            assert_eq!(prediction.complete(next), is_gap, "{op}, {fragment}");
        }
    }

    #[test]
    fn another_operation_or_communicator_starts_anew() {
        for stream in [(ChannelId(0), OpId(10)), (ChannelId(1), OpId(9))] {
            let mut prediction = ready();
            prediction.complete(seen(77));
            prediction.complete(Some((stream, Fragment(0))));
            assert_eq!(prediction.next(), Some((stream, Fragment(3))));
        }
    }
}
