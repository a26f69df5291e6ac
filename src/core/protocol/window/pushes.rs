//! Reliable sends of what a ring keeps: to each rank no more at a time than its queue takes while that rank does not poll.

use crate::protocol::{SmallMap, Token};
use crate::rank::{OpId, Rank};
use std::collections::VecDeque;

/// A reliable send of a retained fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Push {
    pub to: Rank,
    pub slot: u32,
    pub token: Token,
    /// It repairs, so that a rank that has acknowledged the fragment needs it no more. A co-root waits for what is passed
    /// on to it.
    pub repairs: bool,
}

/// Reliable sends, from when they are wanted until they are delivered.
#[derive(Clone, Debug)]
pub(super) struct Pushes {
    /// Sends that may be on their way to a rank.
    most: usize,
    /// Sends to be handed to the transport.
    queued: VecDeque<Push>,
    /// Sends held back, since as many as may be are under way to their rank.
    waiting: SmallMap<Rank, VecDeque<Push>>,
    /// Sends under way.
    under_way: Vec<Push>,
}

impl Pushes {
    pub fn new(most: u32) -> Self {
        Pushes {
            most: most as usize,
            queued: VecDeque::new(),
            waiting: SmallMap::default(),
            under_way: Vec::new(),
        }
    }

    pub fn add(&mut self, push: Push) {
        self.queued.push_back(push);
    }

    /// The next one, which is under way from now on.
    pub fn take(&mut self) -> Option<Push> {
        while let Some(push) = self.queued.pop_front() {
            let on_their_way = self.under_way.iter().filter(|other| other.to == push.to).count();
            if on_their_way < self.most {
                self.under_way.push(push);
                return Some(push);
            }
            self.waiting.get_or_insert(push.to, VecDeque::new()).push_back(push);
        }
        None
    }

    /// Whether one of an operation is to be handed to the transport.
    pub fn has_queued(&self, op: OpId) -> bool {
        let mut queued = self.queued.iter().chain(self.waiting.values().flatten());
        queued.any(|push| push.token.op == op)
    }

    /// One is delivered, and makes room for another to its rank.
    pub fn delivered(&mut self, to: Rank, token: Token) -> Option<Push> {
        let at = self.under_way.iter().position(|push| push.to == to && push.token == token)?;
        let next = self.waiting.get_mut(to).and_then(VecDeque::pop_front);
        self.queued.extend(next);
        Some(self.under_way.swap_remove(at))
    }

    /// Those to a rank that are not under way, and are of no use, are not made.
    pub fn cancel(&mut self, to: Rank, is_idle: impl Fn(&Push) -> bool) -> Vec<Push> {
        let mut idle = Vec::new();
        let mut keeps = |push: &Push| {
            let is_kept = push.to != to || !is_idle(push);
            if !is_kept {
                idle.push(*push);
            }
            is_kept
        };
        // What waits may have waited for one of these.
        self.queued.extend(self.waiting.remove(to).into_iter().flatten());
        self.queued.retain(&mut keeps);
        idle
    }

    /// Nothing more is sent to a rank.
    pub fn forget(&mut self, rank: Rank) -> Vec<Push> {
        let mut gone = self.cancel(rank, |_| true);
        gone.extend(self.under_way.extract_if(.., |push| push.to == rank));
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::Fragment;
    use crate::wire::Kind;

    fn push(to: u32, slot: u32) -> Push {
        let token = Token { kind: Kind::Fragment, op: OpId(0), fragment: Fragment(slot) };
        Push { to: Rank(to), slot, token, repairs: true }
    }

    #[test]
    fn a_rank_has_no_more_on_their_way_than_it_takes() {
        let mut pushes = Pushes::new(2);
        (0..4).for_each(|slot| pushes.add(push(1, slot)));
        pushes.add(push(2, 0));
        let taken: Vec<_> = std::iter::from_fn(|| pushes.take()).collect();
        assert_eq!(taken, [push(1, 0), push(1, 1), push(2, 0)]);
        assert!(pushes.has_queued(OpId(0)));
        assert_eq!(pushes.delivered(Rank(1), push(1, 0).token), Some(push(1, 0)));
        assert_eq!((pushes.take(), pushes.take()), (Some(push(1, 2)), None));
    }

    #[test]
    fn what_waited_for_one_that_is_not_made_goes_on() {
        let mut pushes = Pushes::new(1);
        (0..3).for_each(|slot| pushes.add(push(1, slot)));
        assert_eq!((pushes.take(), pushes.take()), (Some(push(1, 0)), None));
        assert_eq!(pushes.delivered(Rank(1), push(1, 0).token), Some(push(1, 0)));
        assert_eq!(pushes.cancel(Rank(1), |push| push.slot == 1), [push(1, 1)]);
        assert_eq!(pushes.take(), Some(push(1, 2)));
    }

    #[test]
    fn what_is_of_no_use_is_not_sent() {
        let mut pushes = Pushes::new(1);
        (0..4).for_each(|slot| pushes.add(push(1, slot)));
        assert_eq!(pushes.take(), Some(push(1, 0)));
        assert_eq!(pushes.take(), None);
        assert_eq!(pushes.cancel(Rank(1), |push| push.slot < 3), [push(1, 1), push(1, 2)]);
        assert_eq!(pushes.forget(Rank(1)), [push(1, 3), push(1, 0)]);
        assert!(!pushes.has_queued(OpId(0)) && pushes.take().is_none());
    }
}
