//! MPI for tests of one process.

use super::Library;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// MPI in this process alone, for one test at a time.
pub fn mpi() -> MutexGuard<'static, ()> {
    static START: Once = Once::new();
    static ONE: Mutex<()> = Mutex::new(());
    let turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    // It runs on when this is gone.
    START.call_once(|| assert!(Library::start().is_some()));
    turn
}
