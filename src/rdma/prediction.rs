//! Which fragment the next receive will get.
//!
//! A UD QP consumes its receives in the order in which they were posted. Both sides of that are
//! numbered: if the receive of number c got fragment f, and datagrams come in order and without gaps,
//! the one of number s will get fragment f + s − c. A loss, a stranger's datagram or a duplicate
//! shifts this, so the latest fragment decides.

use crate::rank::{Fragment, OpId};

/// Numbers the receives of a queue and foretells what they get.
#[derive(Debug, Default)]
pub(super) struct Prediction {
    posted: u64,
    completed: u64,
    /// The operation that fragments come of, and how far its fragments are ahead of the receives'
    /// numbers.
    latest: Option<(OpId, i64)>,
}

impl Prediction {
    /// Receives posted and not completed.
    pub fn outstanding(&self) -> u64 {
        self.posted - self.completed
    }

    /// A receive was posted.
    pub fn post(&mut self) {
        self.posted += 1;
    }

    /// The first outstanding receive has ended; with a fragment of another rank, or with something else.
    pub fn complete(&mut self, seen: Option<(OpId, Fragment)>) {
        if let Some((op, fragment)) = seen {
            self.latest = Some((op, i64::from(fragment.0) - self.completed as i64));
        }
        self.completed += 1;
    }

    /// What the receive that is posted next will get.
    pub fn next(&self) -> Option<(OpId, Fragment)> {
        let (op, ahead) = self.latest?;
        let fragment = u32::try_from(self.posted as i64 + ahead).ok()?;
        Some((op, Fragment(fragment)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTH: u32 = 4;

    fn ready() -> Prediction {
        let mut prediction = Prediction::default();
        (0..DEPTH).for_each(|_| prediction.post());
        prediction
    }

    fn seen(fragment: u32) -> Option<(OpId, Fragment)> {
        Some((OpId(9), Fragment(fragment)))
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
    fn receives_posted_late_count_what_is_outstanding() {
        let mut prediction = ready();
        (0..3).for_each(|fragment| prediction.complete(seen(fragment)));
        for fragment in 4..7 {
            assert_eq!(prediction.next(), seen(fragment));
            prediction.post();
        }
    }

    #[test]
    fn a_loss_or_a_stranger_shifts_what_follows() {
        let mut prediction = ready();
        prediction.complete(seen(0));
        prediction.post();
        // Fragment 1 is lost, so that its receive gets fragment 2.
        prediction.complete(seen(2));
        assert_eq!(prediction.next(), seen(2 + DEPTH));
        prediction.post();
        prediction.complete(None);
        assert_eq!(prediction.next(), seen(3 + DEPTH), "nothing is known of the stranger yet");
        prediction.post();
        prediction.complete(seen(3));
        assert_eq!(prediction.next(), seen(3 + DEPTH));
    }

    #[test]
    fn another_operation_starts_anew() {
        let mut prediction = ready();
        prediction.complete(seen(77));
        prediction.complete(Some((OpId(10), Fragment(0))));
        assert_eq!(prediction.next(), Some((OpId(10), Fragment(3))));
    }
}
