//! Time as the protocol cores see it: nanoseconds since an origin that the caller chooses.
//!
//! Cores never read a clock. Hardware drivers count from the start of the process, a simulation
//! from zero, and the same core serves both.

use std::ops::{Add, Sub};
use std::time::Duration;

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
}
