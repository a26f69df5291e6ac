//! One algorithm in one test, at one size among so many ranks.

use super::{Clocks, CpuTime, Histogram, Summary};
use serde::{Deserialize, Serialize};
use verbcast_core::driver::Statistics;

/// The shortest time that is measured, in seconds.
const SHORTEST: f64 = 1e-9;

/// What is measured, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Latency as in Liu 2004, section 6.2.
    Acknowledge,
    /// Latency as OSU's `osu_bcast` has it.
    Osu,
    /// Latency as in Hoefler 2007, section 4.3.
    Clock,
    /// Throughput as in Liu 2004, section 6.3.
    Throughput,
    /// Process skew as in Liu 2004, section 6.4.
    Skew,
}

impl Test {
    pub const LATENCY: [Test; 3] = [Test::Acknowledge, Test::Osu, Test::Clock];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Test::Acknowledge => "acknowledge",
            Test::Osu => "osu",
            Test::Clock => "clock",
            Test::Throughput => "throughput",
            Test::Skew => "skew",
        }
    }

    /// What is measured, in a line.
    pub fn describe(self) -> &'static str {
        match self {
            Test::Acknowledge => {
                "latency, receivers take turns to acknowledge, less a message's own latency (Liu 2004, \
                 section 6.2)"
            }
            Test::Osu => "latency, mean over ranks of broadcasts with barriers between (OSU)",
            Test::Clock => {
                "latency, from the root's call to each rank's return on a synchronised clock (Hoefler \
                 2007, section 4.3)"
            }
            Test::Throughput => "throughput, broadcasts back to back (Liu 2004, section 6.3)",
            Test::Skew => {
                "time in the broadcast, where receivers come late at random (Liu 2004, section 6.4)"
            }
        }
    }

    /// Whether the latency of a message and the difference of clocks must be known.
    pub fn needs_clock(self) -> bool {
        matches!(self, Test::Acknowledge | Test::Clock)
    }
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub test: Test,
    pub algorithm: String,
    pub ranks: u32,
    /// Of a message, in bytes.
    pub size: u64,
    /// Mean delay of the receivers, in nanoseconds.
    pub skew: Option<u64>,
    /// Broadcasts.
    pub iterations: u64,
    /// Messages that did not come whole at a rank; possible without repair only.
    pub lost_messages: u64,
    /// Of all ranks, in nanoseconds. For throughput, the time per broadcast of each slice of the run.
    pub histogram: Histogram,
    /// By rank; `None` for one that has measured nothing.
    pub by_rank: Vec<Option<Summary>>,
    /// Of the slowest rank, in seconds, for all broadcasts; throughput only.
    pub seconds: Option<f64>,
    /// How far the ranks' clocks may be apart, in nanoseconds; on a synchronised clock only.
    pub clock_error: Option<u64>,
    /// Each comparison of the ranks' clocks; on a synchronised clock only, and none in a file that was written before they
    /// were kept.
    #[serde(default)]
    pub clocks: Vec<Clocks>,
    /// What all ranks together have sent, lost and repaired.
    pub counters: Statistics,
    /// By rank, the CPU time for all broadcasts, from the first call until nothing is owed; none in a file that was
    /// written before it was measured.
    #[serde(default)]
    pub cpu: Vec<CpuTime>,
    /// By rank, the bytes of messages that CRCs were computed of, for all broadcasts; likewise.
    #[serde(default)]
    pub checksummed: Vec<u64>,
}

impl Point {
    pub fn new(test: Test) -> Point {
        Point {
            test,
            algorithm: String::new(),
            ranks: 0,
            size: 0,
            skew: None,
            iterations: 0,
            lost_messages: 0,
            histogram: Histogram::default(),
            by_rank: Vec::new(),
            seconds: None,
            clock_error: None,
            clocks: Vec::new(),
            counters: Statistics::default(),
            cpu: Vec::new(),
            checksummed: Vec::new(),
        }
    }

    /// Broadcasts per second; none where no time was measured.
    pub fn rate(&self) -> Option<f64> {
        let seconds = self.seconds.filter(|seconds| *seconds >= SHORTEST)?;
        Some(self.iterations as f64 / seconds)
    }

    /// 10⁶ bytes per second, to each rank.
    pub fn bandwidth(&self) -> Option<f64> {
        Some(self.rate()? * self.size as f64 / 1e6)
    }

    /// The number that algorithms are compared by: a median in microseconds, or broadcasts per second.
    pub fn figure(&self) -> Option<f64> {
        match self.test {
            Test::Throughput => self.rate(),
            _ => self.histogram.summary().map(|summary| summary.p50 as f64 / 1e3),
        }
    }

    /// CPU time of each rank for one broadcast.
    pub fn cpu_per_broadcast(&self) -> impl Iterator<Item = CpuTime> {
        let count = self.iterations.max(1);
        self.cpu
            .iter()
            .map(move |all| CpuTime { user: all.user / count, system: all.system / count })
    }

    /// Share of the messages that did not come whole, over all receivers.
    pub fn lost_share(&self) -> f64 {
        let expected = self.iterations * u64::from(self.ranks.saturating_sub(1));
        self.lost_messages as f64 / expected.max(1) as f64
    }

    /// Fragments that came another way than by multicast, where there was one.
    pub fn repaired(&self) -> Option<u64> {
        let is_multicast = self.counters.multicast_sent > 0;
        is_multicast.then_some(self.counters.repaired)
    }

    /// Whether another one differs in its algorithm alone.
    pub fn is_beside(&self, other: &Point) -> bool {
        let key = |point: &Point| (point.test, point.ranks, point.size, point.skew);
        key(self) == key(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_follow_from_the_slowest_rank() {
        let point = Point {
            ranks: 3,
            size: 500_000,
            iterations: 100,
            lost_messages: 50,
            seconds: Some(2.0),
            ..Point::new(Test::Throughput)
        };
        assert_eq!((point.rate(), point.bandwidth()), (Some(50.0), Some(25.0)));
        assert_eq!((point.figure(), point.lost_share()), (Some(50.0), 0.25));
        let cpu = vec![CpuTime { user: 700, system: 1000 }, CpuTime::default()];
        let each: Vec<_> = Point { cpu, ..point.clone() }.cpu_per_broadcast().collect();
        assert_eq!(each, [CpuTime { user: 7, system: 10 }, CpuTime::default()]);
        for seconds in [0.0, 1e-320, 9e-10] {
            assert_eq!(Point { seconds: Some(seconds), ..point.clone() }.rate(), None, "{seconds}");
        }
        let most = Point {
            iterations: u64::MAX,
            size: u64::MAX,
            seconds: Some(SHORTEST),
            ..point.clone()
        };
        assert!(most.bandwidth().is_some_and(f64::is_finite));
        let counters = Statistics { multicast_sent: 1, repaired: 3, ..Statistics::default() };
        assert_eq!((point.repaired(), Point { counters, ..point }.repaired()), (None, Some(3)));
    }
}
