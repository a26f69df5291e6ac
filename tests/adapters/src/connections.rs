//! The connections of this process, which may fail without a request that says so.

use crate::qp;
use std::collections::BTreeSet;
use std::ptr::with_exposed_provenance_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};
use verbcast_sys::ibv_qp;

/// Their addresses.
static CONNECTIONS: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

fn connections() -> MutexGuard<'static, BTreeSet<usize>> {
    CONNECTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection was made.
pub fn adopt(qp: *mut ibv_qp) {
    connections().insert(qp.expose_provenance());
}

/// Ends a connection by this call, unless it fails.
pub fn end(qp: *mut ibv_qp, destroy: impl FnOnce() -> i32) -> i32 {
    // Nothing happens to it meanwhile.
    let mut connections = connections();
    let answer = destroy();
    if answer == 0 {
        connections.remove(&qp.addr());
    }
    answer
}

/// Each connection flushes its requests.
pub fn flush_all() {
    for connection in connections().iter() {
        qp::fail(with_exposed_provenance_mut(*connection));
    }
}
