//! When a broadcast is complete here, and when nothing more is owed for it.

use super::Window;
use crate::protocol::Event;

impl Window {
    /// Emits the events that the operations' states call for, and lets complete ones go.
    pub(super) fn settle(&mut self) {
        while let Some(op) = self.ring.take_freed() {
            if let Some(slots) = self.holding.get_mut(op.0) {
                *slots -= 1;
            }
            let is_complete = self.operation(op).is_none_or(|operation| operation.is_complete);
            if is_complete && self.holding.get(op.0) == Some(&0) {
                self.holding.remove(op.0);
                self.events.push_back(Event::Quiescent(op));
            }
        }
        for index in 0..self.operations.len() {
            self.complete(index);
        }
        while self.operations.front().is_some_and(|operation| operation.is_complete) {
            self.operations.pop_front();
            self.first = self.first.next();
            self.whole -= 1;
        }
    }

    fn complete(&mut self, index: usize) {
        let op = self.first.plus(index as u32);
        let slots = self.holding.get(op.0).copied().unwrap_or(0);
        let operation = &mut self.operations[index];
        let waits = self.config.blocking && operation.root == self.me && slots > 0;
        let expected: u64 = self.expected.values().map(|count| u64::from(*count)).sum();
        let absorbs = expected <= u64::from(self.config.absorbed);
        let done = operation.has_all() && operation.keeps_all() && absorbs && !waits;
        let sent = self.to_multicast.is_none() && !self.ring.has_queued(op);
        if operation.is_complete || !done || !sent {
            return;
        }
        operation.is_complete = true;
        self.events.push_back(Event::Complete { op, lost: operation.lost() });
        if slots == 0 {
            self.holding.remove(op.0);
            self.events.push_back(Event::Quiescent(op));
        }
    }
}
