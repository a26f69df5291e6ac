//! What waits to be sent, by receiver.

use super::segments::Item;
use crate::rank::{OpId, Rank};
use std::collections::VecDeque;

type Queue = VecDeque<(OpId, Item)>;

/// Queues of offers and fragments, one for each receiver that something waits for, in the order of the operations.
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
    /// Queues an item behind all of the same operation. Fragments that follow those before them become one with these.
    pub fn push(&mut self, to: Rank, op: OpId, item: Item) {
        match self.queues.iter_mut().find(|(rank, _)| *rank == to) {
            Some((_, queue)) => {
                let later = queue.iter().rev().take_while(|(queued, _)| queued.after(op) > 0);
                let at = queue.len() - later.count();
                if let Item::Fragments(more) = &item
                    && let Some((last, Item::Fragments(run))) =
                        at.checked_sub(1).map(|at| &mut queue[at])
                    && *last == op
                    && run.end == more.start
                {
                    run.end = more.end;
                    return;
                }
                queue.insert(at, (op, item));
            }
            None => {
                let mut queue = self.spare.pop().unwrap_or_default();
                queue.push_back((op, item));
                self.queues.push((to, queue));
            }
        }
    }

    /// The next item of an operation that a receiver may be sent; of fragments at most as many as `most` says, none where
    /// that is zero.
    pub fn take(&mut self, most: impl Fn(Rank, OpId, &Item) -> u32) -> Option<(Rank, OpId, Item)> {
        let count = self.queues.len();
        let in_turn = (0..count).map(|step| (self.turn + step) % count);
        let (at, most) = in_turn.into_iter().find_map(|at| {
            let (to, queue) = &self.queues[at];
            let (op, item) = queue.front()?;
            let most = most(*to, *op, item);
            (most > 0).then_some((at, most))
        })?;
        let (to, queue) = &mut self.queues[at];
        let to = *to;
        let (op, item) = queue.front_mut()?;
        let op = *op;
        let taken = match item {
            Item::Fragments(run) if run.len() > most as usize => {
                let first = run.start..run.start + most;
                run.start = first.end;
                Item::Fragments(first)
            }
            _ => queue.pop_front()?.1,
        };
        if queue.is_empty() {
            let (_, queue) = self.queues.remove(at);
            self.spare.push(queue);
            self.turn = at;
        } else {
            self.turn = at + 1;
        }
        Some((to, op, taken))
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

    fn one(fragment: u32) -> Item {
        Item::Fragments(fragment..fragment + 1)
    }

    fn first(item: &Item) -> u32 {
        match item {
            Item::Offer => panic!("it offers"),
            Item::Fragments(run) => run.start,
        }
    }

    #[test]
    fn earlier_operations_go_first() {
        let mut outbox = Outbox::default();
        for (op, fragment) in [(1, 0), (1, 2), (0, 0), (0, 1)] {
            outbox.push(Rank(4), OpId(op), one(fragment));
        }
        let taken = std::iter::from_fn(|| outbox.take(|_, _, _| 1));
        let taken: Vec<_> = taken.map(|(_, op, item)| (op.0, first(&item))).collect();
        assert_eq!(taken, [(0, 0), (0, 1), (1, 0), (1, 2)]);
    }

    #[test]
    fn fragments_that_follow_one_another_go_together() {
        let mut outbox = Outbox::default();
        let to = Rank(4);
        outbox.push(to, OpId(1), Item::Fragments(0..3));
        outbox.push(to, OpId(0), Item::Offer);
        outbox.push(to, OpId(0), Item::Fragments(0..3));
        for fragment in [3, 4, 6] {
            outbox.push(to, OpId(0), one(fragment));
        }
        let mut take = |most: u32| outbox.take(|_, _, _| most).map(|(_, op, item)| (op.0, item));
        assert_eq!(take(2), Some((0, Item::Offer)));
        assert_eq!(take(0), None);
        assert_eq!(take(2), Some((0, Item::Fragments(0..2))));
        assert_eq!(take(9), Some((0, Item::Fragments(2..5))));
        assert_eq!(take(9), Some((0, Item::Fragments(6..7))));
        assert_eq!(take(9), Some((1, Item::Fragments(0..3))));
        assert_eq!(take(9), None);
    }

    #[test]
    fn receivers_take_turns_and_hold_back_nobody() {
        let mut outbox = Outbox::default();
        for (to, fragment) in [(4, 0), (2, 0), (4, 1), (2, 1), (4, 2)] {
            outbox.push(Rank(to), OpId(0), one(fragment));
        }
        let mut take = |refused: u32| {
            let taken = outbox.take(|to, _, _| u32::from(to.0 != refused));
            taken.map(|(to, _, item)| (to.0, first(&item)))
        };
        assert_eq!(take(9), Some((4, 0)));
        assert_eq!(take(9), Some((2, 0)));
        assert_eq!(take(4), Some((2, 1)));
        assert_eq!(take(4), None);
        assert_eq!(take(9), Some((4, 1)));
        outbox.drop_for(Rank(4));
        assert_eq!(outbox.take(|_, _, _| 1), None);
    }
}
