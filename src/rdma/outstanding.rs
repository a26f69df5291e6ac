//! Requests of one send queue that have not ended.
//!
//! They end in the order in which they were posted, and only some of them complete by themselves, so that
//! one completion tells of all requests before it.

use std::collections::VecDeque;

/// The requests, by the numbers that their completions carry.
#[derive(Debug)]
pub(super) struct Outstanding<R> {
    requests: VecDeque<R>,
    /// The number of the first; numbers wrap around.
    first: u32,
}

impl<R> Outstanding<R> {
    /// With room for so many.
    pub fn new(depth: u32) -> Self {
        Outstanding { requests: VecDeque::with_capacity(depth as usize), first: 0 }
    }

    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// The number of the first that has not ended.
    pub fn first(&self) -> Option<u32> {
        (!self.requests.is_empty()).then_some(self.first)
    }

    /// A request is posted; its number.
    pub fn push(&mut self, request: R) -> u32 {
        self.requests.push_back(request);
        self.first.wrapping_add(self.requests.len() as u32 - 1)
    }

    /// The request of a number has completed: the first of the requests up to it that is left, and whether it
    /// is that one.
    pub fn pop_until(&mut self, number: u32) -> Option<(R, bool)> {
        let behind = number.wrapping_sub(self.first) as usize;
        if behind >= self.requests.len() {
            return None;
        }
        self.first = self.first.wrapping_add(1);
        self.requests.pop_front().map(|request| (request, behind == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::Outstanding;

    #[test]
    fn a_completion_tells_of_all_before_it() {
        let mut outstanding = Outstanding { first: u32::MAX - 1, ..Outstanding::new(4) };
        let numbers = ["a", "b", "c", "d"].map(|request| outstanding.push(request));
        assert_eq!(numbers, [u32::MAX - 1, u32::MAX, 0, 1]);
        assert_eq!(outstanding.pop_until(0), Some(("a", false)));
        assert_eq!(outstanding.pop_until(0), Some(("b", false)));
        assert_eq!(outstanding.pop_until(0), Some(("c", true)));
        assert_eq!(outstanding.pop_until(0), None, "it has ended");
        assert_eq!(outstanding.pop_until(2), None, "it was never posted");
        assert_eq!(outstanding.len(), 1);
        assert_eq!(outstanding.pop_until(1), Some(("d", true)));
    }
}
