//! What becomes of a fragment that comes, and of its copies.

use super::Window;
use crate::protocol::{Disposition, Event, Incoming, Via, disagreement};
use crate::rank::{OpId, Rank};

impl Window {
    /// Takes a fragment, however it came.
    pub(super) fn handle_fragment(&mut self, packet: &Incoming) -> Disposition {
        if packet.via == Via::Reliable {
            self.count_expected(packet.op);
        }
        if packet.op.after(self.first) < 0 {
            return Disposition::Late;
        }
        let me = self.me;
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
        let is_head = operation.groups.is_head(me, root);
        let is_new = operation.own(packet.fragment, packet.via == Via::Multicast);
        let seq = operation.seq(packet.fragment);
        let next = seq.plus(1);
        if next.after(self.seen) > 0 {
            self.seen = next;
        }
        if is_new {
            self.pull.came((packet.op, packet.fragment));
            self.advance();
            if self.reads() && packet.via != Via::Fetched {
                let is_gap = self.have.after(self.seen) < 0;
                self.pull.heard(self.now, is_gap);
            }
            self.settle();
            return Disposition::Place(range);
        }
        match packet.via {
            // A co-root gets every fragment twice by design.
            Via::Multicast | Via::Reliable if is_head => Disposition::Redundant,
            Via::Multicast | Via::Reliable => Disposition::Duplicate,
            Via::Fetched => Disposition::Redundant,
        }
    }

    /// Counts a reliable copy, which may come when the operation is over here.
    fn count_expected(&mut self, op: OpId) {
        if self.expected.contains_key(op.0) {
            self.expected.count_down(op.0);
            self.settle();
        }
    }

    fn disagree(&mut self, op: OpId, rank: Rank, what: String) -> Disposition {
        self.events.push_back(Event::Disagreement { op, rank, what });
        Disposition::Reject
    }
}
