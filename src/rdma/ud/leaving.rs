//! What must stay until the sends that use it have ended.

use std::collections::VecDeque;

/// Things that nobody sends with any more, and that posted sends of one queue may still use: a device looks up an
/// address handle when it gets to the send, and without one the queue pair is in error. Sends end in the order in
/// which they were posted.
#[derive(Debug)]
pub struct Leaving<T> {
    /// Sends posted and ended so far.
    posted: u64,
    ended: u64,
    /// Each with the number of sends that were posted before it was given up.
    waiting: VecDeque<(u64, T)>,
}

impl<T> Default for Leaving<T> {
    fn default() -> Self {
        Leaving { posted: 0, ended: 0, waiting: VecDeque::new() }
    }
}

impl<T> Leaving<T> {
    /// A send was posted.
    pub fn post(&mut self) {
        self.posted += 1;
    }

    /// A send has ended.
    pub fn end(&mut self) {
        self.ended += 1;
        self.drop_unused();
    }

    /// Drops something when all sends that are posted now have ended.
    pub fn add(&mut self, one: T) {
        self.waiting.push_back((self.posted, one));
        self.drop_unused();
    }

    fn drop_unused(&mut self) {
        while self.waiting.front().is_some_and(|(posted, _)| *posted <= self.ended) {
            self.waiting.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Leaving;
    use std::sync::Arc;

    #[test]
    fn what_sends_use_is_dropped_when_they_have_ended() {
        let mut leaving = Leaving::default();
        let (first, second) = (Arc::new(()), Arc::new(()));
        let is_there = |one: &Arc<()>| Arc::strong_count(one) > 1;
        leaving.add(Arc::clone(&first));
        assert!(!is_there(&first), "nothing was sent");
        leaving.post();
        leaving.post();
        leaving.add(Arc::clone(&first));
        leaving.post();
        leaving.add(Arc::clone(&second));
        leaving.end();
        assert!(is_there(&first) && is_there(&second));
        leaving.end();
        assert!(!is_there(&first) && is_there(&second));
        leaving.end();
        assert!(!is_there(&second));
    }
}
