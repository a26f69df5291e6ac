//! MPI for tests of one process.

use mpi::Threading;
use mpi::environment::initialize_with_threading;
use std::mem;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// MPI in this process alone, for one test at a time, whose threads may all call it.
pub fn mpi() -> MutexGuard<'static, ()> {
    static START: Once = Once::new();
    static ONE: Mutex<()> = Mutex::new(());
    let turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    // It runs on when this is gone.
    START.call_once(|| {
        let (universe, threading) = initialize_with_threading(Threading::Multiple).unwrap();
        assert_eq!(threading, Threading::Multiple);
        mem::forget(universe);
    });
    turn
}
