//! How a communicator reaches its endpoint: alone, or under a lock that others take too.
//!
//! The lock is held for single steps, which never wait for anything.

use super::Endpoint;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};

/// A communicator's way to its endpoint.
#[derive(Debug)]
pub enum Access {
    /// Nobody else has it.
    Own(Box<Endpoint>),
    /// Others may have it too.
    Shared(Arc<Mutex<Endpoint>>),
}

/// The endpoint for a step: by a reference, or under the lock.
pub enum Guard<'a, R> {
    Own(R),
    Shared(MutexGuard<'a, Endpoint>),
}

/// The endpoint, to be looked at.
pub type Seen<'a> = Guard<'a, &'a Endpoint>;
/// The endpoint, while nobody else has it.
pub type Held<'a> = Guard<'a, &'a mut Endpoint>;

impl Access {
    pub fn see(&self) -> Seen<'_> {
        match self {
            Access::Own(endpoint) => Guard::Own(endpoint),
            Access::Shared(endpoint) => Guard::Shared(lock(endpoint)),
        }
    }

    /// Whoever changes something has the endpoint look at everything in its next turn.
    pub fn hold(&mut self) -> Held<'_> {
        let mut endpoint = self.look();
        endpoint.disturb();
        endpoint
    }

    /// As [`hold`](Self::hold), for a look whether there is anything to do.
    pub fn look(&mut self) -> Held<'_> {
        match self {
            Access::Own(endpoint) => Guard::Own(endpoint),
            Access::Shared(endpoint) => Guard::Shared(lock(endpoint)),
        }
    }
}

/// Takes the lock. Where somebody panicked with it, the endpoint is unusable, and says so when it is
/// polled; it can still be left.
pub fn lock(endpoint: &Mutex<Endpoint>) -> MutexGuard<'_, Endpoint> {
    endpoint.lock().unwrap_or_else(|poisoned| {
        let mut endpoint = poisoned.into_inner();
        endpoint.poison();
        endpoint
    })
}

impl<R: Deref<Target = Endpoint>> Deref for Guard<'_, R> {
    type Target = Endpoint;

    fn deref(&self) -> &Endpoint {
        match self {
            Guard::Own(endpoint) => endpoint,
            Guard::Shared(endpoint) => endpoint,
        }
    }
}

impl<R: DerefMut<Target = Endpoint>> DerefMut for Guard<'_, R> {
    fn deref_mut(&mut self) -> &mut Endpoint {
        match self {
            Guard::Own(endpoint) => endpoint,
            Guard::Shared(endpoint) => endpoint,
        }
    }
}
