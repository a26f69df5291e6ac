//! Time as the protocol cores see it: nanoseconds since an origin that the caller chooses.
//!
//! Cores never read a clock. Hardware drivers count from the start of the process, a simulation
//! from zero, and the same core serves both.

use std::ops::{Add, Sub};
use std::sync::OnceLock;
use std::time::Duration;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// A point in time, in nanoseconds since the caller's origin (584 years fit).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The caller's origin.
    pub const ZERO: Instant = Instant(0);

    /// The point `nanos` nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Instant(nanos)
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`, or zero where `earlier` is the later one.
    pub fn since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Instant(self.0.saturating_add(nanos))
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        self.since(earlier)
    }
}

/// The monotonic clock of this process: all that is timed in it can be compared, as communicators must whose
/// connections are the same.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: std::time::Instant,
}

impl Clock {
    /// The clock, whose origin is the first call of this.
    pub fn of_process() -> Self {
        static ORIGIN: OnceLock<std::time::Instant> = OnceLock::new();
        Clock { origin: *ORIGIN.get_or_init(std::time::Instant::now) }
    }

    /// The time now. Each turn asks for it, so it is made without the checks of a [`Duration`]'s arithmetic.
    pub fn now(&self) -> Instant {
        let elapsed = self.origin.elapsed();
        Instant(elapsed.as_secs() * NANOS_PER_SECOND + u64::from(elapsed.subsec_nanos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        let end = Instant::from_nanos(u64::MAX);
        assert_eq!(end + Duration::from_secs(1), end);
        assert_eq!(Instant::ZERO - end, Duration::ZERO);
        assert_eq!(Instant::from_nanos(7) - Instant::from_nanos(4), Duration::from_nanos(3));
    }
    #[test]
    fn clocks_agree_whenever_they_are_made() {
        let older = Clock::of_process();
        let before = older.now();
        std::thread::sleep(Duration::from_millis(2));
        let younger = Clock::of_process();
        let between = younger.now();
        assert!(before + Duration::from_millis(2) <= between && between <= older.now());
    }
}
