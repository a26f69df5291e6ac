//! Keeping fragments in the ring for others, to be multicast and repaired from there (Liu 2004, section 5.1).

use super::Window;
use crate::protocol::{Piece, Room, Target, Transmit};
use crate::rank::Fragment;
use crate::wire::Kind;

impl Window {
    /// Keeps the next fragment; at the root it is to be multicast then.
    pub(super) fn keep(&mut self, room: &dyn Room) -> Option<Transmit> {
        self.wanted = None;
        for index in 0..self.operations.len() {
            let operation = &self.operations[index];
            if operation.keeps_all() {
                continue;
            }
            let (is_root, groups) = (operation.root == self.me, operation.groups);
            let first = operation.first_unkept().map(|fragment| operation.seq(fragment));
            if is_root {
                let credit =
                    first.is_some_and(|seq| self.credits.has_one_for(seq, groups, &self.ring));
                if !credit || room.multicast_room() == 0 {
                    return None;
                }
            }
            let ring = &self.ring;
            let may = |seq| ring.is_free(seq) && room.is_idle(ring.slot(seq));
            // The root sends in order; a co-root keeps what it has.
            let span = if is_root { 1 } else { self.config.window };
            if let Some(fragment) = self.operations[index].next_to_keep(span, may) {
                return Some(self.keep_fragment(index, fragment));
            }
            let taken = first.filter(|seq| !self.ring.is_free(*seq));
            self.wanted = self.wanted.or(taken.map(|seq| self.ring.slot(seq)));
            if is_root {
                return None;
            }
        }
        None
    }

    fn keep_fragment(&mut self, index: usize, fragment: Fragment) -> Transmit {
        let op = self.first.plus(index as u32);
        let operation = &mut self.operations[index];
        operation.keep(fragment);
        let (context, seq) = (operation.context(), operation.seq(fragment));
        let range = operation.cut.range(fragment).unwrap_or_default();
        let message_len = operation.cut.message_len() as u64;
        let report = self.report(context);
        *self.holding.get_or_insert(op.0, 0) += 1;
        let slot = self.ring.slot(seq);
        let kind = Kind::Fragment;
        let piece = Piece { kind, op, fragment, message_len, report: report.emit() };
        let token = piece.token();
        self.ring.keep(self.now, seq, token, context);
        if context.0 == self.me {
            self.to_multicast = Some(Transmit::Resend { target: Target::Group, slot, token });
            if self.config.piggyback {
                self.debts.put_off(self.put_off(), report);
            }
        }
        self.settle();
        Transmit::Retain { slot, piece, range }
    }

    /// Sends again what its receiver has not acknowledged in time.
    pub(super) fn push(&mut self) -> Option<Transmit> {
        let push = self.ring.take_push()?;
        self.settle();
        Some(push)
    }
}
