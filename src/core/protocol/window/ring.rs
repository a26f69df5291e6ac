//! What a root or co-root keeps for its leaves, and when it sends it again (Liu 2004, sections 5.1
//! and 5.3).

use super::groups::Groups;
use super::patience::Patience;
use super::report::Report;
use super::seq::Seq;
use crate::protocol::{Target, Token, Transmit};
use crate::rank::{OpId, Rank};
use crate::time::Instant;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// A fragment in a slot.
#[derive(Clone, Debug)]
struct Retained {
    seq: Seq,
    token: Token,
    root: Rank,
    groups: Groups,
    since: Instant,
    /// Leaves whose acknowledgement is awaited.
    unacknowledged: u32,
    /// Reliable sends that are queued or under way.
    undelivered: u32,
    /// It was sent again to all leaves that had not acknowledged, whose adapters acknowledge instead.
    is_pushed: bool,
}

impl Retained {
    fn is_free(&self) -> bool {
        self.unacknowledged == 0 && self.undelivered == 0
    }

    fn awaits(&self) -> bool {
        self.unacknowledged > 0 && !self.is_pushed
    }
}

/// A reliable send of a retained fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Push {
    to: Rank,
    slot: u32,
    token: Token,
}

/// The ring of a rank, and what it knows of the ranks that report to it.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    me: Rank,
    slots: Vec<Option<Retained>>,
    first: Seq,
    /// What ranks have reported; those that are missing are where everybody began.
    known: BTreeMap<Rank, Report>,
    /// Sends to be handed to the transport.
    queued: VecDeque<Push>,
    /// Sends under way.
    under_way: Vec<Push>,
    patience: Patience,
    /// By how much longer a leaf is waited for than an acknowledgement usually takes.
    forbearance: u32,
    /// Operations that lost a slot and may owe nothing more.
    freed: Vec<OpId>,
}

impl Ring {
    pub fn new(me: Rank, window: u32, first: Seq, patience: Patience, forbearance: u32) -> Self {
        Ring {
            me,
            slots: vec![None; window as usize],
            first,
            known: BTreeMap::new(),
            queued: VecDeque::new(),
            under_way: Vec::new(),
            patience,
            forbearance,
            freed: Vec::new(),
        }
    }

    fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    pub fn slot(&self, seq: Seq) -> u32 {
        seq.slot(self.len())
    }

    pub fn is_free(&self, seq: Seq) -> bool {
        self.slots[self.slot(seq) as usize].is_none()
    }

    /// What a rank has reported.
    pub fn known(&self, rank: Rank) -> Report {
        self.known.get(&rank).copied().unwrap_or(Report::initial(self.first))
    }

    /// Keeps a fragment for its leaves, and queues it for the co-roots below.
    pub fn keep(&mut self, now: Instant, seq: Seq, token: Token, (root, groups): (Rank, Groups)) {
        let slot = self.slot(seq);
        let leaves = groups.leaves(self.me, root);
        let unacknowledged = match root == self.me {
            // Nobody has what was not sent.
            true => leaves.count(),
            false => leaves.filter(|leaf| self.known(*leaf).have.after(seq) <= 0).count(),
        };
        let queued = self.queued.len();
        let below = groups.heads_below(self.me, root);
        self.queued.extend(below.map(|to| Push { to, slot, token }));
        let undelivered = (self.queued.len() - queued) as u32;
        let retained = Retained {
            seq,
            token,
            root,
            groups,
            since: now,
            unacknowledged: unacknowledged as u32,
            undelivered,
            is_pushed: false,
        };
        self.slots[slot as usize] = Some(retained);
        self.release(slot);
    }

    /// The next reliable send.
    pub fn take_push(&mut self) -> Option<Transmit> {
        let push = self.queued.pop_front()?;
        self.under_way.push(push);
        let Push { to, slot, token } = push;
        Some(Transmit::Resend { target: Target::Rank(to), slot, token })
    }

    /// Whether a send of an operation's fragments is to be handed to the transport.
    pub fn has_queued(&self, op: OpId) -> bool {
        self.queued.iter().any(|push| push.token.op == op)
    }

    /// The adapter of `to` has acknowledged a send.
    pub fn delivered(&mut self, to: Rank, token: Token) {
        let found = self.under_way.iter().position(|push| push.to == to && push.token == token);
        if let Some(at) = found {
            let push = self.under_way.swap_remove(at);
            self.settle_push(push);
        }
    }

    /// Nothing more can be sent to `rank`.
    pub fn forget(&mut self, rank: Rank) {
        let queued: Vec<_> = self.queued.iter().copied().filter(|push| push.to == rank).collect();
        self.queued.retain(|push| push.to != rank);
        let gone = self.under_way.extract_if(.., |push| push.to == rank).collect::<Vec<_>>();
        for push in queued.into_iter().chain(gone) {
            self.settle_push(push);
        }
    }

    fn settle_push(&mut self, push: Push) {
        if let Some(retained) = &mut self.slots[push.slot as usize] {
            retained.undelivered -= 1;
            self.release(push.slot);
        }
    }

    /// A rank has reported; whether that is news.
    pub fn learn(&mut self, now: Instant, from: Rank, report: Report) -> bool {
        let mut known = self.known(from);
        let had = known.have;
        if !known.advance(report) {
            return false;
        }
        self.known.insert(from, known);
        let span = known.have.after(had) as u32;
        if span < self.len() {
            (0..span).for_each(|step| self.acknowledged(now, from, had.plus(step)));
        } else {
            let kept: Vec<_> = self.slots.iter().flatten().map(|kept| kept.seq).collect();
            let news = |seq: &Seq| seq.after(had) >= 0 && seq.after(known.have) < 0;
            kept.into_iter().filter(news).for_each(|seq| self.acknowledged(now, from, seq));
        }
        true
    }

    fn acknowledged(&mut self, now: Instant, from: Rank, seq: Seq) {
        let (me, slot) = (self.me, self.slot(seq));
        let Some(retained) = &mut self.slots[slot as usize] else { return };
        let is_own = retained.groups.repairer(from, retained.root) == Some(me);
        if retained.seq != seq || !is_own || !retained.awaits() {
            return;
        }
        retained.unacknowledged -= 1;
        if retained.unacknowledged == 0 {
            // The slowest leaf is who must be waited for.
            self.patience.measured(now - retained.since);
        }
        self.release(slot);
    }

    fn release(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        if let Some(op) = entry.as_ref().filter(|kept| kept.is_free()).map(|kept| kept.token.op) {
            *entry = None;
            self.freed.push(op);
        }
    }

    /// An operation of which a slot became free.
    pub fn take_freed(&mut self) -> Option<OpId> {
        self.freed.pop()
    }

    /// When the first acknowledgement is overdue. The fragment in the `wanted` slot is given no more
    /// than a round trip: to run out of buffers is a timeout (Liu 2004, section 5.1).
    pub fn due_at(&self, wanted: Option<u32>) -> Option<Instant> {
        let waiting = self.slots.iter().flatten().filter(|kept| kept.awaits());
        waiting.map(|kept| kept.since + self.allowance(kept, wanted)).min()
    }

    /// The leaves whose acknowledgement of the fragment in a slot is awaited.
    pub fn silent(&self, slot: u32) -> Vec<Rank> {
        let Some(kept) = &self.slots[slot as usize] else { return Vec::new() };
        let leaves = kept.groups.leaves(self.me, kept.root);
        leaves.filter(|leaf| self.known(*leaf).have.after(kept.seq) <= 0).collect()
    }

    fn allowance(&self, kept: &Retained, wanted: Option<u32>) -> Duration {
        match wanted == Some(self.slot(kept.seq)) {
            true => self.patience.trip() * self.forbearance.min(2),
            false => self.patience.timeout() * self.forbearance,
        }
    }

    /// Sends again what is overdue, to every leaf that has not acknowledged it.
    pub fn push_overdue(&mut self, now: Instant, wanted: Option<u32>) {
        let overdue: Vec<_> = self
            .slots
            .iter()
            .flatten()
            .filter(|kept| kept.awaits() && kept.since + self.allowance(kept, wanted) <= now)
            .cloned()
            .collect();
        if !overdue.is_empty() {
            self.patience.passed();
        }
        for kept in overdue {
            let slot = self.slot(kept.seq);
            let silent = self.silent(slot);
            if let Some(retained) = &mut self.slots[slot as usize] {
                retained.is_pushed = true;
                retained.unacknowledged = 0;
                retained.undelivered += silent.len() as u32;
            }
            self.queued.extend(silent.iter().map(|to| Push { to: *to, slot, token: kept.token }));
            self.release(slot);
        }
    }
}
