//! A root delay that adapts while the program runs, which Hoefler 2007 (section 2.1) suggests and
//! leaves open.
//!
//! In each operation one rank, drawn anew, tells the root that it has joined, and whether it lost
//! fragments of the multicast before. The root waits for nobody; it only measures by how much that
//! rank came after it. Where ranks that come late lose fragments, the root's delay rises above their
//! lateness. Otherwise it falls: fast while they come early, slowly while they come late, when it may
//! be what prevents the losses.

use super::multicast_stage::Gate;
use crate::rank::OpId;
use crate::time::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// Operations whose beginning is remembered: those whose announcements may still come.
const REMEMBERED: usize = 64;
/// The delay moves by these parts of its distance to what is wanted.
const RISE: u32 = 2;
const FALL: u32 = 4;
/// And it falls by this part of itself, to find out whether it is needed.
const DOUBT: u32 = 64;
/// What is shorter is none.
const LEAST: Duration = Duration::from_micros(1);

/// The delay of one rank's multicasts as root.
#[derive(Clone, Debug)]
pub struct RootDelay {
    delay: Duration,
    most: Duration,
    /// When this rank began the operations that it was root of.
    begun: VecDeque<(OpId, Instant)>,
}

impl RootDelay {
    pub fn new(most: Duration) -> Self {
        RootDelay { delay: Duration::ZERO, most, begun: VecDeque::new() }
    }

    /// The gate of an operation that this rank begins as root.
    pub fn begin(&mut self, now: Instant, op: OpId) -> Gate {
        if self.begun.len() == REMEMBERED {
            self.begun.pop_front();
        }
        self.begun.push_back((op, now));
        match self.delay {
            Duration::ZERO => Gate::Open,
            delay => Gate::Until(now + delay),
        }
    }

    /// A rank has joined an operation, and had lost fragments before or not.
    pub fn joined(&mut self, now: Instant, op: OpId, has_lost: bool) {
        let begun = self.begun.iter().find(|(known, _)| *known == op);
        // One that joins before its root is not late.
        let late = begun.map_or(Duration::ZERO, |(_, begun)| now - *begun);
        // A little more than was needed now.
        let wanted = (late + late / 4).min(self.most);
        self.delay = match has_lost {
            true => self.delay + wanted.saturating_sub(self.delay) / RISE,
            false => self.delay - self.delay.saturating_sub(wanted) / FALL - self.delay / DOUBT,
        };
        if self.delay < LEAST {
            self.delay = Duration::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// The delay after so many operations in which the announcing rank is `late`.
    fn after(delay: &mut RootDelay, operations: u32, late: Duration, has_lost: bool) -> Duration {
        for op in (0..operations).map(OpId) {
            let now = Instant::ZERO + 100 * MS * op.0;
            delay.begin(now, op);
            delay.joined(now + late, op, has_lost);
        }
        delay.delay
    }

    #[test]
    fn it_follows_the_lateness_of_those_who_lose() {
        let mut delay = RootDelay::new(50 * MS);
        let reached = after(&mut delay, 40, 8 * MS, true);
        assert!(reached > 8 * MS && reached <= 10 * MS, "{reached:?}");
        assert!(matches!(delay.begin(Instant::ZERO, OpId(99)), Gate::Until(_)));
        let kept = after(&mut delay, 4, 8 * MS, false);
        assert!(kept > 8 * MS && kept < reached, "{kept:?}");
        assert_eq!(after(&mut delay, 60, Duration::ZERO, false), Duration::ZERO);
        assert_eq!(delay.begin(Instant::ZERO, OpId(99)), Gate::Open);
    }

    #[test]
    fn it_is_bounded() {
        let mut delay = RootDelay::new(3 * MS);
        assert!(after(&mut delay, 100, 20 * MS, true) <= 3 * MS);
    }

    #[test]
    fn who_joins_first_is_not_late() {
        let mut delay = RootDelay::new(3 * MS);
        delay.joined(Instant::ZERO + MS, OpId(5), true);
        assert_eq!(delay.delay, Duration::ZERO);
    }
}
