//! Who has broadcasts in flight: the program's threads add and complete, and a thread of this library's waits for any.

use super::listed::{Counted, Listed};
use super::sync::{AtomicBool, Condvar, Mutex, MutexGuard, Ordering};
use std::sync::{Arc, PoisonError};

/// All that have broadcasts in flight.
pub struct Roster<T> {
    /// Whether there are any, for those who would not take a lock to find out.
    is_any: AtomicBool,
    inner: Mutex<Inner<T>>,
    news: Condvar,
}

struct Inner<T> {
    listed: Listed<T>,
    /// A thread serves them, or is about to.
    has_thread: bool,
}

impl<T: Counted> Roster<T> {
    pub fn new() -> Self {
        let inner = Inner { listed: Listed::new(), has_thread: false };
        Roster { is_any: AtomicBool::new(false), inner: Mutex::new(inner), news: Condvar::new() }
    }

    /// `one` has one more in flight, which it has counted. Where no thread serves them, `start` starts one, and tells
    /// whether it could.
    pub fn add(&self, one: &Arc<T>, start: impl FnOnce() -> bool) {
        let mut inner = self.lock();
        inner.listed.add(one);
        self.is_any.store(!inner.listed.is_empty(), Ordering::Release);
        inner.has_thread = inner.has_thread || start();
        self.news.notify_all();
    }

    /// Some may have ended.
    pub fn prune(&self) {
        let mut inner = self.lock();
        inner.listed.prune();
        self.is_any.store(!inner.listed.is_empty(), Ordering::Release);
    }

    /// Whether there are any.
    pub fn is_any(&self) -> bool {
        self.is_any.load(Ordering::Acquire)
    }

    /// All of them.
    pub fn all(&self) -> Vec<Arc<T>> {
        self.lock().listed.all()
    }

    /// All of them, as soon as there are any.
    pub fn wait(&self) -> Vec<Arc<T>> {
        let mut inner = self.lock();
        while inner.listed.is_empty() {
            inner = self.news.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        inner.listed.all()
    }

    /// The thread that served them ends.
    pub fn leave(&self) {
        self.lock().has_thread = false;
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
