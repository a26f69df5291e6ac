//! What one rank notes of one contender.

use crate::message::Message;
use crate::results::{CpuTime, Histogram, Point};
use serde::{Deserialize, Serialize};
use verbcast_core::driver::Statistics;

#[derive(Default, Serialize, Deserialize)]
pub struct Log {
    pub iterations: u64,
    pub lost_messages: u64,
    pub histogram: Histogram,
    /// Time in which broadcasts were back to back.
    pub nanos: u64,
    /// What this rank has sent, lost and repaired.
    pub counters: Statistics,
    /// What this rank has used.
    pub cpu: CpuTime,
    /// Bytes of messages that this rank has computed CRCs of.
    pub checksummed: u64,
}

impl Message for Log {
    const FORMAT: &'static str = "verbcast bench log 2";
}

impl Log {
    /// Puts the ranks' logs, in their order, into a point.
    pub fn merge(logs: &[Log], point: Point) -> Point {
        let mut histogram = Histogram::default();
        logs.iter().for_each(|log| histogram.add(&log.histogram));
        let slowest = logs.iter().map(|log| log.nanos).max().unwrap_or(0);
        Point {
            iterations: logs.first().map_or(0, |log| log.iterations),
            lost_messages: logs.iter().map(|log| log.lost_messages).sum(),
            by_rank: logs.iter().map(|log| log.histogram.summary()).collect(),
            seconds: (slowest > 0).then_some(slowest as f64 / 1e9),
            counters: logs.iter().map(|log| log.counters).sum(),
            cpu: logs.iter().map(|log| log.cpu).collect(),
            checksummed: logs.iter().map(|log| log.checksummed).collect(),
            histogram,
            ..point
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Test;

    #[test]
    fn ranks_are_put_together() {
        let log = |times: &[u64], nanos, lost| {
            let mut log = Log { iterations: 5, nanos, lost_messages: lost, ..Log::default() };
            times.iter().for_each(|time| log.histogram.record(*time));
            log.counters.repaired = lost;
            log.cpu = CpuTime { user: nanos / 2, system: lost };
            log
        };
        let logs = [log(&[10, 20], 3_000_000_000, 0), log(&[30], 4_000_000_000, 2), log(&[], 0, 5)];
        let point = Log::merge(&logs, Point { ranks: 3, ..Point::new(Test::Throughput) });
        assert_eq!((point.iterations, point.lost_messages, point.ranks), (5, 7, 3));
        assert_eq!((point.seconds, point.counters.repaired), (Some(4.0), 7));
        let means: Vec<_> = point.by_rank.iter().map(|rank| rank.map(|rank| rank.mean)).collect();
        assert_eq!(means, [Some(15.0), Some(30.0), None]);
        assert_eq!(point.cpu[1], CpuTime { user: 2_000_000_000, system: 2 });
        assert_eq!(point.histogram.summary().map(|all| all.count), Some(3));
    }
}
