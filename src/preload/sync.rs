//! What threads share data by, in one place: `exploration/tests/threads.rs` has loom's in its place, and goes through all orders
//! in which threads can come to it.

pub use std::sync::atomic::{AtomicBool, Ordering};
pub use std::sync::{Condvar, Mutex, MutexGuard};
