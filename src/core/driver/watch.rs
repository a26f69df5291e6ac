//! When to ask whether the peers are still there.

use crate::time::Instant;
use std::time::Duration;

/// How long an operation may go without progress before the peers' adapters are asked, and how
/// often they are asked from then on.
pub(super) const PROBE_INTERVAL: Duration = Duration::from_millis(250);

/// Watches for progress while operations are in flight.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The last progress or question, while something is in flight.
    since: Option<Instant>,
}

impl Watch {
    /// Something happened.
    pub fn progress(&mut self, now: Instant) {
        self.since = Some(now);
    }

    /// Nothing is in flight.
    pub fn rest(&mut self) {
        self.since = None;
    }

    /// When the peers are to be asked next.
    pub fn due_at(&self) -> Option<Instant> {
        Some(self.since? + PROBE_INTERVAL)
    }

    /// Whether the peers are to be asked now.
    pub fn take_due(&mut self, now: Instant) -> bool {
        let due = self.due_at().is_some_and(|at| at <= now);
        if due {
            self.since = Some(now);
        }
        due
    }
}
