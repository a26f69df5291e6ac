//! When a membership that has ended is asked for anew.
//!
//! A subnet manager that takes over needs seconds, and then hears from all ports at once: attempts are spread, and come
//! later and later.

use std::time::Duration;
use verbcast_core::time::Instant;

/// The pause before the first attempt; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(4);
/// How long one attempt may take: longer than the kernel asks a subnet administrator.
const ATTEMPT: Duration = Duration::from_secs(5);

/// A membership that is to be made anew.
#[derive(Debug)]
pub struct Rejoin {
    /// Why.
    what: String,
    /// When it was lost, and from when on the patience counts.
    lost: Instant,
    since: Instant,
    attempts: u32,
    due: Instant,
    /// What the last attempt has met with.
    error: Option<String>,
    /// Tells the pauses of processes apart.
    spread: u64,
    /// The time that others have for theirs first.
    deference: Duration,
}

impl Rejoin {
    /// The membership was lost now; the first attempt comes after others have had the time `deference` for theirs.
    /// `spread` is random, and another one in each process.
    pub fn new(now: Instant, what: String, spread: u64, deference: Duration) -> Self {
        let (attempts, error) = (0, None);
        let mut rejoin =
            Rejoin { what, lost: now, since: now, attempts, due: now, error, spread, deference };
        rejoin.begin_anew(now);
        rejoin
    }

    /// Whether to ask now.
    pub fn is_due(&self, now: Instant) -> bool {
        self.due <= now
    }

    /// When to ask.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// An attempt has failed.
    pub fn fail(&mut self, now: Instant, error: String) {
        self.attempts += 1;
        self.error = Some(error);
        self.due = now + self.pause();
    }

    /// The way to the fabric is open again: the attempts and the patience begin anew.
    pub fn begin_anew(&mut self, now: Instant) {
        (self.since, self.attempts) = (now, 0);
        self.due = now + self.deference + self.pause();
    }

    /// How long an attempt that begins now may take, of `patience` for all of them.
    pub fn time_for_attempt(&self, now: Instant, patience: Duration) -> Duration {
        patience.saturating_sub(now - self.since).min(ATTEMPT)
    }

    /// What is wrong, if `patience` is over.
    pub fn outlasted(&self, now: Instant, patience: Duration) -> Option<String> {
        let time = now - self.lost;
        (now - self.since > patience).then(|| {
            let error = self.error.as_deref().unwrap_or("nothing answered");
            format!("not a member for {time:.1?} ({}): {error}", self.what)
        })
    }

    /// Why it was lost.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// How long it has been lost.
    pub fn time(&self, now: Instant) -> Duration {
        now - self.lost
    }

    /// From half of the time to all of it.
    fn pause(&self) -> Duration {
        let full = FIRST_PAUSE.saturating_mul(1 << self.attempts.min(16)).min(LONGEST_PAUSE);
        let share = self.spread.rotate_left(8 * self.attempts) % 256;
        full / 2 + full / 2 * share as u32 / 256
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPREAD: u64 = 0x0123_4567_89ab_cdef;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn lost(now: Instant) -> Rejoin {
        Rejoin::new(now, "SM change".to_owned(), SPREAD, Duration::ZERO)
    }

    #[test]
    fn attempts_come_later_and_later_and_spread_over_processes() {
        let mut rejoin = lost(at(0));
        let (mut now, mut full) = (at(0), FIRST_PAUSE);
        for _ in 0..12 {
            let pause = rejoin.due() - now;
            assert!(pause >= full / 2 && pause <= full, "{pause:?} of {full:?}");
            now = rejoin.due();
            assert!(rejoin.is_due(now));
            rejoin.fail(now, "no answer".to_owned());
            full = (full * 2).min(LONGEST_PAUSE);
        }
        let other = Rejoin::new(at(0), String::new(), !SPREAD, Duration::ZERO);
        assert_ne!(other.due(), lost(at(0)).due());
        let mut late = Rejoin::new(at(0), String::new(), SPREAD, LONGEST_PAUSE);
        assert_eq!(late.due() - lost(at(0)).due(), LONGEST_PAUSE);
        late.begin_anew(at(100));
        assert_eq!(late.due() - lost(at(100)).due(), LONGEST_PAUSE, "after a flap too");
    }

    #[test]
    fn an_end_without_success_names_what_was_lost_and_why() {
        let patience = Duration::from_secs(30);
        let mut rejoin = lost(at(1000));
        assert_eq!(rejoin.time_for_attempt(at(2000), patience), ATTEMPT);
        assert_eq!(rejoin.time_for_attempt(at(30_000), patience), Duration::from_secs(1));
        rejoin.fail(at(2000), "refused".to_owned());
        assert_eq!(rejoin.outlasted(at(31_000), patience), None);
        let error = rejoin.outlasted(at(31_001), patience).unwrap();
        assert!(error.contains("SM change") && error.ends_with("refused"), "{error}");
    }

    #[test]
    fn patience_begins_anew_with_a_port_that_comes_back() {
        let patience = Duration::from_secs(30);
        let mut rejoin = lost(at(0));
        rejoin.begin_anew(at(29_000));
        assert_eq!(rejoin.outlasted(at(40_000), patience), None);
        assert_eq!(rejoin.time(at(40_000)), Duration::from_secs(40));
    }
}
