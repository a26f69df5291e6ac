//! How long to wait for a fragment: from the pauses between those that come by themselves.
//!
//! Fragments wait in queues on their way, behind others and until a busy CPU looks. None of that is loss, and all of it
//! shows in the pauses: in the usual one, which tells how soon what came too early in a path may be expected, and in the
//! longest one of late, which tells how long a root may be silent and still be sending.

use super::patience::{Bounds, Patience};
use crate::time::Instant;
use std::time::Duration;

/// How long a long pause is remembered before it counts half.
const REMEMBERED: Duration = Duration::from_secs(1);
/// How many times as long as the longest pause of late a silence is borne.
const MARGIN: u32 = 4;

/// The pauses between fragments that come by themselves.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    bounds: Bounds,
    usual: Patience,
    longest: Duration,
    /// After how long of silence a fragment may be lost: asked for at each fragment, and seldom another.
    silence: Duration,
    /// Since when the longest counts as it does.
    since: Instant,
}

impl Arrivals {
    pub fn new(bounds: Bounds) -> Self {
        let (longest, since) = (bounds.initial, Instant::ZERO);
        let usual = Patience::new(bounds);
        Arrivals { bounds, usual, longest, silence: bear(longest, bounds), since }
    }

    /// A fragment came after a pause. What was taken in together says nothing.
    pub fn paused(&mut self, now: Instant, pause: Duration) {
        if pause.is_zero() {
            return;
        }
        self.usual.measured(pause);
        if now - self.since >= REMEMBERED {
            self.remember(now, self.longest / 2);
        }
        if pause >= self.longest {
            self.remember(now, pause);
        }
    }

    fn remember(&mut self, now: Instant, longest: Duration) {
        self.longest = longest;
        self.silence = bear(longest, self.bounds);
        self.since = now;
    }

    /// After how long a fragment is lost that a later one has overtaken.
    pub fn overtaken(&self) -> Duration {
        self.usual.trip()
    }

    /// The longest pause of late.
    pub fn longest(&self) -> Duration {
        self.longest.clamp(self.bounds.least, self.bounds.most)
    }

    /// After how long of silence a fragment may be lost.
    pub fn silence(&self) -> Duration {
        self.silence
    }
}

/// How long a silence is borne after pauses of which this is the longest.
fn bear(longest: Duration, bounds: Bounds) -> Duration {
    (longest * MARGIN).clamp(bounds.least, bounds.most)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_silence_is_borne_for_longer_than_the_longest_pause_of_late() {
        let mut arrivals = Arrivals::new(Bounds::default());
        let mut now = Instant::ZERO;
        let mut pause = |arrivals: &mut Arrivals, pause: Duration| {
            now = now + pause;
            arrivals.paused(now, pause);
        };
        pause(&mut arrivals, 20 * MS);
        (0..500).for_each(|_| pause(&mut arrivals, MS));
        assert!(arrivals.silence() > 20 * MS, "it is remembered among many short ones");
        assert!(arrivals.overtaken() < 2 * MS, "what is usual is known all the same");
        (0..10_000).for_each(|_| pause(&mut arrivals, MS));
        assert!(arrivals.silence() < 10 * MS, "it is forgotten in the end");
    }

    #[test]
    fn what_comes_together_says_nothing_of_pauses() {
        let mut arrivals = Arrivals::new(Bounds::default());
        let before = (arrivals.overtaken(), arrivals.silence());
        (0..100).for_each(|_| arrivals.paused(Instant::ZERO, Duration::ZERO));
        assert_eq!((arrivals.overtaken(), arrivals.silence()), before);
    }
}
