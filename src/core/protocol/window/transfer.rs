//! The way of a fragment from others: received, sent again, or read where it was lost.

use super::operation::Operation;
use super::{Repair, Seq, Window};
use crate::protocol::{
    Core, Disposition, Event, Incoming, Room, Token, Transmit, Via, disagreement,
};
use crate::rank::{OpId, Rank};
use crate::time::Instant;
use crate::wire::Kind;

/// Ranks above its repairer that a rank reads from besides the root, at most: a chain has many.
const MAX_ABOVE: usize = 8;

impl Window {
    /// Sends again what its receiver has not acknowledged in time.
    pub(super) fn push(&mut self) -> Option<Transmit> {
        let push = self.ring.take_push()?;
        self.settle();
        Some(push)
    }

    /// Takes a fragment, however it came.
    pub(super) fn handle_fragment(&mut self, packet: &Incoming) -> Disposition {
        if packet.via == Via::Reliable {
            self.count_expected(packet.op);
        }
        if packet.op.after(self.first) < 0 {
            return Disposition::Late;
        }
        if packet.op.after(self.next_op()) >= 0 {
            self.later_sent.note(self.now, packet.op);
            self.note_later(self.now);
            return Disposition::Hold;
        }
        let Some(operation) = self.operation(packet.op) else { return Disposition::Hold };
        let (cut, root) = (operation.cut, operation.root);
        let length = disagreement::in_length(packet, &cut);
        if let Some(what) = length.or_else(|| disagreement::in_root(packet, root)) {
            return self.disagree(packet.op, packet.source, what);
        }
        let Some(range) = cut.range(packet.fragment) else { return Disposition::Reject };
        if range.len() != packet.payload_len {
            return Disposition::Reject;
        }
        let is_head = operation.neighbours.is_head;
        let is_new = operation.own(packet.fragment, packet.via == Via::Multicast);
        let (seq, is_whole) = (operation.seq(packet.fragment), operation.has_all());
        if packet.via == Via::Multicast {
            self.note_lateness(seq);
        }
        self.note_sent(seq.plus(1), 1);
        if packet.asks {
            self.note_question(packet);
        }
        if is_new && packet.via != Via::Multicast && self.config.paces() {
            self.lost = self.lost.wrapping_add(1);
        }
        if is_new {
            self.pull.came((packet.op, packet.fragment));
            if packet.via != Via::Fetched {
                self.pull.arrived(self.now);
                self.keep_quiet();
            }
            self.advance();
            if packet.via != Via::Fetched {
                self.read_on();
            } else if !self.is_gap() {
                self.pull.filled(self.now);
            }
            // Nothing completes by a fragment of a message of which others are missing.
            if is_whole {
                self.settle();
            }
            self.expect_next(packet);
            return Disposition::Place(range);
        }
        self.answer();
        match packet.via {
            // A co-root gets every fragment twice by design.
            Via::Multicast | Via::Reliable if is_head => Disposition::Redundant,
            Via::Multicast | Via::Reliable => Disposition::Duplicate,
            Via::Fetched => Disposition::Redundant,
        }
    }

    /// Something of a broadcast that has not begun here was multicast: whoever did so was done with those before it, so
    /// what is missing of them was sent.
    pub fn note_later(&mut self, now: Instant) {
        self.called(now);
        self.note_sent(self.next_seq, 0);
        self.read_on();
    }

    /// Everything before `until` was sent, and the last `here` of these fragments have come.
    pub(super) fn note_sent(&mut self, until: Seq, here: i64) {
        if until.after(self.seen) > 0 {
            self.seen = until;
            if until.after(self.have) > here {
                self.known_sent.note(self.now, until);
            }
        }
    }

    /// A fragment came by itself: for how long it had been overtaken, if it was.
    fn note_lateness(&mut self, seq: Seq) {
        if self.seen.after(seq) > 0
            && let Some(since) = self.known_sent.since(seq)
        {
            self.pull.came_late(self.now, since);
        }
    }

    /// Takes note of what shows now whether something is missing.
    pub(super) fn read_on(&mut self) {
        if self.reads() {
            self.pull.heard(self.now, self.is_gap());
        }
    }

    /// Something later than the broadcast that has just begun has been here since then, so what is missing of it was sent.
    pub fn note_overtaken(&mut self, now: Instant, since: Instant) {
        self.called(now);
        // What has come of it is handed in only now, so that it is late by nothing.
        self.note_sent(self.next_seq, 0);
        if self.reads() {
            self.pull.overtaken(now, since);
        }
    }

    /// Counts a reliable copy, which may come when the operation is over here.
    fn count_expected(&mut self, op: OpId) {
        if self.to_come.came(op) {
            self.settle();
        }
    }

    fn disagree(&mut self, op: OpId, rank: Rank, what: String) -> Disposition {
        self.events.push_back(Event::Disagreement { op, rank, what });
        Disposition::Reject
    }

    /// Reads something that is missing from its repairer's ring.
    pub(super) fn fetch(&mut self, room: &dyn Room) -> Option<Transmit> {
        let reach = self.pull.reach()?;
        let is_gap = self.is_gap();
        let limit = if is_gap { self.overdue() } else { self.have.plus(reach) };
        for index in self.whole..self.operations.len() {
            let op = self.first.plus(index as u32);
            let operation = &self.operations[index];
            let is_read = self.pull.up() == 0 || self.pull.ladder(op).is_some();
            if operation.repairer.is_none() || !is_read {
                continue;
            }
            let wanted = operation
                .missing(self.config.window)
                .take_while(|fragment| operation.seq(*fragment).after(limit) < 0)
                .find(|fragment| !self.pull.is_under_way((op, *fragment)));
            if let Some(fragment) = wanted {
                let slot = self.ring.slot(operation.seq(fragment));
                let Some(from) = self.reads_from(index, room) else {
                    self.pull.give_up(self.now);
                    return None;
                };
                if room.fetch_room(from) == 0 {
                    return None;
                }
                self.pull.started(self.now, (op, fragment));
                let token = Token { kind: Kind::Fragment, op, fragment };
                return Some(Transmit::Fetch { from, slot, token });
            }
        }
        self.pull.pause(self.now);
        None
    }

    /// Everything before this position was overtaken for so long that it will not come by itself any more.
    fn overdue(&self) -> Seq {
        self.known_sent.until(self.now, self.pull.late(self.now)).unwrap_or(self.have)
    }

    /// Whom this rank reads in an operation now, if there is anybody as far up as this look has come.
    fn reads_from(&mut self, index: usize, room: &dyn Room) -> Option<Rank> {
        let (op, repairer) = (self.first.plus(index as u32), self.operations[index].repairer?);
        let has_left = self.has_departed(repairer);
        let goes_on = has_left || self.pull.is_late(self.now, repairer);
        if goes_on && self.pull.ladder(op).is_none() {
            let ladder = self.above(index, room);
            self.pull.climb(op, ladder);
        }
        let up = self.pull.up();
        if up == 0 && !has_left {
            return Some(repairer);
        }
        let mut above =
            self.pull.ladder(op)?.iter().copied().filter(|rank| !self.has_departed(*rank));
        above.nth(if has_left { up } else { up - 1 })
    }

    fn has_departed(&self, rank: Rank) -> bool {
        self.departed.iter().any(|left| left.rank == rank)
    }

    /// Those above this rank's repairer in an operation who can be read, the nearest first. In a gap, those with whom there is no
    /// connection are wished for: that takes their CPUs, and nobody waits for it.
    fn above(&mut self, index: usize, room: &dyn Room) -> Vec<Rank> {
        let neighbours = &self.operations[index].neighbours;
        let mut above: Vec<_> =
            self.neighbourhoods.above_repairer(neighbours).take(MAX_ABOVE).collect();
        if above.last().is_some_and(|last| *last != neighbours.root) {
            above.push(neighbours.root);
        }
        let (near, far): (Vec<_>, Vec<_>) =
            above.into_iter().partition(|rank| room.is_in_reach(*rank));
        if self.is_gap() {
            self.wishes.extend(far);
        }
        near
    }

    /// Whether something is missing that was sent for certain.
    pub(super) fn is_gap(&self) -> bool {
        self.have.after(self.seen) < 0
    }

    /// Whether this rank misses something that it may read.
    pub(super) fn reads(&self) -> bool {
        let has_repairer = |operation: &Operation| operation.repairer.is_some();
        // Asked for each fragment, which most often is of the first.
        let is_first = self.operations.get(self.whole).is_some_and(has_repairer);
        let missing = || self.operations.range(self.whole..);
        self.config.repair == Repair::Pull && (is_first || missing().any(has_repairer))
    }
}
