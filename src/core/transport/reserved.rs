//! Receives that are kept for reliable messages which come while nobody polls.
//!
//! All communicators of a process receive through one queue. A rank that goes on to something else leaves messages to come
//! behind; with many communicators these could be more than the queue holds, and a sender that finds it full waits for
//! the rank to come back, which may wait for that sender elsewhere. So all communicators together leave no more to come than
//! the queue takes in, besides what is sent for broadcasts that the rank has not begun, which may come first. Whoever
//! waits until that is taken waits for the rank to begin, as a broadcast may.

use crate::numbers::NumberMap;
use crate::rank::OpId;
use std::hash::Hash;

/// What each communicator has left to come; `C` names one.
#[derive(Clone, Debug)]
pub struct Reserved<C> {
    most: u64,
    total: u64,
    eager: u64,
    by_communicator: NumberMap<C, Share>,
}

/// Messages to come, all of operations before `next`.
#[derive(Clone, Copy, Debug)]
struct Share {
    messages: u64,
    next: OpId,
    eager: u64,
}

impl<C: Eq + Hash> Reserved<C> {
    /// At most so many messages, of all communicators together.
    pub fn new(most: u32) -> Self {
        Reserved {
            most: u64::from(most),
            total: 0,
            eager: 0,
            by_communicator: NumberMap::default(),
        }
    }

    /// A communicator whose ranks send this one at most `eager` messages for operations that it has not begun.
    pub fn open(&mut self, communicator: C, eager: u64) {
        self.by_communicator.insert(communicator, Share { messages: 0, next: OpId(0), eager });
        self.count_eager();
    }

    /// Keeps receives for what is to come to a communicator that is open, in place of those that it had; false, and
    /// nothing is changed, where the others have left too few.
    pub fn reserve(&mut self, communicator: C, messages: u64, next: OpId) -> bool {
        let Some(share) = self.by_communicator.get_mut(&communicator) else { return false };
        let total = self.total - share.messages + messages;
        if messages > 0 && total.saturating_add(self.eager) > self.most {
            return false;
        }
        self.total = total;
        (share.messages, share.next) = (messages, next);
        true
    }

    /// A message of an operation has come to a communicator.
    pub fn arrived(&mut self, communicator: C, op: OpId) {
        if let Some(share) = self.by_communicator.get_mut(&communicator)
            && share.messages > 0
            && op.after(share.next) < 0
        {
            share.messages -= 1;
            self.total -= 1;
        }
    }

    /// A communicator is closed.
    pub fn release(&mut self, communicator: C) {
        let share = self.by_communicator.remove(&communicator);
        self.total -= share.map_or(0, |share| share.messages);
        self.count_eager();
    }

    /// One alone holds up nobody else: its ranks wait for this one to begin as it is.
    fn count_eager(&mut self) {
        let is_shared = self.by_communicator.len() > 1;
        let eager = self.by_communicator.values().filter(|_| is_shared).map(|share| share.eager);
        self.eager = eager.fold(0, u64::saturating_add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: char = 'a';
    const SECOND: char = 'b';
    const NEXT: OpId = OpId(5);

    fn reserved(most: u32) -> Reserved<char> {
        let mut reserved = Reserved::new(most);
        reserved.open(FIRST, 0);
        reserved.open(SECOND, 0);
        reserved
    }

    #[test]
    fn all_together_leave_no_more_than_the_queue_takes() {
        let mut reserved = reserved(4);
        assert!(reserved.reserve(FIRST, 3, NEXT));
        assert!(!reserved.reserve(SECOND, 2, NEXT));
        assert!(reserved.reserve(SECOND, 1, NEXT));
        assert!(!reserved.reserve(FIRST, 4, NEXT) && reserved.reserve(FIRST, 2, NEXT));
        assert!(reserved.reserve(SECOND, 2, NEXT), "in place of what it had");
    }

    #[test]
    fn what_has_come_makes_room_and_what_is_of_a_later_operation_does_not() {
        let mut reserved = reserved(2);
        assert!(reserved.reserve(FIRST, 2, NEXT));
        reserved.arrived(FIRST, NEXT);
        reserved.arrived(SECOND, OpId(0));
        assert!(!reserved.reserve(SECOND, 1, NEXT));
        reserved.arrived(FIRST, OpId(4));
        assert!(reserved.reserve(SECOND, 1, NEXT));
        // More than was to come, such as a repair that nobody needed.
        (0..5).for_each(|_| reserved.arrived(FIRST, OpId(4)));
        assert!(!reserved.reserve(SECOND, 3, NEXT) && reserved.reserve(SECOND, 2, NEXT));
    }

    #[test]
    fn who_is_sent_nothing_more_may_always_leave() {
        let mut reserved = reserved(1);
        assert!(reserved.reserve(FIRST, 1, NEXT) && reserved.reserve(SECOND, 0, NEXT));
        reserved.release(FIRST);
        assert!(reserved.reserve(SECOND, 1, NEXT));
        assert!(!reserved.reserve(FIRST, 0, NEXT), "it is closed");
    }

    #[test]
    fn what_may_come_of_operations_that_are_not_begun_finds_room_too() {
        let mut reserved = Reserved::new(6);
        reserved.open(FIRST, 3);
        assert!(!reserved.reserve(FIRST, 7, NEXT) && reserved.reserve(FIRST, 6, NEXT), "alone");
        reserved.open(SECOND, 1);
        assert!(!reserved.reserve(FIRST, 3, NEXT) && reserved.reserve(FIRST, 2, NEXT));
        reserved.open(SECOND, u64::MAX);
        assert!(!reserved.reserve(FIRST, 1, NEXT) && reserved.reserve(FIRST, 0, NEXT));
        reserved.release(SECOND);
        assert!(reserved.reserve(FIRST, 6, NEXT));
    }
}
