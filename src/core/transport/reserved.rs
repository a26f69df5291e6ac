//! Receives that are kept for reliable messages which come while nobody polls.
//!
//! All communicators of a process receive through one queue. A rank that goes on to something else leaves messages to come
//! behind; with many communicators these could be more than the queue holds, and a sender that finds it full waits for
//! the rank to come back, which may wait for that sender elsewhere. So all communicators together leave no more to come than
//! the queue takes in.

use crate::rank::OpId;
use std::collections::HashMap;
use std::hash::Hash;

/// What each communicator has left to come; `C` names one.
#[derive(Clone, Debug)]
pub struct Reserved<C> {
    most: u64,
    total: u64,
    by_communicator: HashMap<C, Share>,
}

/// Messages to come, all of operations before `next`.
#[derive(Clone, Copy, Debug)]
struct Share {
    messages: u64,
    next: OpId,
}

impl<C: Eq + Hash> Reserved<C> {
    /// At most so many messages, of all communicators together.
    pub fn new(most: u32) -> Self {
        Reserved { most: u64::from(most), total: 0, by_communicator: HashMap::new() }
    }

    /// Keeps receives for what is to come to a communicator, in place of those that it had; false, and nothing is
    /// changed, where the others have left too few.
    pub fn reserve(&mut self, communicator: C, messages: u64, next: OpId) -> bool {
        let before = self.by_communicator.get(&communicator).map_or(0, |share| share.messages);
        let total = self.total - before + messages;
        if messages > 0 && total > self.most {
            return false;
        }
        self.total = total;
        self.by_communicator.insert(communicator, Share { messages, next });
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: char = 'a';
    const SECOND: char = 'b';
    const NEXT: OpId = OpId(5);

    #[test]
    fn all_together_leave_no_more_than_the_queue_takes() {
        let mut reserved = Reserved::new(4);
        assert!(reserved.reserve(FIRST, 3, NEXT));
        assert!(!reserved.reserve(SECOND, 2, NEXT));
        assert!(reserved.reserve(SECOND, 1, NEXT));
        assert!(!reserved.reserve(FIRST, 4, NEXT) && reserved.reserve(FIRST, 2, NEXT));
        assert!(reserved.reserve(SECOND, 2, NEXT), "in place of what it had");
    }

    #[test]
    fn what_has_come_makes_room_and_what_is_of_a_later_operation_does_not() {
        let mut reserved = Reserved::new(2);
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
        let mut reserved = Reserved::new(1);
        assert!(reserved.reserve(FIRST, 1, NEXT) && reserved.reserve(SECOND, 0, NEXT));
        reserved.release(FIRST);
        assert!(reserved.reserve(SECOND, 1, NEXT));
    }
}
