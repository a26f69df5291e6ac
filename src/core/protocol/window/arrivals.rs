//! How long to wait for a fragment: from those that come by themselves.
//!
//! Fragments wait in queues on their way, behind others and until a busy CPU looks. None of that is loss, and all of it
//! shows in the pauses: in the usual one, which tells how soon what came too early in a path may be expected, and in the
//! longest one of late, which tells how long a root may be silent and still be sending. Where paths differ, fragments overtake
//! one another; for how long the one that was latest of late had been overtaken tells when another is lost.

use super::patience::{Bounds, Patience};
use crate::time::Instant;
use std::time::Duration;

/// How long the longest time of a kind is remembered before it counts half.
const REMEMBERED: Duration = Duration::from_secs(1);
/// How many times as long as the longest pause of late a silence is borne.
const MARGIN: u32 = 4;

/// The longest time of a kind of late.
#[derive(Clone, Copy, Debug)]
struct Longest {
    time: Duration,
    /// Since when it counts as it does.
    since: Instant,
}

impl Longest {
    const fn new(time: Duration) -> Self {
        Longest { time, since: Instant::ZERO }
    }

    /// Takes another one; whether the longest of late is another now.
    fn take(&mut self, now: Instant, time: Duration) -> bool {
        let fades = now - self.since >= REMEMBERED;
        let faded = if fades { self.time / 2 } else { self.time };
        let changes = fades || time >= faded;
        if changes {
            *self = Longest { time: faded.max(time), since: now };
        }
        changes
    }
}

/// The pauses between fragments that come by themselves, and how late some of them are.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    bounds: Bounds,
    usual: Patience,
    longest: Longest,
    /// After how long of silence a fragment may be lost: asked for at each fragment, and seldom another.
    silence: Duration,
    latest: Longest,
}

impl Arrivals {
    pub fn new(bounds: Bounds) -> Self {
        let (longest, latest) = (Longest::new(bounds.initial), Longest::new(Duration::ZERO));
        let (usual, silence) = (Patience::new(bounds), bear(longest.time, bounds));
        Arrivals { bounds, usual, longest, silence, latest }
    }

    /// A fragment came after a pause. What was taken in together says nothing.
    pub fn paused(&mut self, now: Instant, pause: Duration) {
        if pause.is_zero() {
            return;
        }
        self.usual.measured(pause);
        if self.longest.take(now, pause) {
            self.silence = bear(self.longest.time, self.bounds);
        }
    }

    /// A fragment came so long after others had overtaken it.
    pub fn late(&mut self, now: Instant, by: Duration) {
        self.latest.take(now, by.min(self.bounds.most));
    }

    /// The usual pause.
    pub fn usual(&self) -> Duration {
        self.usual.trip()
    }

    /// For how long the latest fragment of late had been overtaken when it came; less, the longer ago that was.
    pub fn latest(&self, now: Instant) -> Duration {
        let halved = (now - self.latest.since).as_secs() / REMEMBERED.as_secs();
        self.latest.time / (1 << halved.min(31))
    }

    /// The longest pause of late.
    pub fn longest(&self) -> Duration {
        self.longest.time.clamp(self.bounds.least, self.bounds.most)
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
        assert!(arrivals.usual() < 2 * MS, "what is usual is known all the same");
        (0..10_000).for_each(|_| pause(&mut arrivals, MS));
        assert!(arrivals.silence() < 10 * MS, "it is forgotten in the end");
    }

    #[test]
    fn how_late_fragments_were_counts_less_the_longer_ago_that_was() {
        let mut arrivals = Arrivals::new(Bounds::default());
        let now = Instant::ZERO + 700 * MS;
        assert_eq!(arrivals.latest(now), Duration::ZERO, "none was late");
        arrivals.late(now, 8 * MS);
        arrivals.late(now, MS);
        assert_eq!(arrivals.latest(now), 8 * MS);
        assert_eq!(arrivals.latest(now + 3_100 * MS), MS);
        arrivals.late(now + 3_100 * MS, 2 * MS);
        assert_eq!(arrivals.latest(now + 3_100 * MS), 4 * MS, "what was late before counts half");
    }

    #[test]
    fn what_comes_together_says_nothing_of_pauses() {
        let mut arrivals = Arrivals::new(Bounds::default());
        let before = (arrivals.usual(), arrivals.silence());
        (0..100).for_each(|_| arrivals.paused(Instant::ZERO, Duration::ZERO));
        assert_eq!((arrivals.usual(), arrivals.silence()), before);
    }
}
