//! Since when it is known that something was sent: whoever has sent what is later was done with it.

use crate::rank::OpId;
use crate::time::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// How many times are remembered. In between, what was sent counts as known from the next of them on.
const REMEMBERED: usize = 64;
/// What has been known for so long is as good as known for ever: no timeout is longer.
const LONG: Duration = Duration::from_millis(200);

/// A place in an order.
pub(super) trait Position: Copy {
    fn is_after(self, other: Self) -> bool;
}

impl Position for OpId {
    fn is_after(self, other: OpId) -> bool {
        self.after(other) > 0
    }
}

/// Of everything before some positions, when it was first known that it was sent.
#[derive(Clone, Debug)]
pub(super) struct KnownSent<P> {
    /// Both positions and times grow.
    times: VecDeque<(P, Instant)>,
}

impl<P> Default for KnownSent<P> {
    fn default() -> Self {
        KnownSent { times: VecDeque::new() }
    }
}

impl<P: Position> KnownSent<P> {
    /// What is at this position has come.
    pub fn note(&mut self, now: Instant, position: P) {
        match self.times.back_mut() {
            Some((last, _)) if !position.is_after(*last) => return,
            // What was taken in together came together.
            Some((last, at)) if *at >= now => {
                *last = position;
                return;
            }
            _ => {}
        }
        if self.times.len() == REMEMBERED {
            self.thin(now);
        }
        self.times.push_back((position, now));
    }

    /// Makes room: times become as sparse as they are old.
    fn thin(&mut self, now: Instant) {
        while self.times.get(1).is_some_and(|(_, at)| now - *at >= LONG) {
            self.times.pop_front();
        }
        let mut index = 1;
        while index + 1 < self.times.len() {
            let (before, after) = (self.times[index - 1].1, self.times[index + 1].1);
            if after - before <= (now - after) / 2 {
                self.times.remove(index);
            } else {
                index += 1;
            }
        }
        if self.times.len() == REMEMBERED {
            self.times.pop_front();
        }
    }

    /// Since when something is here that is after this position.
    pub fn since(&self, position: P) -> Option<Instant> {
        self.times.iter().find(|(until, _)| until.is_after(position)).map(|(_, at)| *at)
    }

    /// Up to where everything is known to have been sent for so long.
    pub fn until(&self, now: Instant, long: Duration) -> Option<P> {
        self.times.iter().rev().find(|(_, at)| now - *at >= long).map(|(until, _)| *until)
    }

    /// Forgets what is not after this position.
    pub fn forget(&mut self, position: P) {
        while self.times.front().is_some_and(|(until, _)| !until.is_after(position)) {
            self.times.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(micros: u64) -> Instant {
        Instant::from_nanos(1_000 * micros)
    }

    #[test]
    fn what_is_before_something_that_came_was_sent_since_the_first_such_came() {
        let mut known = KnownSent::default();
        known.note(at(1), OpId(5));
        known.note(at(2), OpId(3));
        known.note(at(3), OpId(9));
        let since = |op| known.since(OpId(op));
        assert_eq!([4, 5, 8, 9].map(since), [Some(at(1)), Some(at(3)), Some(at(3)), None]);
        known.forget(OpId(5));
        assert_eq!(known.since(OpId(4)), Some(at(3)));
        known.forget(OpId(9));
        assert_eq!(known.since(OpId(4)), None);
    }

    #[test]
    fn what_came_together_is_one() {
        let mut known = KnownSent::default();
        (0..10_000).for_each(|op| known.note(at(1), OpId(op)));
        assert_eq!((known.times.len(), known.since(OpId(9_998))), (1, Some(at(1))));
    }

    #[test]
    fn of_many_times_few_are_remembered_and_the_older_they_are_the_fewer() {
        let mut known = KnownSent::default();
        for op in 0..50_000 {
            let now = at(100 * u64::from(op));
            known.note(now, OpId(op));
            assert!(known.times.len() <= REMEMBERED);
            let is_old = op > 4_000;
            for long in [MS, 10 * MS, 100 * MS].into_iter().filter(|_| is_old) {
                let age = now - at(100 * u64::from(known.until(now, long).unwrap().0));
                assert!(age >= long && age < 2 * long + MS, "{age:?} is not {long:?}");
                let since = known.since(OpId(op - 50)).unwrap();
                assert!(
                    since >= at(100 * u64::from(op - 49)),
                    "it is not known sooner than it was"
                );
            }
        }
    }

    #[test]
    fn positions_go_round() {
        let mut known = KnownSent::default();
        known.note(at(1), OpId(u32::MAX));
        known.note(at(2), OpId(1));
        assert_eq!([u32::MAX - 1, 0].map(|op| known.since(OpId(op))), [Some(at(1)), Some(at(2))]);
    }
}
