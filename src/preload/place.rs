//! Where this rank stands in the largest communicator that had multicast.

use multicast::broadcast::Broadcaster;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many ranks it has, and this one's neighbours in words.
static LARGEST: Mutex<(u32, String)> = Mutex::new((0, String::new()));

fn largest() -> MutexGuard<'static, (u32, String)> {
    LARGEST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes note of a communicator.
pub fn note(broadcaster: &Broadcaster) {
    let mut largest = largest();
    if broadcaster.size() > largest.0 {
        *largest = (broadcaster.size(), broadcaster.neighbours().to_owned());
    }
}

/// Where it stands.
pub fn in_words() -> String {
    let (size, neighbours) = &*largest();
    format!("of {size} ranks, {neighbours}")
}
