//! The endpoints that the communicators of this process share.

use crate::broadcast::{Config, Endpoint};
use std::sync::{Mutex, PoisonError};

/// They stay until the process ends, so that the others need no new connections with it when it makes a
/// communicator after it has freed its last one.
static ENDPOINTS: Mutex<Vec<Endpoint>> = Mutex::new(Vec::new());

/// The endpoint of all communicators whose settings differ in nothing that is an endpoint's.
pub fn endpoint(config: &Config) -> Endpoint {
    let settings = &config.device;
    // Nothing is added to it by halves.
    let mut endpoints = ENDPOINTS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = endpoints.iter().find(|endpoint| endpoint.settings_for(settings) == *settings);
    if let Some(endpoint) = known {
        return endpoint.clone();
    }
    let endpoint = Endpoint::new(settings);
    endpoints.push(endpoint.clone());
    endpoint
}
