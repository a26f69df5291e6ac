//! What must stay until the sends that use it have ended.

use std::collections::VecDeque;

/// Things that nobody sends with any more, and that posted sends of one queue may still use: a device looks up an
/// address handle when it gets to the send, and without one the queue pair is in error. Sends end in the order in
/// which they were posted.
#[derive(Debug)]
pub struct DeferredDrop<T> {
    /// Sends posted and ended so far.
    posted: u64,
    ended: u64,
    /// Each with the number of sends that were posted before it was given up.
    waiting: VecDeque<(u64, T)>,
}

impl<T> Default for DeferredDrop<T> {
    fn default() -> Self {
        DeferredDrop { posted: 0, ended: 0, waiting: VecDeque::new() }
    }
}

impl<T> DeferredDrop<T> {
    /// A send was posted.
    pub fn post(&mut self) {
        self.posted += 1;
    }

    /// A send has ended.
    pub fn end(&mut self) {
        self.ended += 1;
    }

    /// Nobody sends with this any more. It [can be dropped](Self::next_unused) when all sends that are posted now have
    /// ended.
    pub fn add(&mut self, one: T) {
        self.waiting.push_back((self.posted, one));
    }

    /// The next thing that no send uses.
    pub fn next_unused(&mut self) -> Option<T> {
        let is_unused = self.waiting.front().is_some_and(|(posted, _)| *posted <= self.ended);
        if is_unused { self.waiting.pop_front().map(|(_, one)| one) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::DeferredDrop;

    #[test]
    fn what_sends_use_is_dropped_when_they_have_ended() {
        let mut deferred = DeferredDrop::default();
        deferred.add('a');
        assert_eq!(deferred.next_unused(), Some('a'), "nothing was sent");
        deferred.post();
        deferred.post();
        deferred.add('b');
        deferred.post();
        deferred.add('c');
        deferred.end();
        assert_eq!(deferred.next_unused(), None);
        deferred.end();
        assert_eq!((deferred.next_unused(), deferred.next_unused()), (Some('b'), None));
        deferred.end();
        assert_eq!(deferred.next_unused(), Some('c'));
    }
}
