//! Connections that have failed without a reason.
//!
//! Where a request fails, its completion says why. SoftRoCE also ends all requests of a queue pair at once, with none that
//! says why: where it cannot make sense of an answer, and where its netdev has no carrier and it sends. Then its port goes
//! down for the same cause, which is told a moment later. So what such a failure is blamed on waits for that moment.

use super::Endpoint;
use crate::rdma::ids::ProcessId;
use std::time::Duration;
use verbcast_core::time::Instant;

/// How long news of the port may take. Linux tells of a carrier that was lost within a second at most.
const NEWS_PATIENCE: Duration = Duration::from_millis(1200);

/// The processes whose connections have failed so, and when that is to be told.
#[derive(Debug, Default)]
pub struct Suspects(Vec<(ProcessId, Instant)>);

impl Suspects {
    /// Takes note of one; when it is to be told, if that is news.
    fn note(&mut self, now: Instant, process: ProcessId) -> Option<Instant> {
        if self.0.iter().any(|(known, _)| *known == process) {
            return None;
        }
        let at = now + NEWS_PATIENCE;
        self.0.push((process, at));
        Some(at)
    }

    /// Those that are to be told now.
    fn take_due(&mut self, now: Instant) -> Vec<ProcessId> {
        let due = self.0.extract_if(.., |(_, at)| *at <= now);
        due.map(|(process, _)| process).collect()
    }
}

impl Endpoint {
    /// The requests of a connection were ended, and nothing says why yet.
    pub(super) fn suspect(&mut self, now: Instant, process: ProcessId) {
        if let Some(at) = self.suspects.note(now, process) {
            self.upkeep.wake_at(at);
        }
    }

    pub(super) fn tend_suspects(&mut self, now: Instant) {
        for process in self.suspects.take_due(now) {
            self.lose(now, process, "requests to it were flushed");
        }
        if let Some((_, at)) = self.suspects.0.first() {
            self.upkeep.wake_at(*at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspect_is_told_once_and_not_at_once() {
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let (one, other) = (ProcessId(1), ProcessId(2));
        let mut suspects = Suspects::default();
        assert_eq!(suspects.note(at(0), one), Some(at(1200)));
        assert_eq!(suspects.note(at(5), one), None);
        suspects.note(at(100), other);
        assert_eq!(suspects.take_due(at(1199)), []);
        assert_eq!(suspects.take_due(at(1200)), [one]);
        assert_eq!(suspects.take_due(at(2000)), [other]);
    }
}
