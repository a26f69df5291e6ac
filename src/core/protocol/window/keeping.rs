//! What a rank keeps in its ring for others, and multicasts from there as root (Liu 2004, section 5.1).

use super::neighbours::Neighbours;
use super::{Report, Seq, Window};
use crate::protocol::{Fragments, Packets, Piece, Room, Transmit};
use crate::rank::{Fragment, OpId};
use crate::wire::Kind;
use std::sync::Arc;

impl Window {
    /// Keeps what comes next. A root keeps in order, and a co-root what it has.
    pub(super) fn keep(&mut self, room: &dyn Room) -> Option<Transmit> {
        self.wanted = None;
        for index in 0..self.operations.len() {
            let operation = &self.operations[index];
            if operation.keeps_all() {
                continue;
            }
            if operation.root == self.me {
                return self.multicast_next(index, room);
            }
            let may_keep = |seq| self.may_keep(seq, room);
            if let Some(fragment) = operation.next_to_keep(self.config.window, may_keep) {
                return Some(self.keep_for_root(index, fragment));
            }
            self.want(index);
        }
        None
    }

    /// The first fragment of an operation that is not kept wants its slot, if that is taken.
    fn want(&mut self, index: usize) {
        let operation = &self.operations[index];
        let first = operation.first_unkept().map(|fragment| operation.seq(fragment));
        let taken = first.filter(|seq| !self.ring.is_free(*seq));
        self.wanted = self.wanted.or(taken.map(|seq| self.ring.slot(seq)));
    }

    /// As root, keeps the next fragments of an operation and multicasts them: as many as there is room for, up to one that
    /// asks, or to the last slot.
    fn multicast_next(&mut self, index: usize, room: &dyn Room) -> Option<Transmit> {
        let operation = &self.operations[index];
        let neighbours = Arc::clone(&operation.neighbours);
        let fragment = operation.first_unkept()?;
        let (seq, end, cut) = (operation.seq(fragment), operation.end(), operation.cut);
        if !self.may_multicast(seq, &neighbours) {
            return None;
        }
        let most = room.multicast_room();
        if most == 0 {
            return None;
        }
        let op = self.first.plus(index as u32);
        let left = (end.after(seq) as usize).min(most) as u32;
        let packets = self.keep_run((op, fragment, cut), (seq, left), &neighbours, room);
        let Some(packets) = packets else {
            self.want(index);
            return None;
        };
        self.operations[index].keep_run(packets.count);
        self.settle();
        Some(Transmit::Retain { packets, is_multicast: true })
    }

    /// As root, keeps up to `most` fragments of an operation from one on, which goes to `first`, and
    /// [may be multicast](Self::may_multicast).
    pub(super) fn keep_run(
        &mut self,
        (op, fragment, cut): (OpId, Fragment, Fragments),
        (first, most): (Seq, u32),
        neighbours: &Arc<Neighbours>,
        room: &dyn Room,
    ) -> Option<Packets> {
        let (paces, asks) = (self.config.paces(), self.config.asks());
        let end = first.plus(most.min(self.ring.until_last(first)));
        let last = first.plus(cut.count() - 1 - fragment.0);
        // Where reports go by themselves, one here would only cost each receiver a look.
        let report = self.config.piggyback.then(|| self.report(neighbours));
        let (kind, message_len) = (Kind::Fragment, cut.message_len() as u64);
        let said = report.map_or(0, Report::emit);
        let mut piece = Piece { kind, op, fragment, message_len, report: said, asks: false };
        let (mut seq, mut token) = (first, piece.token());
        while seq != end
            && !piece.asks
            && self.may_keep(seq, room)
            && (seq == first || self.may_multicast(seq, neighbours))
        {
            piece.asks = asks && self.asks_with(seq, seq == last);
            self.ring.keep(self.now, seq, token, neighbours, piece.asks || !asks);
            if paces && self.pace.sends() {
                self.pace.look(&self.ring, &neighbours.leaves);
            }
            token.fragment = Fragment(token.fragment.0 + 1);
            seq = seq.plus(1);
        }
        let count = seq.after(first) as u32;
        if count == 0 {
            return None;
        }
        *self.holding.get_or_insert(op.0, 0) += count;
        self.is_asking = false;
        if piece.asks {
            self.ring.ask(self.now, |root| root == neighbours.root);
        }
        if let Some(report) = report {
            self.debts.put_off(self.put_off(), report);
        }
        Some(Packets { slot: self.ring.slot(first), first: piece, count, cut })
    }

    /// Whether nobody needs what the slot of a fragment holds.
    fn may_keep(&self, seq: Seq, room: &dyn Room) -> bool {
        self.ring.is_free(seq) && room.is_idle(self.ring.slot(seq))
    }

    /// Whether this rank may multicast a fragment as root: everybody can receive it, and not too much is on its way.
    pub(super) fn may_multicast(&mut self, seq: Seq, neighbours: &Neighbours) -> bool {
        let is_held = self.config.paces() && self.ring.used() >= self.pace.limit();
        !is_held && self.credits.has_one_for(seq, neighbours, &self.ring)
    }

    /// Keeps a fragment of another root.
    fn keep_for_root(&mut self, index: usize, fragment: Fragment) -> Transmit {
        let op = self.first.plus(index as u32);
        let operation = &mut self.operations[index];
        operation.keep(fragment);
        let (neighbours, seq) = (Arc::clone(&operation.neighbours), operation.seq(fragment));
        let (cut, asked) = (operation.cut, operation.asked());
        let report = self.config.piggyback.then(|| self.report(&neighbours));
        *self.holding.get_or_insert(op.0, 0) += 1;
        let first = Piece {
            kind: Kind::Fragment,
            op,
            fragment,
            message_len: cut.message_len() as u64,
            report: report.map_or(0, Report::emit),
            asks: fragment.0 + 1 == asked,
        };
        let is_asked = fragment.0 < asked || !self.config.asks();
        self.ring.keep(self.now, seq, first.token(), &neighbours, is_asked);
        self.settle();
        let packets = Packets { slot: self.ring.slot(seq), first, count: 1, cut };
        Transmit::Retain { packets, is_multicast: false }
    }
}
