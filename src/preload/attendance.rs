//! What one thread attends to until nothing is left, and others hand to it.

use super::sync::{Mutex, MutexGuard};
use std::sync::PoisonError;

/// What is handed over, and whether there is a thread that takes it.
pub struct Attendance<T>(Mutex<Inner<T>>);

struct Inner<T> {
    /// What the thread does not have yet.
    new: Vec<T>,
    is_attended: bool,
}

impl<T> Attendance<T> {
    pub fn new() -> Self {
        Attendance(Mutex::new(Inner { new: Vec::new(), is_attended: false }))
    }

    /// Hands one over. Where no thread attends, `start` starts one, and tells whether it could; else it waits for the next
    /// one.
    pub fn hand(&self, one: T, start: impl FnOnce() -> bool) {
        let mut inner = self.lock();
        inner.new.push(one);
        inner.is_attended = inner.is_attended || start();
    }

    /// Adds what is new to `all`. False if there is nothing at all: then nobody attends any more.
    pub fn take(&self, all: &mut Vec<T>) -> bool {
        let mut inner = self.lock();
        all.append(&mut inner.new);
        let is_over = all.is_empty();
        if is_over {
            inner.is_attended = false;
        }
        !is_over
    }

    /// The thread ends, whatever is left.
    pub fn leave(&self) {
        self.lock().is_attended = false;
    }

    /// Whether a thread attends.
    pub fn is_attended(&self) -> bool {
        self.lock().is_attended
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
