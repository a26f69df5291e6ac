//! Reading what is missing from the ring of its repairer.

use super::{Repair, Window};
use crate::protocol::{Room, Token, Transmit};
use crate::wire::Kind;

impl Window {
    /// Reads something that is missing from its repairer's ring.
    pub(super) fn fetch(&mut self, room: &dyn Room) -> Option<Transmit> {
        let reach = self.pull.reach()?;
        let is_gap = self.have.after(self.seen) < 0;
        let limit = if is_gap { self.seen } else { self.have.plus(reach) };
        for index in self.whole..self.operations.len() {
            let op = self.first.plus(index as u32);
            let operation = &self.operations[index];
            let Some(from) = operation.repairer(self.me) else { continue };
            let wanted = operation
                .missing(self.config.window)
                .take_while(|fragment| operation.seq(*fragment).after(limit) < 0)
                .find(|fragment| !self.pull.is_under_way((op, *fragment)));
            if let Some(fragment) = wanted {
                if room.fetch_room(from) == 0 {
                    return None;
                }
                let slot = self.ring.slot(operation.seq(fragment));
                self.pull.started(self.now, (op, fragment));
                let token = Token { kind: Kind::Fragment, op, fragment };
                return Some(Transmit::Fetch { from, slot, token });
            }
        }
        self.pull.pause(self.now);
        None
    }

    /// Whether this rank misses something that it may read.
    pub(super) fn reads(&self) -> bool {
        let mut missing = self.operations.range(self.whole..);
        self.config.repair == Repair::Pull
            && missing.any(|operation| operation.repairer(self.me).is_some())
    }
}
