//! Asking for acknowledgements, and answering.
//!
//! The papers' ranks acknowledge by a rule of their own (Liu 2004, section 4.4). By need, they acknowledge when they are
//! asked, which costs a bit of a packet that goes to all: the root asks as its ring fills, soon enough that it never waits
//! for an answer, and when it has nothing more to send. A fragment that asks is kept with its question, so that who reads
//! it because it was lost is asked all the same. Between two questions ranks are silent, unless they lag by more than they
//! may, or nothing has come for long.

use super::{Seq, Window};
use crate::protocol::{Disposition, Incoming, Piece, Room, Target, Timer, Transmit};
use crate::time::Instant;
use crate::wire::Kind;
use std::sync::Arc;

/// After how many times a root's delay the others take it that its question was lost.
const UNHEARD: u32 = 4;

impl Window {
    /// Whether this rank, as root, asks with the fragment that it multicasts now, if it asks at all.
    pub(super) fn asks_with(&self, seq: Seq, is_last: bool) -> bool {
        let share = self.share(seq);
        let unasked = self.ring.unasked();
        let first = if unasked == 0 { seq } else { self.ring.first_unasked() };
        let is_far = seq.after(first) >= 2 * i64::from(share);
        let ends = is_last && self.config.blocking;
        unasked + 1 >= share || is_far || ends
    }

    /// After how many fragments the root asks. At first it asks soon and then later and later, so that it knows how long
    /// answers take before much is under way.
    fn share(&self, seq: Seq) -> u32 {
        let so_far = seq.after(self.ring.first()).unsigned_abs() / 2;
        let most = if self.config.paces() { self.pace.limit() / 4 } else { u32::MAX };
        so_far.clamp(1, self.config.share().min(most).max(1).into()) as u32
    }

    /// Asks for what was multicast without a question, where no further fragment follows it.
    pub(super) fn ask(&mut self, room: &dyn Room) -> Option<Transmit> {
        if !self.is_asking || room.multicast_room() == 0 {
            return None;
        }
        self.is_asking = false;
        let last = self.ring.last_unasked()?;
        let me = self.me;
        self.ring.ask(self.now, |root| root == me);
        let (kind, op, fragment) = (Kind::Acknowledge, last.op, last.fragment);
        let piece = Piece { kind, op, fragment, message_len: 0, report: 0, asks: true };
        Some(Transmit::Send { target: Target::Group, piece, range: 0..0 })
    }

    /// When this rank asks because nothing followed, or takes what others have multicast as asked for.
    pub(super) fn asks_at(&self) -> Option<(Timer, Instant)> {
        let (kept, delay) = (self.ring.kept_at(), self.config.acknowledge_after);
        let own = (self.ring.unasked() > 0 && !self.is_asking).then_some(delay);
        let others = self.ring.has_unasked_of_others().then_some(delay * UNHEARD);
        let delay = own.into_iter().chain(others).min()?;
        Some((Timer::Acknowledgement, kept + delay))
    }

    /// Lets questions fall due.
    pub(super) fn handle_unasked(&mut self) {
        let delay = self.config.acknowledge_after;
        let quiet = self.now - self.ring.kept_at();
        self.is_asking |= quiet >= delay && self.ring.unasked() > 0;
        if quiet >= delay * UNHEARD && self.ring.has_unasked_of_others() {
            let me = self.me;
            self.ring.ask(self.now, |root| root != me);
        }
    }

    /// A question came by itself: its sender has nothing more to send, and has sent everything before.
    pub(super) fn handle_question(&mut self, packet: &Incoming) -> Disposition {
        if packet.op.after(self.first) < 0 {
            self.debts.call_in();
            self.ring.ask(self.now, |root| root == packet.source);
            return Disposition::Consumed;
        }
        let Some(operation) = self.operation(packet.op) else { return Disposition::Hold };
        if operation.root != packet.source || packet.fragment.0 >= operation.cut.count() {
            return Disposition::Reject;
        }
        let next = operation.seq(packet.fragment).plus(1);
        self.note_sent(next, 0);
        self.note_question(packet);
        self.answer();
        self.read_on();
        Disposition::Consumed
    }

    /// The root of an operation in flight asks for everything up to a fragment of it.
    pub(super) fn note_question(&mut self, packet: &Incoming) {
        let me = self.me;
        let Some(operation) = self.operation(packet.op) else { return };
        operation.ask(packet.fragment);
        let until = operation.seq(packet.fragment).plus(1);
        let neighbours = Arc::clone(&operation.neighbours);
        if let Some(to) = neighbours.repairer {
            self.debts.ask(to, until, &neighbours);
        }
        if neighbours.root != me {
            self.ring.ask(self.now, |root| root == neighbours.root);
        }
    }

    /// Owes a report to those who have asked for what is here now.
    pub(super) fn answer(&mut self) {
        self.debts.answer(self.have, self.now);
    }

    /// Something came, so more may follow, and what nobody has asked for can wait.
    pub(super) fn keep_quiet(&mut self) {
        if self.config.asks() {
            let silence = self.config.acknowledge_after.max(self.pull.silence());
            self.debts.keep_quiet(self.now + silence);
        }
    }
}
