//! What has broadcasts in flight, listed by one thread while another may complete them.

use std::sync::Arc;

/// What may be listed.
pub trait Counted {
    /// Broadcasts that have begun and not ended. They are counted before the list hears of them, and it is told after they
    /// have ended.
    fn in_flight(&self) -> usize;
}

/// What has broadcasts in flight.
pub struct Listed<T>(Vec<Arc<T>>);

impl<T: Counted> Listed<T> {
    /// Nothing.
    pub const fn new() -> Self {
        Listed(Vec::new())
    }

    /// One has begun in `one`; another thread may have completed it already, and pruned.
    pub fn add(&mut self, one: &Arc<T>) {
        if one.in_flight() > 0 && !self.0.iter().any(|other| Arc::ptr_eq(other, one)) {
            self.0.push(Arc::clone(one));
        }
    }

    /// Some have ended.
    pub fn prune(&mut self) {
        self.0.retain(|one| one.in_flight() > 0);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, so that the list need not be held.
    pub fn all(&self) -> Vec<Arc<T>> {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::{Counted, Listed};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Communicator(AtomicUsize);

    impl Counted for Communicator {
        fn in_flight(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn it_is_listed_once_as_long_as_anything_is_in_flight() {
        let (mut listed, one) = (Listed::new(), Arc::new(Communicator(AtomicUsize::new(2))));
        listed.add(&one);
        listed.add(&one);
        assert_eq!(listed.all().len(), 1);
        one.0.store(1, Ordering::Relaxed);
        listed.prune();
        assert!(!listed.is_empty());
        one.0.store(0, Ordering::Relaxed);
        listed.prune();
        assert!(listed.is_empty());
    }

    #[test]
    fn what_another_thread_has_completed_before_is_not_listed() {
        let (mut listed, one) = (Listed::new(), Arc::new(Communicator(AtomicUsize::new(1))));
        // As the thread that completes does.
        one.0.store(0, Ordering::Relaxed);
        listed.prune();
        listed.add(&one);
        assert!(listed.is_empty());
    }
}
