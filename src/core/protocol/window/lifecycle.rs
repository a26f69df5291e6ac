//! How a broadcast begins, when it is complete here, and when nothing more is owed for it.

use super::neighbours::Neighbours;
use super::operation::Operation;
use super::{By, Config, Groups, MAX_FRAGMENTS, Repair, Repairers, Window};
use crate::protocol::{Core, Event, Limits, StartError};
use crate::rank::{OpId, Rank};
use crate::time::Instant;

impl Window {
    /// As [`start`](Core::start), with other repairers for this operation, the same at every rank.
    ///
    /// # Errors
    /// As [`start`](Core::start).
    pub fn start_with(
        &mut self,
        now: Instant,
        root: Rank,
        len: u64,
        repairers: Repairers,
    ) -> Result<OpId, StartError> {
        self.called(now);
        let Config { in_flight, .. } = self.config;
        let fragment_len = self.fragment_len(len);
        let limits = Limits { size: self.size, in_flight, fragment_len, fragments: MAX_FRAGMENTS };
        let cut = limits.admit(root, len, self.operations.len())?;
        let op = self.next_op();
        let groups = Groups::new(repairers, self.size);
        let (neighbours, are_new) = self.neighbourhoods.under(root, groups);
        if are_new {
            self.introduce(&neighbours);
        }
        let is_repaired = neighbours.repairer.is_some();
        if let (false, Some(source)) = (is_repaired, neighbours.source) {
            self.to_come.begin(op, source, cut.count());
        }
        if self.has_long_unread() {
            self.looked_at = self.next_seq;
            self.is_to_look = true;
        }
        let operation = Operation::new(self.me, neighbours, cut, self.next_seq);
        self.next_seq = operation.end();
        if let Some(to) = self.reports_to(&operation.neighbours)
            && self.last_reported_to.replace(to) != Some(to)
        {
            // It may have been told less than others.
            self.lags_from = self.have;
        }
        self.operations.push_back(operation);
        self.advance();
        if is_repaired && self.config.repair == Repair::Pull {
            self.pull.begin(now);
        }
        if let Some(since) = self.later_sent.since(op) {
            self.note_overtaken(now, since);
        }
        self.later_sent.forget(op);
        self.settle();
        self.events.extend(self.departed.iter().filter_map(|left| left.disagreement(op)));
        Ok(op)
    }

    /// The first time with a root and groups, each rank needs a connection with the one that it reports to: its
    /// repairer, to read from it too, or with credits a co-root's root. Who waits for no report may leave before it comes,
    /// and its farewell goes to those that it is connected with.
    fn introduce(&mut self, neighbours: &Neighbours) {
        let is_between = neighbours.root != self.me && !neighbours.leaves.is_empty();
        self.gathers |= is_between && self.config.credits.is_some();
        self.partners.extend(self.reports_to(neighbours));
        self.partners.extend(&neighbours.leaves);
        if self.config.credits.is_some() {
            self.partners.extend(&neighbours.co_roots);
        }
    }

    /// Emits the events that the operations' states call for, and lets complete ones go.
    pub(super) fn settle(&mut self) {
        while let Some(op) = self.ring.take_freed() {
            if let Some(slots) = self.holding.get_mut(op.0) {
                *slots -= 1;
            }
            let is_complete = self.operation(op).is_none_or(|operation| operation.is_complete);
            if is_complete && self.holding.get(op.0) == Some(&0) {
                self.holding.remove(op.0);
                self.events.push_back(Event::Quiescent(op));
            }
        }
        for index in 0..self.operations.len() {
            self.complete(index);
        }
        while self.operations.front().is_some_and(|operation| operation.is_complete) {
            self.operations.pop_front();
            self.first = self.first.next();
            self.whole -= 1;
        }
    }

    fn complete(&mut self, index: usize) {
        let op = self.first.plus(index as u32);
        let operation = &self.operations[index];
        if operation.is_complete || !operation.has_all() || !operation.keeps_all() {
            return;
        }
        let slots = self.holding.get(op.0).copied().unwrap_or(0);
        let absorbs = self.to_come.before(op.next()) <= u64::from(self.config.absorbed);
        // Who is elsewhere tells nothing. A message may find no room at a rank that is elsewhere itself.
        let is_told = self.config.by == By::Message
            || operation.repairer.is_none_or(|repairer| !self.debts.is_due(repairer));
        let waits = self.config.blocking && operation.root == self.me && slots > 0;
        let sent = !self.ring.has_queued(op);
        if !absorbs || !is_told || waits || !sent {
            return;
        }
        let operation = &mut self.operations[index];
        operation.is_complete = true;
        self.events.push_back(Event::Complete { op, lost: operation.lost() });
        if slots == 0 {
            self.holding.remove(op.0);
            self.events.push_back(Event::Quiescent(op));
        }
    }
}
