//! What happens next: a radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, Faster algorithms for the shortest path problem, 1990,
//! section 2).
//!
//! Time only goes on, so events need no order until their time is near. Those of the time that has been reached wait in a
//! row; each other one is in the bucket of the highest bit in which its time differs from that. When the row is empty, the
//! lowest bucket's events are dealt out to the row and to lower buckets, in their order, so that those of one time stay in
//! the order in which they were put.

use super::event::Event;
use verbcast_core::rank::Rank;

const BUCKETS: usize = u64::BITS as usize;

/// Events by time; those of one time in the order in which they were put.
#[derive(Debug)]
pub(super) struct Queue {
    /// The time that has been reached, what happens then, and how much of that was taken.
    reached: u64,
    row: Vec<Entry>,
    taken: usize,
    buckets: [Bucket; BUCKETS],
    /// A bit for each bucket that is not empty.
    filled: u64,
    /// Events that are not turns, and places that are free.
    others: Vec<Option<Event>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Bucket {
    /// The earliest time in it.
    first: u64,
    entries: Vec<(u64, Entry)>,
}

/// An event. Most are turns, which are small enough to be moved about.
#[derive(Clone, Copy, Debug)]
enum Entry {
    Turn(Rank),
    Other(u32),
}

impl Queue {
    pub fn new() -> Self {
        let bucket = |_| Bucket { first: u64::MAX, entries: Vec::new() };
        Queue {
            reached: 0,
            row: Vec::new(),
            taken: 0,
            buckets: std::array::from_fn(bucket),
            filled: 0,
            others: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Puts an event at a time in nanoseconds, which must not be before that of the event that was taken last.
    pub fn put(&mut self, at: u64, event: Event) {
        let entry = match event {
            Event::Turn(rank) => Entry::Turn(rank),
            event => Entry::Other(self.store(event)),
        };
        debug_assert!(at >= self.reached, "{at} ns is over at {} ns", self.reached);
        self.file(at.max(self.reached), entry);
    }

    fn store(&mut self, event: Event) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.others[place as usize] = Some(event);
                place
            }
            None => {
                self.others.push(Some(event));
                self.others.len() as u32 - 1
            }
        }
    }

    fn file(&mut self, at: u64, entry: Entry) {
        let Some(bit) = (at ^ self.reached).checked_ilog2() else {
            return self.row.push(entry);
        };
        let bucket = &mut self.buckets[bit as usize];
        bucket.first = bucket.first.min(at);
        bucket.entries.push((at, entry));
        self.filled |= 1 << bit;
    }

    /// When the next event happens.
    pub fn next_at(&self) -> Option<u64> {
        if self.taken < self.row.len() {
            return Some(self.reached);
        }
        let bucket = self.buckets.get(self.filled.trailing_zeros() as usize)?;
        Some(bucket.first)
    }

    /// The next event and its time. Inlined, a turn, which most events are, is never written to memory.
    #[inline]
    pub fn take(&mut self) -> Option<(u64, Event)> {
        let entry = match self.row.get(self.taken) {
            Some(entry) => {
                self.taken += 1;
                *entry
            }
            None => self.advance()?,
        };
        let event = match entry {
            Entry::Turn(rank) => Event::Turn(rank),
            Entry::Other(place) => {
                self.free.push(place);
                self.others[place as usize].take()?
            }
        };
        Some((self.reached, event))
    }

    /// Deals the lowest bucket's events out, but for the first of them, which is taken.
    #[inline(never)]
    fn advance(&mut self) -> Option<Entry> {
        let bit = self.filled.trailing_zeros() as usize;
        let bucket = self.buckets.get_mut(bit)?;
        self.reached = std::mem::replace(&mut bucket.first, u64::MAX);
        self.filled &= !(1 << bit);
        self.row.clear();
        self.taken = 0;
        if let [(_, only)] = bucket.entries[..] {
            bucket.entries.clear();
            return Some(only);
        }
        let mut entries = std::mem::take(&mut bucket.entries);
        for (at, entry) in entries.drain(..) {
            self.file(at, entry);
        }
        // Its memory is used again.
        self.buckets[bit].entries = entries;
        self.taken = 1;
        self.row.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::super::draw::Draw;
    use super::*;

    fn turn(number: u32) -> Event {
        Event::Turn(Rank(number))
    }

    fn number((at, event): (u64, Event)) -> (u64, u32) {
        match event {
            Event::Turn(rank) | Event::Left(rank, None) => (at, rank.0),
            event => panic!("{event:?}"),
        }
    }

    #[test]
    fn events_come_by_time_then_by_order() {
        let mut queue = Queue::new();
        for (at, event) in [(5, 3), (1, 1), (5, 4), (2, 2)] {
            queue.put(at, turn(event));
        }
        let taken = std::iter::from_fn(|| queue.take()).map(number);
        assert_eq!(taken.collect::<Vec<_>>(), [(1, 1), (2, 2), (5, 3), (5, 4)]);
    }

    #[test]
    fn an_event_that_is_put_meanwhile_may_be_the_next() {
        let mut queue = Queue::new();
        queue.put(10, turn(0));
        queue.put(1000, turn(3));
        assert_eq!(queue.take().map(number), Some((10, 0)));
        assert_eq!(queue.next_at(), Some(1000));
        queue.put(11, turn(1));
        queue.put(u64::MAX, turn(4));
        queue.put(999, turn(2));
        assert_eq!(queue.next_at(), Some(11));
        let taken = std::iter::from_fn(|| queue.take()).map(number);
        assert_eq!(taken.collect::<Vec<_>>(), [(11, 1), (999, 2), (1000, 3), (u64::MAX, 4)]);
        assert_eq!(queue.next_at(), None);
    }

    #[test]
    fn the_order_is_that_of_a_sorted_list() {
        let mut draw = Draw::new(7);
        let (mut queue, mut expected, mut now) = (Queue::new(), Vec::new(), 0);
        for event in 0..20_000 {
            let span = draw.pick(&[1, 2, 50, 3000, 1_000_000]);
            let at = now + u64::from(draw.below(span));
            expected.push((at, event));
            queue
                .put(at, if draw.one_in(2) { turn(event) } else { Event::Left(Rank(event), None) });
            if draw.one_in(2) {
                let first = (0..expected.len()).min_by_key(|one| expected[*one]).unwrap();
                let first = expected.remove(first);
                assert_eq!(queue.next_at(), Some(first.0));
                assert_eq!(queue.take().map(number), Some(first));
                now = first.0;
            }
            if expected.len() > 500 {
                expected.sort_unstable();
                for first in expected.drain(..) {
                    assert_eq!(queue.take().map(number), Some(first));
                    now = first.0;
                }
            }
        }
    }
}
