//! What a rank owes of reports, to whom and by when (Liu 2004, section 4.4).

use super::groups::Groups;
use super::report::Report;
use super::seq::Seq;
use crate::rank::Rank;
use crate::time::Instant;
use std::collections::BTreeMap;

/// Reports under way to a rank at once: to one that does not listen more would only pile up. A second one
/// lets a rank say that it has all of a message, and leave, while what it said within it still goes.
const MOST_UNDER_WAY: usize = 2;

/// A report that is owed.
#[derive(Clone, Copy, Debug)]
struct Debt {
    /// When the timer sends it.
    by: Instant,
    /// It is to be sent now.
    is_due: bool,
    /// The root of the broadcast for which it is owed, and who repairs whom in it.
    context: (Rank, Groups),
}

/// A rank's debts.
#[derive(Clone, Debug)]
pub(super) struct Debts {
    first: Seq,
    owed: BTreeMap<Rank, Debt>,
    /// What was reported last.
    told: BTreeMap<Rank, Report>,
    /// What was reported last to everybody, by datagrams that may have been lost.
    said: Report,
    /// Ranks to whom a report is under way.
    under_way: Vec<Rank>,
}

impl Debts {
    pub fn new(first: Seq) -> Self {
        let (owed, told) = (BTreeMap::new(), BTreeMap::new());
        Debts { first, owed, told, said: Report::initial(first), under_way: Vec::new() }
    }

    /// What `to` was told for certain.
    pub fn told(&self, to: Rank) -> Report {
        self.told.get(&to).copied().unwrap_or(Report::initial(self.first))
    }

    /// What everybody was told, unless it was lost.
    pub fn said(&self) -> Report {
        self.said
    }

    /// A report is owed to a rank for a broadcast, by a point in time or at once.
    pub fn owe(&mut self, to: Rank, context: (Rank, Groups), now: Instant, by: Instant) {
        let debt = self.owed.entry(to).or_insert(Debt { by, is_due: false, context });
        debt.context = context;
        debt.by = debt.by.min(by);
        debt.is_due |= debt.by <= now;
    }

    /// A datagram to everybody carries the report. It may be lost, so debts are only put off.
    pub fn put_off(&mut self, by: Instant, report: Report) {
        self.said.advance(report);
        for debt in self.owed.values_mut().filter(|debt| !debt.is_due) {
            debt.by = debt.by.max(by);
        }
    }

    /// Lets debts whose time has come fall due.
    pub fn fall_due(&mut self, now: Instant) {
        for debt in self.owed.values_mut() {
            debt.is_due |= debt.by <= now;
        }
    }

    pub fn due_at(&self) -> Option<Instant> {
        self.owed.values().filter(|debt| !debt.is_due).map(|debt| debt.by).min()
    }

    /// A rank that is to be told now, for whom there is room, and of which broadcast.
    pub fn next_due(&self, room: impl Fn(Rank) -> usize) -> Option<(Rank, (Rank, Groups))> {
        let mut due = self.owed.iter().filter(|(_, debt)| debt.is_due);
        due.find(|(to, _)| self.under_way_to(**to) < MOST_UNDER_WAY && room(**to) > 0)
            .map(|(to, debt)| (*to, debt.context))
    }

    fn under_way_to(&self, to: Rank) -> usize {
        self.under_way.iter().filter(|rank| **rank == to).count()
    }

    /// A rank is being told.
    pub fn pay(&mut self, to: Rank, report: Report) {
        self.owed.remove(&to);
        self.told.insert(to, report);
        self.under_way.push(to);
    }

    /// A report has arrived.
    pub fn arrived(&mut self, to: Rank) {
        if let Some(at) = self.under_way.iter().position(|rank| *rank == to) {
            self.under_way.swap_remove(at);
        }
    }

    /// Nothing more can be told to a rank.
    pub fn forget(&mut self, rank: Rank) {
        self.owed.remove(&rank);
        self.under_way.retain(|to| *to != rank);
    }

    pub fn is_clear(&self) -> bool {
        self.owed.is_empty() && self.under_way.is_empty()
    }
}
