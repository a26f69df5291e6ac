//! What a rank owes of reports, to whom and by when (Liu 2004, section 4.4).

use super::neighbours::Neighbours;
use super::report::Report;
use super::seq::Seq;
use crate::protocol::SmallMap;
use crate::rank::Rank;
use crate::time::Instant;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Reports under way to a rank at once: to one that does not listen more would only pile up. A second one
/// lets a rank say that it has all of a message, and leave, while what it said within it still goes.
const MAX_UNDER_WAY: usize = 2;

/// A report that is owed.
#[derive(Clone, Debug)]
struct Debt {
    /// When the timer sends it.
    by: Instant,
    /// It is to be sent now.
    is_due: bool,
    /// Who this rank has to do with in the broadcast for which it is owed.
    neighbours: Arc<Neighbours>,
    /// It acknowledges what its receiver keeps until then. Otherwise it is about credits, which who has
    /// all of its broadcasts may take along.
    is_awaited: bool,
}

/// A report that was asked for, before it can be given.
#[derive(Clone, Debug)]
struct Question {
    /// It is to say that everything before this fragment is here.
    until: Seq,
    /// Who this rank has to do with in the broadcast that asks.
    neighbours: Arc<Neighbours>,
}

/// A rank's debts.
#[derive(Clone, Debug)]
pub(super) struct Debts {
    first: Seq,
    owed: SmallMap<Rank, Debt>,
    /// The last question of each rank that is not answered.
    asked: SmallMap<Rank, Question>,
    /// What is not due falls due no sooner than this.
    quiet_until: Instant,
    /// Fragments of whole messages that ranks keep until they are told.
    unsaid: SmallMap<Rank, u32>,
    /// What was reported last.
    told: SmallMap<Rank, Report>,
    /// What was reported last to everybody, by datagrams that may have been lost.
    said: Report,
    /// Ranks to whom a report is under way, and whether it is awaited there.
    under_way: Vec<(Rank, bool)>,
    /// Ranks to whom nothing is owed any more.
    gone: BTreeSet<Rank>,
}

impl Debts {
    pub fn new(first: Seq) -> Self {
        Debts {
            first,
            owed: SmallMap::default(),
            asked: SmallMap::default(),
            quiet_until: Instant::ZERO,
            unsaid: SmallMap::default(),
            told: SmallMap::default(),
            said: Report::initial(first),
            under_way: Vec::new(),
            gone: BTreeSet::new(),
        }
    }

    /// What `to` was told for certain.
    pub fn told(&self, to: Rank) -> Report {
        self.told.get(to).copied().unwrap_or(Report::initial(self.first))
    }

    /// What everybody was told, unless it was lost.
    pub fn said(&self) -> Report {
        self.said
    }

    /// A report is owed to a rank for a broadcast, by a point in time or at once.
    pub fn owe(&mut self, to: Rank, neighbours: &Arc<Neighbours>, now: Instant, by: Instant) {
        if self.gone.contains(&to) {
            return;
        }
        let is_awaited = neighbours.repairer == Some(to);
        let Some(debt) = self.owed.get_mut(to) else {
            let neighbours = Arc::clone(neighbours);
            self.owed.insert(to, Debt { by, is_due: by <= now, neighbours, is_awaited });
            return;
        };
        if !Arc::ptr_eq(&debt.neighbours, neighbours) {
            debt.neighbours = Arc::clone(neighbours);
        }
        debt.is_awaited |= is_awaited;
        debt.by = debt.by.min(by);
        debt.is_due |= debt.by <= now;
    }

    /// A rank keeps so many more fragments until it is told; how many these are now.
    pub fn leave_unsaid(&mut self, to: Rank, fragments: u32) -> u32 {
        let unsaid = self.unsaid.get_or_insert(to, 0);
        *unsaid = unsaid.saturating_add(fragments);
        *unsaid
    }

    /// The fragments that a rank keeps until it is told.
    pub fn unsaid(&self, to: Rank) -> u32 {
        self.unsaid.get(to).copied().unwrap_or(0)
    }

    /// A rank asks to be told when everything before a fragment is here.
    pub fn ask(&mut self, to: Rank, until: Seq, neighbours: &Arc<Neighbours>) {
        let is_known = self.asked.get(to).is_some_and(|last| until.after(last.until) <= 0);
        if !is_known {
            self.asked.insert(to, Question { until, neighbours: Arc::clone(neighbours) });
        }
    }

    /// Whether somebody asks for what is not here yet.
    pub fn is_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Everything before a fragment is here: who has asked for that is owed a report now, unless it was told.
    pub fn answer(&mut self, have: Seq, now: Instant) {
        if self.asked.is_empty() {
            return;
        }
        while let Some((to, Question { until, neighbours })) = self.next_answer(have) {
            self.asked.remove(to);
            if self.told(to).have.after(until) < 0 {
                self.owe(to, &neighbours, now, now);
            }
        }
    }

    fn next_answer(&self, have: Seq) -> Option<(Rank, Question)> {
        let mut asked = self.asked.iter().map(|(to, question)| (to, question.clone()));
        asked.find(|(_, question)| have.after(question.until) >= 0)
    }

    /// More is coming, so that what is not due can wait: a later report says more.
    pub fn keep_quiet(&mut self, until: Instant) {
        self.quiet_until = until;
    }

    /// Everything that is owed is to be told now.
    pub fn call_in(&mut self) {
        self.owed.values_mut().for_each(|debt| debt.is_due = true);
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
        if now < self.quiet_until {
            return;
        }
        for debt in self.owed.values_mut() {
            debt.is_due |= debt.by <= now;
        }
    }

    pub fn due_at(&self) -> Option<Instant> {
        let by = self.owed.values().filter(|debt| !debt.is_due).map(|debt| debt.by).min();
        by.map(|by| by.max(self.quiet_until))
    }

    /// A rank that is to be told now, for whom there is room, and of which broadcast.
    pub fn next_due(&self, room: impl Fn(Rank) -> usize) -> Option<(Rank, Arc<Neighbours>)> {
        let mut due = self.owed.iter().filter(|(_, debt)| debt.is_due);
        due.find(|(to, _)| self.under_way_to(*to) < MAX_UNDER_WAY && room(*to) > 0)
            .map(|(to, debt)| (to, Arc::clone(&debt.neighbours)))
    }

    /// Whether a rank that keeps something until it is told is to be told now.
    pub fn is_due(&self, to: Rank) -> bool {
        self.owed.get(to).is_some_and(|debt| debt.is_due && debt.is_awaited)
    }

    /// Whether what is owed to a rank is to be told by now, and waits at most for quiet.
    pub fn is_overdue(&self, now: Instant, to: Rank) -> bool {
        self.owed.get(to).is_some_and(|debt| debt.is_due || debt.by <= now)
    }

    fn under_way_to(&self, to: Rank) -> usize {
        self.under_way.iter().filter(|(rank, _)| *rank == to).count()
    }

    /// A rank is being told.
    pub fn pay(&mut self, to: Rank, report: Report) {
        let is_awaited = self.owed.remove(to).is_some_and(|debt| debt.is_awaited);
        self.unsaid.remove(to);
        self.told.insert(to, report);
        self.under_way.push((to, is_awaited));
    }

    /// A report has arrived: the one that left first.
    pub fn arrived(&mut self, to: Rank) {
        if let Some(at) = self.under_way.iter().position(|(rank, _)| *rank == to) {
            self.under_way.remove(at);
        }
    }

    /// Nothing more can be told to a rank, nor need it be.
    pub fn forget(&mut self, rank: Rank) {
        self.gone.insert(rank);
        self.owed.remove(rank);
        self.asked.remove(rank);
        self.under_way.retain(|(to, _)| *to != rank);
    }

    /// Whether no report is awaited that was not received.
    pub fn is_clear(&self) -> bool {
        let under_way = self.under_way.iter().any(|(_, is_awaited)| *is_awaited);
        !under_way && !self.owed.values().any(|debt| debt.is_awaited)
    }
}
