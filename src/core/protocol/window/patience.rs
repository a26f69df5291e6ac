//! How long to wait for an answer: from measured round trips instead of a constant.
//!
//! The paper's timeout is fixed when it is compiled, and names what it should depend on: latency,
//! skew, window and the number of ranks (Liu 2004, section 5.3). All of these show in the time from
//! a packet to its acknowledgement, so it is estimated from that, as TCP does (RFC 6298): a smoothed
//! mean, its mean deviation, and a doubling while nothing is heard.

use std::time::Duration;

/// Bounds of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Before anything is measured.
    pub initial: Duration,
    /// At least.
    pub least: Duration,
    /// At most.
    pub most: Duration,
}

impl Default for Bounds {
    /// 2 ms at first, 100 µs at least, 200 ms at most.
    fn default() -> Self {
        Bounds {
            initial: Duration::from_millis(2),
            least: Duration::from_micros(100),
            most: Duration::from_millis(200),
        }
    }
}

/// An estimate of round trips, in nanoseconds: one is measured for every fragment.
#[derive(Clone, Debug)]
pub struct Patience {
    bounds: Bounds,
    mean: Option<u64>,
    deviation: u64,
    doublings: u32,
}

impl Patience {
    pub fn new(bounds: Bounds) -> Self {
        Patience { bounds, mean: None, deviation: 0, doublings: 0 }
    }

    /// Takes a measured round trip.
    pub fn measured(&mut self, trip: Duration) {
        let trip = trip.as_nanos().min(u128::from(u64::MAX / 8)) as u64;
        match self.mean {
            None => {
                self.mean = Some(trip);
                self.deviation = trip / 2;
            }
            Some(mean) => {
                self.deviation = (self.deviation * 3 + mean.abs_diff(trip)) / 4;
                self.mean = Some((mean * 7 + trip) / 8);
            }
        }
        self.doublings = 0;
    }

    /// A timeout has passed: the next one is twice as long until something is measured.
    pub fn passed(&mut self) {
        self.doublings = (self.doublings + 1).min(16);
    }

    /// One round trip, as far as known.
    pub fn trip(&self) -> Duration {
        self.bound(self.mean.map_or(self.bounds.initial, Duration::from_nanos))
    }

    /// How long to wait before something counts as lost.
    pub fn timeout(&self) -> Duration {
        let base = match self.mean {
            Some(mean) => Duration::from_nanos(mean + 4 * self.deviation),
            None => self.bounds.initial,
        };
        self.bound(self.bound(base).saturating_mul(1 << self.doublings))
    }

    fn bound(&self, duration: Duration) -> Duration {
        duration.clamp(self.bounds.least, self.bounds.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_timeout_follows_what_is_measured() {
        let mut patience = Patience::new(Bounds::default());
        assert_eq!(patience.timeout(), 2 * MS);
        for _ in 0..100 {
            patience.measured(10 * MS);
        }
        assert!(patience.timeout() < 11 * MS && patience.timeout() >= 10 * MS);
        patience.measured(40 * MS);
        assert!(patience.timeout() > 20 * MS, "a surprise makes it cautious");
    }

    #[test]
    fn it_doubles_while_nothing_is_heard_up_to_a_bound() {
        let mut patience = Patience::new(Bounds::default());
        patience.passed();
        assert_eq!(patience.timeout(), 4 * MS);
        (0..40).for_each(|_| patience.passed());
        assert_eq!(patience.timeout(), 200 * MS);
        patience.measured(3 * MS);
        assert!(patience.timeout() < 10 * MS);
    }
}
