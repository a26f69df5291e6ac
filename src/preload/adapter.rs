//! What the communicators took of the adapter.

use multicast::broadcast::Usage;
use std::sync::{Mutex, MutexGuard, PoisonError};

static MOST: Mutex<Usage> = Mutex::new(Usage {
    communicators: 0,
    left: 0,
    queue_pairs: 0,
    groups: 0,
    registered_memory: 0,
});

fn most() -> MutexGuard<'static, Usage> {
    MOST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes note of what they take now.
pub fn note(usage: &Usage) {
    let mut most = most();
    let Usage { communicators, left, queue_pairs, groups, registered_memory } = *usage;
    most.communicators = most.communicators.max(communicators);
    most.left = most.left.max(left);
    most.queue_pairs = most.queue_pairs.max(queue_pairs);
    most.groups = most.groups.max(groups);
    most.registered_memory = most.registered_memory.max(registered_memory);
}

/// The most of everything so far.
pub fn in_words() -> String {
    let Usage { communicators, queue_pairs, groups, registered_memory, .. } = *most();
    format!(
        "at most {communicators} communicators, {queue_pairs} queue pairs, {groups} groups, \
         {registered_memory} bytes registered"
    )
}
