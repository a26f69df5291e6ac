//! Where acknowledgements are decided: what a rank reports, to whom and when (Liu 2004, section 4.4), and what others
//! report to it.
//!
//! No fragment is acknowledged by itself. A report says up to where everything is here, of all roots together.
//!
//! 1. What: [`Window::advance`], called for each fragment that is placed (`transfer.rs`), owes each message as it is whole
//!    here. It is due at once if the policy says so ([`Config::acknowledges`](super::Config)) or much has become whole
//!    unsaid, and by the timer otherwise. [`Window::owe_what_lags`] owes, whatever the policy, before a window or the
//!    credits run out; [`Window::note_question`], where ranks acknowledge when they are asked.
//! 2. To whom: [`GroupsUnder::repairer`](super::groups::GroupsUnder::repairer). With credits a co-root reports to the root besides.
//! 3. When: [`Debts`](super::debts) keeps what is owed until it is due, at once or by a timer.
//! 4. It goes in [`Window::tell`], or along with a multicast of this rank: [`Window::report`].

use super::neighbours::Neighbours;
use super::operation::Operation;
use super::{By, Report, Seq, Window};
use crate::protocol::{Core, Counter, Piece, Room, Target, Transmit};
use crate::rank::{Fragment, Rank};
use crate::time::Instant;
use crate::wire::Kind;
use std::sync::Arc;

/// By how many times its usual delay an acknowledgement is put off that went along with a multicast.
const PUT_OFF: u32 = 4;

impl Window {
    /// Notes how far everything is here, and owes the acknowledgement of each message that has become whole.
    pub(super) fn advance(&mut self) {
        while let Some(operation) = self.operations.get(self.whole) {
            self.have = operation.have();
            if !operation.has_all() {
                break;
            }
            let op = self.first.plus(self.whole as u32);
            let now = self.now;
            let neighbours = &operation.neighbours;
            if let Some(repairer) = operation.repairer {
                let is_due = self.config.acknowledges(op, self.me)
                    || self.debts.leave_unsaid(repairer, self.unsaid(operation, repairer))
                        > self.config.most_unsaid();
                let by = if is_due { now } else { now + self.config.acknowledge_after };
                self.debts.owe(repairer, neighbours, now, by);
            }
            self.whole += 1;
        }
        self.answer();
        self.owe_what_lags();
        if !self.reads() {
            self.pull.rest();
        }
    }

    /// Fragments of a whole message that its repairer does not know to be here.
    fn unsaid(&self, operation: &Operation, repairer: Rank) -> u32 {
        let new = self.have.after(self.debts.told(repairer).have).unsigned_abs();
        new.min(operation.cut.count().into()) as u32
    }

    /// Takes a rank's report.
    pub(super) fn learn(&mut self, from: Rank, value: u64) {
        let Some(report) = Report::parse(value, self.next_seq) else { return };
        if self.ring.learn(self.now, from, report) {
            if self.config.credits.is_some() {
                self.owe_what_lags();
            }
            self.settle();
        }
    }

    /// Sends a report that is due.
    pub(super) fn tell(&mut self, room: &dyn Room) -> Option<Transmit> {
        let by = self.config.by;
        let (to, neighbours) = self.debts.next_due(|to| match by {
            By::Counter => room.report_room(to),
            By::Message => room.reliable_room(to),
        })?;
        let report = self.report(&neighbours);
        self.debts.pay(to, report);
        self.settle();
        if self.config.asks() && report.credit.after(report.have) < 0 {
            self.owe_what_lags();
        }
        Some(match by {
            By::Counter => {
                Transmit::Report { to, counter: Counter::Acknowledged, value: report.emit() }
            }
            By::Message => {
                let (op, fragment) = (self.next_op(), Fragment(0));
                let (kind, report) = (Kind::Acknowledge, report.emit());
                let piece = Piece { kind, op, fragment, message_len: 0, report, asks: false };
                Transmit::Send { target: Target::Rank(to), piece, range: 0..0 }
            }
        })
    }

    /// Whom this rank reports to in a broadcast.
    pub(super) fn reports_to(&self, neighbours: &Neighbours) -> Option<Rank> {
        let co_root_reports = self.config.credits.is_some() && neighbours.root != self.me;
        neighbours.repairer.or(co_root_reports.then_some(neighbours.root))
    }

    /// What this rank reports in a broadcast of `root`.
    pub(super) fn report(&self, neighbours: &Neighbours) -> Report {
        let mut credit = self.have;
        if self.config.credits.is_some() {
            for leaf in &neighbours.leaves {
                credit = credit.earlier(self.ring.known(*leaf).credit);
            }
        }
        Report { have: self.have, credit, lost: self.lost }
    }

    /// A report that lags too far is due at once, or soon where a datagram may have brought it.
    fn owe_what_lags(&mut self) {
        if !self.gathers && self.have.after(self.lags_from) < 0 {
            return;
        }
        let chunk = self.config.chunk();
        // What begins next most often reports to the same rank as the last.
        let last = self.last_reported_to.map_or(self.have, |to| self.debts.told(to).have);
        let mut lags_from = self.have.earlier(last).plus(chunk);
        for index in 0..self.operations.len() {
            let operation = &self.operations[index];
            let Some(to) = self.reports_to(&operation.neighbours) else { continue };
            let neighbours = Arc::clone(&operation.neighbours);
            let report = self.report(&neighbours);
            let told = self.debts.told(to);
            lags_from = lags_from.earlier(told.have.plus(chunk));
            if report.lead(told) < chunk.into() {
                self.owe_credit(to, &neighbours, report.credit);
                continue;
            }
            let was_said = report.lead(self.debts.said()) < chunk.into();
            let by = if was_said { self.put_off() } else { self.now };
            self.debts.owe(to, &neighbours, self.now, by);
        }
        self.lags_from = lags_from;
    }

    /// Credits that were gathered pass through any number of ranks. What each holds back must not add up to all that there
    /// are, so credits go on at once where they pass a multiple of a share, the same one at every rank, and others after a
    /// while. A rank that gathers in one broadcast may owe its own credit in another, where both go to the same rank and
    /// nobody asks for the second.
    fn owe_credit(&mut self, to: Rank, neighbours: &Arc<Neighbours>, credit: Seq) {
        let told = self.debts.told(to);
        if self.config.credits.is_none() || credit.after(told.credit) <= 0 {
            return;
        }
        let gathers = !neighbours.leaves.is_empty();
        let held_back = self.config.asks() && told.credit.after(told.have) < 0;
        if !(gathers || held_back) {
            return;
        }
        let share = self.config.share();
        let is_more = credit.shares(share) > told.credit.shares(share);
        let by = if is_more { self.now } else { self.now + self.config.acknowledge_after };
        self.debts.owe(to, neighbours, self.now, by);
    }

    /// Until when a report is put off that went along with a multicast.
    pub(super) fn put_off(&self) -> Instant {
        self.now + self.config.acknowledge_after * PUT_OFF
    }
}
