//! The clock of a process, as the protocol cores count time.

use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;
use verbcast_core::time::Instant;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The monotonic clock of this process: all that is timed in it can be compared, as communicators must whose
/// connections are the same.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// Nanoseconds since the host was started.
    origin: u64,
}

impl Clock {
    /// The clock, whose origin is the first call of this.
    pub fn of_process() -> Self {
        static ORIGIN: OnceLock<u64> = OnceLock::new();
        Clock { origin: *ORIGIN.get_or_init(nanos_since_start) }
    }

    /// The time now. Each turn asks for it, so it is a number from the beginning, without the checks of
    /// [`std::time::Instant`].
    #[inline]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(nanos_since_start() - self.origin)
    }
}

#[inline]
fn nanos_since_start() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * NANOS_PER_SECOND + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

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
