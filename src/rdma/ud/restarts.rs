//! When a queue pair that fails is restarted.

use std::time::Duration;
use verbcast_core::time::Instant;

/// The pause before the second restart in a row; each further one doubles it. The first restart comes at once.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// The longest pause. A queue pair that stood for as long has not failed again, but anew.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The failures of a queue pair.
#[derive(Debug, Default)]
pub struct Restarts {
    /// Those in a row, if it has not worked since.
    failing: Option<Failing>,
    count: u64,
}

#[derive(Debug)]
struct Failing {
    since: Instant,
    times: u32,
    /// When it is, or was, to be restarted.
    due: Instant,
    what: String,
}

impl Restarts {
    /// It has failed.
    pub fn fail(&mut self, now: Instant, what: &str) {
        self.count += 1;
        let before = self.failing.take().filter(|failing| now - failing.due < LONGEST_PAUSE);
        let (since, times) = before.map_or((now, 1), |before| (before.since, before.times + 1));
        let pause = match times {
            1 => Duration::ZERO,
            _ => FIRST_PAUSE.saturating_mul(1 << (times - 2).min(20)).min(LONGEST_PAUSE),
        };
        self.failing = Some(Failing { since, times, due: now + pause, what: what.to_owned() });
    }

    /// It has sent or received.
    pub fn work(&mut self) {
        if self.failing.is_some() {
            self.failing = None;
        }
    }

    /// Whether it may be restarted now.
    pub fn is_due(&self, now: Instant) -> bool {
        self.failing.as_ref().is_none_or(|failing| failing.due <= now)
    }

    /// What is wrong, if it has failed for longer than `patience` without working in between.
    pub fn outlasted(&self, now: Instant, patience: Duration) -> Option<String> {
        let failing =
            self.failing.as_ref().filter(|failing| failing.due - failing.since > patience)?;
        let Failing { since, times, what, .. } = failing;
        Some(format!("the UD QP has failed {times} times in {:.1?}: {what}", now - *since))
    }

    /// Failures in all.
    pub fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn the_first_restart_comes_at_once_and_further_ones_later_and_later() {
        let mut restarts = Restarts::default();
        assert!(restarts.is_due(at(0)), "a flush that was asked for is no failure");
        restarts.fail(at(10), "it broke");
        assert!(restarts.is_due(at(10)));
        let mut now = at(10);
        let pauses = (0..14).map(|_| {
            restarts.fail(now, "it broke");
            let begun = now;
            while !restarts.is_due(now) {
                now = now + Duration::from_millis(1);
            }
            (now - begun).as_millis()
        });
        let expected = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000, 1000, 1000];
        assert_eq!(pauses.collect::<Vec<_>>(), expected);
        assert_eq!(restarts.count(), 15);
    }

    #[test]
    fn what_works_in_between_may_fail_for_ever() {
        let patience = Duration::from_secs(3);
        let fail = |works: bool, pause: u64| {
            let mut restarts = Restarts::default();
            (0..20).find_map(|round| {
                let now = at(round * pause);
                restarts.fail(now, "local length error");
                if works {
                    restarts.work();
                }
                restarts.outlasted(now, patience)
            })
        };
        assert_eq!(fail(true, 500), None);
        assert_eq!(fail(false, 5000), None, "it stood for seconds each time");
        let error = fail(false, 500).unwrap();
        assert!(error.ends_with("local length error") && error.contains("times in"), "{error}");
    }
}
