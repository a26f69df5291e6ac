//! What waits to be sent, by receiver.

use crate::rank::{Fragment, OpId, Rank};
use std::collections::VecDeque;

type Queue = VecDeque<(OpId, Fragment)>;

/// Queues of fragments, one for each receiver that something waits for, in the order of the operations.
/// Receivers take turns, in the order in which they came, and one that cannot be sent to holds back no
/// other.
#[derive(Clone, Debug, Default)]
pub(super) struct Outbox {
    queues: Vec<(Rank, Queue)>,
    /// Queues of those for whom nothing waits any more, to be used again.
    spare: Vec<Queue>,
    turn: usize,
}

impl Outbox {
    pub fn push(&mut self, to: Rank, op: OpId, fragment: Fragment) {
        match self.queues.iter_mut().find(|(rank, _)| *rank == to) {
            Some((_, queue)) => {
                let later = queue.iter().rev().take_while(|(queued, _)| queued.after(op) > 0);
                let at = queue.len() - later.count();
                queue.insert(at, (op, fragment));
            }
            None => {
                let mut queue = self.spare.pop().unwrap_or_default();
                queue.push_back((op, fragment));
                self.queues.push((to, queue));
            }
        }
    }

    /// The next fragment of an operation that a receiver `may` be sent.
    pub fn take(&mut self, may: impl Fn(Rank, OpId) -> bool) -> Option<(Rank, OpId, Fragment)> {
        let count = self.queues.len();
        let in_turn = (0..count).map(|step| (self.turn + step) % count);
        let at = in_turn.into_iter().find(|at| {
            let (to, queue) = &self.queues[*at];
            queue.front().is_some_and(|(op, _)| may(*to, *op))
        })?;
        let (to, queue) = &mut self.queues[at];
        let to = *to;
        let (op, fragment) = queue.pop_front()?;
        if queue.is_empty() {
            let (_, queue) = self.queues.remove(at);
            self.spare.push(queue);
            self.turn = at;
        } else {
            self.turn = at + 1;
        }
        Some((to, op, fragment))
    }

    /// Drops what waits for a receiver.
    pub fn drop_for(&mut self, to: Rank) {
        self.queues.retain(|(rank, _)| *rank != to);
        self.turn = 0;
    }

    /// The receivers that something waits for.
    pub fn receivers(&self) -> impl Iterator<Item = Rank> + '_ {
        self.queues.iter().map(|(to, _)| *to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_operations_go_first() {
        let mut outbox = Outbox::default();
        for (op, fragment) in [(1, 0), (1, 1), (0, 0), (0, 1)] {
            outbox.push(Rank(4), OpId(op), Fragment(fragment));
        }
        let taken = std::iter::from_fn(|| outbox.take(|_, _| true));
        let taken: Vec<_> = taken.map(|(_, op, fragment)| (op.0, fragment.0)).collect();
        assert_eq!(taken, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    }

    #[test]
    fn receivers_take_turns_and_hold_back_nobody() {
        let mut outbox = Outbox::default();
        for (to, fragment) in [(4, 0), (2, 0), (4, 1), (2, 1), (4, 2)] {
            outbox.push(Rank(to), OpId(0), Fragment(fragment));
        }
        let mut take = |refused: u32| {
            let taken = outbox.take(|to, _| to.0 != refused);
            taken.map(|(to, _, fragment)| (to.0, fragment.0))
        };
        assert_eq!(take(9), Some((4, 0)));
        assert_eq!(take(9), Some((2, 0)));
        assert_eq!(take(4), Some((2, 1)));
        assert_eq!(take(4), None);
        assert_eq!(take(9), Some((4, 1)));
        outbox.drop_for(Rank(4));
        assert_eq!(outbox.take(|_, _| true), None);
    }
}
