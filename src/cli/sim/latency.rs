//! How long the broadcasts took.

use serde::Serialize;
use verbcast_sim::{Call, Outcome, Plan};

/// Times from the root's call to the end of the last rank's, over the operations.
#[derive(Debug, PartialEq, Serialize)]
pub struct Latency {
    pub mean_ns: f64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
    /// Whether a broadcast began anywhere before the one before it had ended everywhere.
    pub overlapping: bool,
}

impl Latency {
    /// Those of all jobs.
    pub fn of(plan: &Plan, outcomes: &[Outcome]) -> Latency {
        let times = outcomes.iter().flat_map(|outcome| {
            let steps = plan.steps.iter().enumerate();
            steps.map(|(step, what)| outcome.latency(step, what.root))
        });
        let times = times.collect();
        let mut pairs = outcomes.iter().flat_map(|outcome| outcome.calls.windows(2));
        let overlapping = pairs.any(|pair| {
            let begins = pair[1].iter().map(|call| call.began).min();
            begins < Some(last_end(&pair[0]))
        });
        Latency { overlapping, ..Latency::summary(times) }
    }

    /// The percentiles are the nearest ranks: each is a time that occurred.
    fn summary(mut times: Vec<u64>) -> Latency {
        times.sort_unstable();
        let percentile = |percent: usize| {
            let at = (times.len() * percent).div_ceil(100).max(1) - 1;
            times.get(at).copied().unwrap_or(0)
        };
        let sum: f64 = times.iter().map(|time| *time as f64).sum();
        Latency {
            mean_ns: sum / times.len().max(1) as f64,
            p50_ns: percentile(50),
            p99_ns: percentile(99),
            max_ns: percentile(100),
            overlapping: false,
        }
    }
}

/// Broadcasts per second that ended everywhere, over the second half of the operations, when buffers and
/// queues are as full as they get.
pub fn throughput(outcome: &Outcome) -> Option<f64> {
    let calls = &outcome.calls;
    let middle = calls.len() / 2;
    let from = last_end(calls.get(middle.checked_sub(1)?)?);
    let nanos = last_end(calls.last()?).saturating_sub(from);
    (nanos > 0).then(|| (calls.len() - middle) as f64 * 1e9 / nanos as f64)
}

fn last_end(calls: &[Call]) -> u64 {
    calls.iter().map(|call| call.ended).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_occurred() {
        let latency = Latency::summary((1..=200).rev().collect());
        assert_eq!((latency.p50_ns, latency.p99_ns, latency.max_ns), (100, 198, 200));
        assert!((latency.mean_ns - 100.5).abs() < 1e-9);
        let one = Latency::summary(vec![7]);
        assert_eq!((one.p50_ns, one.p99_ns, one.max_ns), (7, 7, 7));
    }
}
