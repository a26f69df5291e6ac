//! Communicators with multicast, of which a process has a limited number.

use std::sync::atomic::{AtomicUsize, Ordering};

static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// The right to make one of them, given back when it is dropped.
#[derive(Debug)]
pub struct Slot(());

impl Slot {
    /// Takes one if fewer than `limit` are taken.
    pub fn take(limit: usize) -> Option<Slot> {
        let more = |taken| (taken < limit).then_some(taken + 1);
        TAKEN.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok().map(|_| Slot(()))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        TAKEN.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::Slot;

    #[test]
    fn what_is_given_back_can_be_taken_again() {
        assert!(Slot::take(0).is_none());
        let first = Slot::take(2).unwrap();
        let second = Slot::take(2).unwrap();
        assert!(Slot::take(2).is_none());
        drop(first);
        let third = Slot::take(2).unwrap();
        assert!(Slot::take(2).is_none());
        drop((second, third));
    }
}
