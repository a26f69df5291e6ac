//! How much of a process's time goes to telling.

use super::nanos;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use verbcast_core::time::Instant;

/// One part in so many of the time may go to telling.
pub(super) const SHARE: i64 = 200;
/// Nanoseconds of telling that may be saved up.
pub(super) const SAVED: i64 = 10_000_000;
/// How many must have been saved until calls are told one by one again.
const ENOUGH: i64 = SAVED / 4;
/// What one thing told costs at most: its thread may have lost its core meanwhile.
const DEAREST: i64 = 500_000;

/// What may go to telling. Its clones are the same one: all communicators of a process have one together.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<Mutex<Account>>);

#[derive(Debug)]
struct Account {
    /// Nanoseconds that may go to telling now, and when that was reckoned.
    credit: i64,
    at: Instant,
}

impl Budget {
    /// One that has saved so many nanoseconds.
    pub fn new(credit: i64) -> Budget {
        Budget(Arc::new(Mutex::new(Account { credit, at: Instant::ZERO })))
    }

    /// That of this process.
    pub fn of_process() -> Budget {
        static BUDGET: OnceLock<Budget> = OnceLock::new();
        BUDGET.get_or_init(|| Budget::new(SAVED)).clone()
    }

    /// Something was told in this time. Whether there is something left.
    pub fn pay(&self, began: Instant, ended: Instant) -> bool {
        self.with(|account| {
            account.earn(began);
            account.credit -= (nanos(ended - began) as i64).min(DEAREST);
            account.credit >= 0
        })
    }

    /// Whether something may be told now.
    pub fn allows(&self, now: Instant) -> bool {
        self.with(|account| account.earn(now) >= 0)
    }

    /// Whether so much has been saved that calls can be told one by one.
    pub fn is_ample(&self) -> bool {
        self.with(|account| account.credit >= ENOUGH)
    }

    fn with<R>(&self, what: impl FnOnce(&mut Account) -> R) -> R {
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Account {
    fn earn(&mut self, now: Instant) -> i64 {
        let earned = nanos(now - self.at) as i64 / SHARE;
        self.at = self.at.max(now);
        self.credit = (self.credit + earned).min(SAVED);
        self.credit
    }
}
