//! How a communicator reaches its endpoint: alone, or under a lock that others take too.
//!
//! The lock is held for single steps, which never wait for anything.

use super::endpoint::Endpoint;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};

/// A communicator's way to its endpoint.
#[derive(Debug)]
pub(super) enum Access {
    /// Nobody else has it.
    Own(Box<Endpoint>),
    /// Others may have it too.
    Shared(Arc<Mutex<Endpoint>>),
}

/// The endpoint, to be looked at.
pub(super) enum Seen<'a> {
    Own(&'a Endpoint),
    Shared(MutexGuard<'a, Endpoint>),
}

/// The endpoint, while nobody else has it.
pub(super) enum Held<'a> {
    Own(&'a mut Endpoint),
    Shared(MutexGuard<'a, Endpoint>),
}

impl Access {
    pub fn see(&self) -> Seen<'_> {
        match self {
            Access::Own(endpoint) => Seen::Own(endpoint),
            Access::Shared(endpoint) => Seen::Shared(lock(endpoint)),
        }
    }

    pub fn hold(&mut self) -> Held<'_> {
        match self {
            Access::Own(endpoint) => Held::Own(endpoint),
            Access::Shared(endpoint) => Held::Shared(lock(endpoint)),
        }
    }
}

/// Takes the lock. Where somebody panicked with it, the endpoint is of no more use, and says so when it is
/// polled; it can still be left.
pub(super) fn lock(endpoint: &Mutex<Endpoint>) -> MutexGuard<'_, Endpoint> {
    endpoint.lock().unwrap_or_else(|poisoned| {
        let mut endpoint = poisoned.into_inner();
        endpoint.is_poisoned = true;
        endpoint
    })
}

impl Deref for Seen<'_> {
    type Target = Endpoint;

    fn deref(&self) -> &Endpoint {
        match self {
            Seen::Own(endpoint) => endpoint,
            Seen::Shared(endpoint) => endpoint,
        }
    }
}

impl Deref for Held<'_> {
    type Target = Endpoint;

    fn deref(&self) -> &Endpoint {
        match self {
            Held::Own(endpoint) => endpoint,
            Held::Shared(endpoint) => endpoint,
        }
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut Endpoint {
        match self {
            Held::Own(endpoint) => endpoint,
            Held::Shared(endpoint) => endpoint,
        }
    }
}
