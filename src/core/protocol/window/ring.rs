//! What a root or co-root keeps for its leaves, and when it sends it again (Liu 2004, sections 5.1
//! and 5.3).

use super::arrivals::Arrivals;
use super::config::{Config, Repair};
use super::neighbours::Neighbours;
use super::patience::Patience;
use super::pushes::{Push, Pushes};
use super::report::Report;
use super::seq::Seq;
use crate::protocol::{SmallMap, Token, Transmit};
use crate::rank::{OpId, Rank};
use crate::time::Instant;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// A fragment in a slot.
#[derive(Clone, Debug)]
struct Retained {
    seq: Seq,
    token: Token,
    /// Who this rank has to do with in its broadcast.
    neighbours: Arc<Neighbours>,
    /// Since when its acknowledgement is asked for, if it is.
    asked: Option<Instant>,
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
        self.unacknowledged > 0 && !self.is_pushed && self.asked.is_some()
    }
}

/// What a rank has reported, and when it told last that it has more.
#[derive(Clone, Copy, Debug)]
struct Known {
    report: Report,
    heard: Instant,
}

/// The ring of a rank, and what it knows of the ranks that report to it.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    me: Rank,
    /// Empty until something is kept, as most ranks keep nothing for others.
    slots: Vec<Option<Retained>>,
    len: u32,
    first: Seq,
    /// What ranks have reported; those that are missing are where everybody began.
    known: SmallMap<Rank, Known>,
    /// Ranks that have left.
    gone: BTreeSet<Rank>,
    pushes: Pushes,
    patience: Patience,
    /// The pauses between the acknowledgements of a leaf that has more to acknowledge.
    pauses: Arrivals,
    /// By how much longer a leaf is waited for than an acknowledgement usually takes.
    forbearance: u32,
    /// How long one that repairs others is waited for at least, as these read from here meanwhile.
    between: Duration,
    /// Slots whose acknowledgement is awaited, in the order in which it was asked for; some are free by now, or hold
    /// something else.
    awaited: VecDeque<(Instant, Seq)>,
    /// Not before these times the first acknowledgement, and that of a slot, are overdue: leaves were heard of meanwhile.
    not_before: Instant,
    wanted_not_before: (u32, Instant),
    /// When the acknowledgement was asked for by which the patience was measured last.
    measured: Option<Instant>,
    /// Slots that are not free.
    used: u32,
    /// Slots with what this rank has multicast whose acknowledgement is not asked for, and the first of these fragments.
    unasked: u32,
    first_unasked: Seq,
    /// Slots with what others have multicast whose acknowledgement is not asked for.
    unasked_of_others: u32,
    /// When something was kept last.
    kept_at: Instant,
    /// Operations that lost a slot and may owe nothing more.
    freed: Vec<OpId>,
}

impl Ring {
    pub fn new(me: Rank, first: Seq, config: &Config) -> Self {
        Ring {
            me,
            slots: Vec::new(),
            len: config.window,
            first,
            known: SmallMap::default(),
            gone: BTreeSet::new(),
            pushes: Pushes::new(config.most_pushes()),
            patience: Patience::new(config.patience),
            pauses: Arrivals::new(config.patience),
            forbearance: config.forbearance(),
            between: match config.repair {
                Repair::Pull => config.patience.most,
                Repair::Push => Duration::ZERO,
            },
            awaited: VecDeque::new(),
            not_before: Instant::ZERO,
            wanted_not_before: (0, Instant::ZERO),
            measured: None,
            used: 0,
            unasked: 0,
            first_unasked: first,
            unasked_of_others: 0,
            kept_at: Instant::ZERO,
            freed: Vec::new(),
        }
    }

    fn len(&self) -> u32 {
        self.len
    }

    /// Where everybody began.
    pub fn first(&self) -> Seq {
        self.first
    }

    pub fn slot(&self, seq: Seq) -> u32 {
        seq.slot(self.len())
    }

    /// Slots that are not free.
    pub fn used(&self) -> u32 {
        self.used
    }

    pub fn is_free(&self, seq: Seq) -> bool {
        self.kept(self.slot(seq)).is_none()
    }

    /// Slots from a fragment's to the last.
    pub fn until_last(&self, seq: Seq) -> u32 {
        self.len - self.slot(seq)
    }

    /// What a slot holds.
    fn kept(&self, slot: u32) -> Option<&Retained> {
        self.slots.get(slot as usize)?.as_ref()
    }

    fn kept_mut(&mut self, slot: u32) -> Option<&mut Retained> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    /// When a rank told last that it has more.
    fn heard(&self, rank: Rank) -> Instant {
        self.known.get(rank).map_or(Instant::ZERO, |known| known.heard)
    }

    /// What a rank has reported.
    pub fn known(&self, rank: Rank) -> Report {
        self.known.get(rank).map_or(Report::initial(self.first), |known| known.report)
    }

    /// Keeps a fragment for its leaves, and queues it for the co-roots below. Its acknowledgement is awaited from now on
    /// or from when it is [asked for](Self::ask).
    pub fn keep(
        &mut self,
        now: Instant,
        seq: Seq,
        token: Token,
        neighbours: &Arc<Neighbours>,
        is_asked: bool,
    ) {
        let slot = self.slot(seq);
        let (is_own, leaves) = (neighbours.root == self.me, &neighbours.leaves);
        let unacknowledged = match is_own {
            // Nobody has what was not sent.
            true => leaves.len(),
            false => leaves.iter().filter(|leaf| self.may_lack(**leaf, seq)).count(),
        };
        for to in neighbours.heads_below.iter().copied() {
            self.pushes.add(Push { to, slot, token, repairs: false });
        }
        let retained = Retained {
            seq,
            token,
            neighbours: Arc::clone(neighbours),
            asked: is_asked.then_some(now),
            unacknowledged: unacknowledged as u32,
            undelivered: neighbours.heads_below.len() as u32,
            is_pushed: false,
        };
        match (is_asked, is_own) {
            (true, _) => self.awaited.push_back((now, seq)),
            (false, true) => {
                if self.unasked == 0 {
                    self.first_unasked = seq;
                }
                self.unasked += 1;
            }
            (false, false) => self.unasked_of_others += 1,
        }
        self.kept_at = now;
        self.used += 1;
        if self.slots.is_empty() {
            self.slots.resize(self.len as usize, None);
        }
        let is_free = retained.is_free();
        self.slots[slot as usize] = Some(retained);
        if is_free {
            self.release(slot);
        }
    }

    /// Slots with what this rank has multicast whose acknowledgement is not asked for.
    pub fn unasked(&self) -> u32 {
        self.unasked
    }

    /// The first of these fragments, or an earlier one.
    pub fn first_unasked(&self) -> Seq {
        self.first_unasked
    }

    /// The last fragment that this rank has multicast and whose acknowledgement is not asked for.
    pub fn last_unasked(&self) -> Option<Token> {
        let unasked = self.slots.iter().flatten().filter(|kept| kept.asked.is_none());
        let own = unasked.filter(|kept| kept.neighbours.root == self.me);
        own.max_by_key(|kept| kept.seq.after(self.first_unasked)).map(|kept| kept.token)
    }

    /// Whether there are slots with what others have multicast whose acknowledgement is not asked for.
    pub fn has_unasked_of_others(&self) -> bool {
        self.unasked_of_others > 0
    }

    /// When something was kept last.
    pub fn kept_at(&self) -> Instant {
        self.kept_at
    }

    /// The acknowledgements of what some roots have multicast are asked for, and awaited from now on.
    pub fn ask(&mut self, now: Instant, is_asking: impl Fn(Rank) -> bool) {
        if self.unasked + self.unasked_of_others == 0 {
            return;
        }
        for kept in self.slots.iter_mut().flatten() {
            let root = kept.neighbours.root;
            if kept.asked.is_some() || !is_asking(root) {
                continue;
            }
            kept.asked = Some(now);
            self.awaited.push_back((now, kept.seq));
            match root == self.me {
                true => self.unasked -= 1,
                false => self.unasked_of_others -= 1,
            }
        }
        self.forget_ended();
    }

    /// The next reliable send.
    pub fn take_push(&mut self) -> Option<Transmit> {
        let Push { to, slot, token, .. } = self.pushes.take()?;
        Some(Transmit::Resend { to, slot, token })
    }

    /// Whether a send of an operation's fragments is to be handed to the transport.
    pub fn has_queued(&self, op: OpId) -> bool {
        self.pushes.has_queued(op)
    }

    /// The adapter of `to` has acknowledged a send.
    pub fn delivered(&mut self, to: Rank, token: Token) {
        if let Some(push) = self.pushes.delivered(to, token) {
            self.settle_push(push);
        }
    }

    /// A rank has left with all that it took part in, whether it has been heard to say so or not.
    pub fn departed(&mut self, now: Instant, rank: Rank) {
        self.forget(rank);
        let had = self.known(rank).have;
        self.gone.insert(rank);
        let kept = self.slots.iter().flatten().map(|kept| kept.seq);
        let awaited: Vec<_> = kept.filter(|seq| seq.after(had) >= 0).collect();
        awaited.into_iter().for_each(|seq| self.acknowledged(now, rank, seq));
        self.forget_ended();
    }

    /// Whether a rank may lack a fragment.
    fn may_lack(&self, rank: Rank, seq: Seq) -> bool {
        self.known(rank).have.after(seq) <= 0 && !self.gone.contains(&rank)
    }

    /// Nothing more can be sent to `rank`.
    pub fn forget(&mut self, rank: Rank) {
        self.pushes.forget(rank).into_iter().for_each(|push| self.settle_push(push));
    }

    /// What a rank has is not sent to it again, now that it has told.
    fn cancel_repairs(&mut self, to: Rank, have: Seq) {
        let slots = &self.slots;
        let kept = |push: &Push| slots.get(push.slot as usize).and_then(Option::as_ref);
        let is_there = |push: &Push| kept(push).is_some_and(|kept| kept.seq.after(have) < 0);
        let idle = self.pushes.cancel(to, |push| push.repairs && is_there(push));
        idle.into_iter().for_each(|push| self.settle_push(push));
    }

    fn settle_push(&mut self, push: Push) {
        if let Some(retained) = self.kept_mut(push.slot) {
            retained.undelivered -= 1;
            self.release(push.slot);
        }
    }

    /// A rank has reported; whether that is news.
    pub fn learn(&mut self, now: Instant, from: Rank, report: Report) -> bool {
        let mut known = self.known(from);
        let had = known.have;
        // What it had to say when it left is known, and must not count twice.
        if self.gone.contains(&from) || !known.advance(report) {
            return false;
        }
        let mut heard = self.heard(from);
        if known.have != had {
            // Since then it had something to acknowledge, unless that was pushed.
            if let Some(asked) = self.awaits_since(self.slot(had)) {
                self.pauses.paused(now, now - asked.max(heard));
            }
            heard = now;
        }
        self.known.insert(from, Known { report: known, heard });
        self.cancel_repairs(from, known.have);
        let span = known.have.after(had);
        if span < self.len().into() {
            (0..span as u32).for_each(|step| self.acknowledged(now, from, had.plus(step)));
        } else {
            let kept: Vec<_> = self.slots.iter().flatten().map(|kept| kept.seq).collect();
            let news = |seq: &Seq| seq.after(had) >= 0 && seq.after(known.have) < 0;
            kept.into_iter().filter(news).for_each(|seq| self.acknowledged(now, from, seq));
        }
        self.forget_ended();
        true
    }

    fn acknowledged(&mut self, now: Instant, from: Rank, seq: Seq) {
        let slot = self.slot(seq);
        let Some(retained) = self.kept_mut(slot) else { return };
        let is_awaited = retained.seq == seq && retained.unacknowledged > 0;
        if !is_awaited || !retained.neighbours.repairs(from) {
            return;
        }
        retained.unacknowledged -= 1;
        if retained.unacknowledged > 0 {
            return;
        }
        // The slowest leaf is who must be waited for. What was asked for together is measured once.
        let asked = retained.asked;
        if let Some(since) = asked.filter(|_| asked != self.measured) {
            self.measured = asked;
            self.patience.measured(now - since);
        }
        self.release(slot);
    }

    fn release(&mut self, slot: u32) {
        let Some(entry) = self.slots.get_mut(slot as usize) else { return };
        let Some(kept) = entry.take_if(|kept| kept.is_free()) else { return };
        self.used -= 1;
        match (kept.asked, kept.neighbours.root == self.me) {
            (Some(_), _) => {}
            (None, true) => self.unasked -= 1,
            (None, false) => self.unasked_of_others -= 1,
        }
        self.freed.push(kept.token.op);
    }

    /// Drops what is not awaited any more from the front.
    fn forget_ended(&mut self) {
        while let Some((asked, seq)) = self.awaited.front()
            && !self
                .kept(self.slot(*seq))
                .is_some_and(|kept| kept.seq == *seq && kept.asked == Some(*asked) && kept.awaits())
        {
            self.awaited.pop_front();
        }
    }

    /// An operation of which a slot became free.
    pub fn take_freed(&mut self) -> Option<OpId> {
        self.freed.pop()
    }

    /// When it is to be seen whether an acknowledgement is overdue. The fragment in the `wanted` slot is given no more
    /// than a round trip: to run out of buffers is a timeout (Liu 2004, section 5.1).
    pub fn due_at(&self, wanted: Option<u32>) -> Option<Instant> {
        let first = self.awaited.front().map(|(asked, _)| *asked + self.allowance());
        let first = first.map(|at| at.max(self.not_before));
        let wanted = wanted.and_then(|slot| {
            let at = self.awaits_since(slot)? + self.short_allowance();
            let (looked_at, not_before) = self.wanted_not_before;
            Some(if looked_at == slot { at.max(not_before) } else { at })
        });
        first.into_iter().chain(wanted).min()
    }

    fn awaits_since(&self, slot: u32) -> Option<Instant> {
        let kept = self.kept(slot);
        kept.filter(|kept| kept.awaits()).and_then(|kept| kept.asked)
    }

    /// When the acknowledgement of the fragment in a slot is overdue. A leaf that goes on acknowledging what came before
    /// has lost nothing yet: what it lacks waits in queues on its way. One that repairs others may be late. What it is sent
    /// then is free to be replaced here, and not to be read there, so those below it are given time to read it here.
    fn overdue_at(&self, slot: u32, allowance: Duration) -> Option<Instant> {
        let asked = self.awaits_since(slot)?;
        // Leaves that claim to have had it before it was sent are asked no more, and not waited for either.
        let since = self.silent(slot).map(|leaf| asked.max(self.heard(leaf))).min();
        let since = since.unwrap_or(asked);
        let kept = self.kept(slot)?;
        let is_between = self.silent(slot).any(|leaf| kept.neighbours.is_between(leaf));
        Some(since + if is_between { allowance.max(self.between) } else { allowance })
    }

    /// The leaves whose acknowledgement of the fragment in a slot is awaited.
    pub fn silent(&self, slot: u32) -> impl Iterator<Item = Rank> + '_ {
        self.kept(slot).into_iter().flat_map(|kept| {
            let leaves = kept.neighbours.leaves.iter().copied();
            leaves.filter(|leaf| self.may_lack(*leaf, kept.seq))
        })
    }

    fn allowance(&self) -> Duration {
        match self.forbearance {
            1 => self.patience.timeout(),
            times => (self.patience.timeout() * times).max(self.pauses.silence()),
        }
    }

    /// What is given to the fragment in a slot that is wanted. A receiver that reads by itself needs it only if it is
    /// elsewhere.
    fn short_allowance(&self) -> Duration {
        match self.forbearance {
            1 => self.patience.trip(),
            _ => (self.patience.timeout() * 2).max(self.pauses.silence()),
        }
    }

    /// Sends again what is overdue, to every leaf that has not acknowledged it.
    pub fn push_overdue(&mut self, now: Instant, wanted: Option<u32>) {
        let allowance = self.allowance();
        let mut overdue: Vec<u32> = Vec::new();
        self.not_before = Instant::ZERO;
        for (asked, seq) in &self.awaited {
            if *asked + allowance > now {
                break;
            }
            let slot = self.slot(*seq);
            let is_there = self.kept(slot).is_some_and(|kept| kept.seq == *seq);
            let Some(at) = self.overdue_at(slot, allowance).filter(|_| is_there) else { continue };
            if at > now {
                // Who has not told of this one has not told of those after it.
                self.not_before = at;
                break;
            }
            overdue.push(slot);
        }
        if let Some(slot) = wanted
            && let Some(at) = self.overdue_at(slot, self.short_allowance())
        {
            if at > now {
                self.wanted_not_before = (slot, at);
            } else if !overdue.contains(&slot) {
                overdue.push(slot);
            }
        }
        if !overdue.is_empty() {
            self.patience.passed();
        }
        overdue.into_iter().for_each(|slot| self.push(slot));
        self.forget_ended();
    }

    /// Queues a slot's fragment for every leaf that has not acknowledged it.
    fn push(&mut self, slot: u32) {
        let silent: Vec<_> = self.silent(slot).collect();
        let Some(retained) = self.kept_mut(slot) else { return };
        retained.is_pushed = true;
        retained.unacknowledged = 0;
        retained.undelivered += silent.len() as u32;
        let token = retained.token;
        for to in silent {
            self.pushes.add(Push { to, slot, token, repairs: true });
        }
        self.release(slot);
    }
}
