//! Who has left, and what other processes are to be asked or answered about it.

use crate::rdma::ids::ProcessId;
use std::collections::VecDeque;
use std::time::Duration;
use verbcast_core::time::Instant;
use verbcast_core::wire::Inquiry;

/// How long this side's adapter may take to answer the last message of a process that leaves.
const ANSWERED_AFTER: Duration = Duration::from_millis(50);

/// What an endpoint has still to do for processes that have left communicators.
#[derive(Debug, Default)]
pub struct Lifetimes {
    /// What processes are to be asked or answered.
    inquiries: VecDeque<(ProcessId, Inquiry)>,
    /// Processes that have left, and when that was heard.
    departed: VecDeque<(ProcessId, Instant)>,
}

impl Lifetimes {
    /// A process is to be asked or answered.
    pub fn inquire(&mut self, process: ProcessId, inquiry: Inquiry) {
        self.inquiries.push_back((process, inquiry));
    }

    /// Whether somebody is to be asked or answered.
    pub fn has_inquiries(&self) -> bool {
        !self.inquiries.is_empty()
    }

    /// The next one to be asked or answered.
    pub fn next_inquiry(&mut self) -> Option<(ProcessId, Inquiry)> {
        self.inquiries.pop_front()
    }

    /// A process has left.
    pub fn depart(&mut self, now: Instant, process: ProcessId) {
        self.departed.retain(|(other, _)| *other != process);
        self.departed.push_back((process, now));
    }

    /// When the first of the processes that have left will be told by [`take_departed`](Self::take_departed).
    pub fn next_departed(&self) -> Option<Instant> {
        self.departed.front().map(|(_, at)| *at + ANSWERED_AFTER)
    }

    /// A process that left long enough ago for its adapter to have heard that its farewell has come.
    pub fn take_departed(&mut self, now: Instant) -> Option<ProcessId> {
        let is_due = |(_, at): &(ProcessId, Instant)| now - *at >= ANSWERED_AFTER;
        self.departed
            .front()
            .is_some_and(is_due)
            .then(|| self.departed.pop_front())?
            .map(|one| one.0)
    }
}
