//! Memory for messages that stays registered, so that a buffer that is used again and again is not
//! registered again and again.
//!
//! Only memory that verbcast allocates itself is kept: of anybody else's it cannot be known whether it
//! was freed and mapped anew since, with the device still reaching the old pages. Entries are found by
//! address and length. What nobody uses leaves in the order of its last use, when the bound calls for
//! room.

use std::collections::VecDeque;
use verbcast_verbs::{Anchor, page_size};

/// Registered memory.
pub trait Entry {
    /// Its first byte's address.
    fn address(&self) -> usize;
    /// Bytes in all.
    fn capacity(&self) -> usize;
    /// Whether nobody uses it.
    fn is_free(&self) -> bool;
    /// Whether it is registered still.
    fn is_live(&self) -> bool;
}

impl Entry for Anchor {
    fn address(&self) -> usize {
        Anchor::address(self)
    }

    fn capacity(&self) -> usize {
        Anchor::capacity(self)
    }

    fn is_free(&self) -> bool {
        Anchor::is_free(self)
    }

    fn is_live(&self) -> bool {
        Anchor::is_live(self)
    }
}

/// Registered memory, up to a bound.
#[derive(Debug)]
pub struct Registrations<E> {
    /// In the order of their last use.
    entries: VecDeque<E>,
    /// Bytes of all entries, and at most.
    bytes: usize,
    bound: usize,
}

impl<E: Entry> Registrations<E> {
    /// Nothing yet, and up to `bound` bytes.
    pub fn new(bound: usize) -> Self {
        Registrations { entries: VecDeque::new(), bytes: 0, bound }
    }

    /// The memory that has `len` bytes from `address` on inside.
    pub fn find(&mut self, address: usize, len: usize) -> Option<&E> {
        let inside = |entry: &E| {
            let offset = address.checked_sub(entry.address());
            let end = offset.and_then(|offset| offset.checked_add(len));
            end.is_some_and(|end| end <= entry.capacity())
        };
        let at = self.entries.iter().position(inside)?;
        self.touch(at).map(|entry| &*entry)
    }

    /// The smallest memory of at least `len` bytes, and not much more, that nobody uses.
    pub fn find_free(&mut self, len: usize) -> Option<&mut E> {
        let most = len.saturating_mul(2).max(page_size());
        let fitting = self.entries.iter().enumerate().filter(|(_, entry)| {
            entry.is_free() && entry.is_live() && (len..=most).contains(&entry.capacity())
        });
        let (at, _) = fitting.min_by_key(|(_, entry)| entry.capacity())?;
        self.touch(at)
    }

    /// Lets go of what nobody uses until there is room for `len` bytes; whether there is.
    pub fn make_room(&mut self, len: usize) -> bool {
        if len > self.bound {
            return false;
        }
        let mut at = 0;
        while self.bytes > self.bound - len && at < self.entries.len() {
            match self.entries[at].is_free() {
                true => {
                    let gone = self.entries.remove(at);
                    self.bytes -= gone.map_or(0, |entry| entry.capacity());
                }
                false => at += 1,
            }
        }
        self.bytes <= self.bound - len
    }

    /// Keeps memory for which [room was made](Self::make_room).
    pub fn insert(&mut self, entry: E) -> Option<&mut E> {
        self.bytes += entry.capacity();
        self.entries.push_back(entry);
        self.entries.back_mut()
    }

    fn touch(&mut self, at: usize) -> Option<&mut E> {
        let entry = self.entries.remove(at)?;
        self.entries.push_back(entry);
        self.entries.back_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    #[derive(Debug, PartialEq)]
    struct Memory {
        address: usize,
        capacity: usize,
        free: Rc<Cell<bool>>,
    }

    impl Entry for Memory {
        fn address(&self) -> usize {
            self.address
        }

        fn capacity(&self) -> usize {
            self.capacity
        }

        fn is_free(&self) -> bool {
            self.free.get()
        }

        fn is_live(&self) -> bool {
            true
        }
    }

    fn add(cache: &mut Registrations<Memory>, address: usize, capacity: usize) -> Rc<Cell<bool>> {
        let free = Rc::new(Cell::new(true));
        assert!(cache.make_room(capacity));
        cache.insert(Memory { address, capacity, free: Rc::clone(&free) });
        free
    }

    fn addresses(cache: &Registrations<Memory>) -> Vec<usize> {
        cache.entries.iter().map(|entry| entry.address).collect()
    }

    #[test]
    fn memory_is_found_by_address_and_length() {
        let mut cache = Registrations::new(1000);
        add(&mut cache, 5000, 300);
        add(&mut cache, 6000, 100);
        let find = |cache: &mut Registrations<Memory>, address, len| {
            cache.find(address, len).map(|entry| entry.address)
        };
        assert_eq!(find(&mut cache, 5000, 300), Some(5000));
        assert_eq!(find(&mut cache, 5299, 1), Some(5000));
        assert_eq!(find(&mut cache, 6010, 90), Some(6000));
        for (address, len) in [(4999, 1), (5299, 2), (6100, 1), (5000, usize::MAX)] {
            assert_eq!(find(&mut cache, address, len), None, "{len} at {address}");
        }
    }

    #[test]
    fn what_was_used_last_stays() {
        let mut cache = Registrations::new(300);
        (1..=3).for_each(|n| drop(add(&mut cache, n * 1000, 100)));
        assert!(cache.find(1000, 1).is_some());
        add(&mut cache, 4000, 100);
        assert_eq!(addresses(&cache), [3000, 1000, 4000]);
    }

    #[test]
    fn what_is_in_use_stays() {
        let mut cache = Registrations::new(300);
        add(&mut cache, 1000, 200).set(false);
        add(&mut cache, 2000, 100);
        assert!(!cache.make_room(200));
        assert_eq!(addresses(&cache), [1000]);
        assert!(cache.make_room(100));
    }

    #[test]
    fn nothing_is_kept_beyond_the_bound() {
        let mut cache = Registrations::<Memory>::new(0);
        assert!(!cache.make_room(1));
        let mut cache = Registrations::new(100);
        add(&mut cache, 1000, 100);
        assert!(!cache.make_room(101));
        assert_eq!(addresses(&cache), [1000], "nothing goes in vain");
    }

    #[test]
    fn the_best_fit_is_used_again() {
        let mut cache = Registrations::new(usize::MAX);
        add(&mut cache, 1000, 1 << 20);
        add(&mut cache, 3_000_000, 20_000);
        let used = add(&mut cache, 4_000_000, 12_000);
        let found = |cache: &mut Registrations<Memory>, len| {
            cache.find_free(len).map(|entry| entry.capacity)
        };
        assert_eq!(found(&mut cache, 12_000), Some(12_000));
        used.set(false);
        assert_eq!(found(&mut cache, 12_000), Some(20_000));
        assert_eq!(found(&mut cache, 5_000), None, "a waste");
        assert_eq!(found(&mut cache, 2 << 20), None);
    }
}
