//! Times, counted by value.

use hdrhistogram::Histogram as Counts;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest time that is told apart: an hour, in nanoseconds.
const LONGEST: u64 = 3_600_000_000_000;
/// Times are kept to three digits.
const DIGITS: u8 = 3;

/// Times in nanoseconds, each kept to 0.1 %. As JSON, a list of pairs of a time and how often it occurred.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram(Counts<u64>);

impl Default for Histogram {
    fn default() -> Self {
        // These bounds are valid, whatever the machine.
        Histogram(Counts::new_with_bounds(1, LONGEST, DIGITS).expect("valid bounds"))
    }
}

impl Histogram {
    /// Counts a time, without allocating.
    pub fn record(&mut self, nanos: u64) {
        self.0.saturating_record(nanos);
    }

    pub fn add(&mut self, other: &Histogram) {
        for (nanos, count) in other.pairs() {
            self.0.saturating_record_n(nanos, count);
        }
    }

    pub fn summary(&self) -> Option<Summary> {
        let at = |quantile| self.0.value_at_quantile(quantile);
        (!self.0.is_empty()).then(|| Summary {
            count: self.0.len(),
            mean: self.0.mean(),
            min: self.0.min(),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: self.0.max(),
        })
    }

    fn pairs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()))
    }
}

/// What there is to say of times, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub count: u64,
    pub mean: f64,
    pub min: u64,
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub p999: u64,
    pub max: u64,
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.pairs())
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut histogram = Histogram::default();
        for (nanos, count) in Vec::<(u64, u64)>::deserialize(deserializer)? {
            histogram.0.saturating_record_n(nanos, count);
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        times.into_iter().for_each(|nanos| histogram.record(nanos));
        histogram
    }

    #[test]
    fn percentiles_are_those_of_the_times() {
        let summary = of((1..=1000).rev()).summary().unwrap();
        let Summary { count, mean, min, p50, p90, p99, p999, max } = summary;
        assert_eq!((count, min, p50, p90, p99, p999, max), (1000, 1, 500, 900, 990, 999, 1000));
        assert!((mean - 500.5).abs() < 1e-9);
        assert_eq!(Histogram::default().summary(), None);
    }

    #[test]
    fn json_keeps_every_count() {
        let times = of([1, 1, 7, 123_456_789, u64::MAX]);
        let text = serde_json::to_string(&times).unwrap();
        assert!(text.starts_with("[[1,2],[7,1],[123"), "{text}");
        let again: Histogram = serde_json::from_str(&text).unwrap();
        assert_eq!(again.summary(), times.summary());
        assert_eq!(times.summary().map(|all| all.count), Some(5));
        assert_eq!(serde_json::to_string(&again).unwrap(), text);
    }

    #[test]
    fn sums_hold_both() {
        let mut sum = of([5, 6]);
        sum.add(&of([6, 9]));
        assert_eq!(sum, of([5, 6, 6, 9]));
    }
}
