//! What waits to be sent, by receiver.

use crate::rank::{Fragment, OpId, Rank};
use std::collections::VecDeque;

/// Queues of fragments, one for each receiver that something waits for. Receivers take turns, in the
/// order in which they came, and one that cannot be sent to holds back no other.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    queues: Vec<(Rank, VecDeque<(OpId, Fragment)>)>,
    turn: usize,
}

impl Outbox {
    pub fn push(&mut self, to: Rank, op: OpId, fragment: Fragment) {
        match self.queues.iter_mut().find(|(rank, _)| *rank == to) {
            Some((_, queue)) => queue.push_back((op, fragment)),
            None => self.queues.push((to, VecDeque::from([(op, fragment)]))),
        }
    }

    /// The next fragment for a receiver that `may` be sent to.
    pub fn take(&mut self, may: impl Fn(Rank) -> bool) -> Option<(Rank, OpId, Fragment)> {
        let count = self.queues.len();
        let in_turn = (0..count).map(|step| (self.turn + step) % count);
        let at = in_turn.into_iter().find(|at| may(self.queues[*at].0))?;
        let (to, queue) = &mut self.queues[at];
        let to = *to;
        let (op, fragment) = queue.pop_front()?;
        if queue.is_empty() {
            self.queues.remove(at);
            self.turn = at;
        } else {
            self.turn = at + 1;
        }
        Some((to, op, fragment))
    }

    /// Drops what waits for a receiver; returns of which operations.
    pub fn drop_for(&mut self, to: Rank) -> impl Iterator<Item = OpId> + use<> {
        let at = self.queues.iter().position(|(rank, _)| *rank == to);
        let queue = at.map(|at| self.queues.remove(at).1).unwrap_or_default();
        self.turn = 0;
        queue.into_iter().map(|(op, _)| op)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receivers_take_turns_and_hold_back_nobody() {
        let mut outbox = Outbox::default();
        for (to, fragment) in [(4, 0), (2, 0), (4, 1), (2, 1), (4, 2)] {
            outbox.push(Rank(to), OpId(0), Fragment(fragment));
        }
        let mut take = |refused: u32| {
            let taken = outbox.take(|to| to.0 != refused);
            taken.map(|(to, _, fragment)| (to.0, fragment.0))
        };
        assert_eq!(take(9), Some((4, 0)));
        assert_eq!(take(9), Some((2, 0)));
        assert_eq!(take(4), Some((2, 1)));
        assert_eq!(take(4), None);
        assert_eq!(take(9), Some((4, 1)));
        assert_eq!(outbox.drop_for(Rank(4)).count(), 1);
        assert_eq!(outbox.take(|_| true), None);
    }
}
