//! Joining a group again while its communicators go on: each attempt has a thread, as the fabric may take seconds to
//! answer.

use super::join_error::JoinError;
use super::joiner::Joiner;
use super::membership::Joined;
use super::order::PortSpeed;
use super::rejoin::Rejoin;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use verbcast_core::time::Instant;
use verbcast_core::wire::GroupAddress;

/// Between two looks whether an attempt has ended.
const LOOK: Duration = Duration::from_millis(5);

/// A membership that is being made anew.
#[derive(Debug)]
pub struct Renewal {
    rejoin: Rejoin,
    attempt: Option<JoinHandle<Result<Joined, JoinError>>>,
    /// Why the membership that the attempt may bring is worth nothing.
    overtaken: Option<String>,
}

/// A membership that was made anew.
#[derive(Debug)]
pub struct Renewed {
    pub joined: Joined,
    /// Why the former one was lost, and how long it took.
    pub what: String,
    pub time: Duration,
    /// Why this one is lost too.
    pub lost: Option<String>,
}

impl Renewal {
    /// A membership that is to be made anew by `rejoin`.
    pub fn new(rejoin: Rejoin) -> Self {
        Renewal { rejoin, attempt: None, overtaken: None }
    }

    /// It was lost again, if an attempt has begun before.
    pub fn lose(&mut self, what: String) {
        if self.attempt.is_some() {
            self.overtaken = Some(what);
        }
    }

    /// The way to the fabric is open again.
    pub fn begin_anew(&mut self, now: Instant) {
        self.rejoin.begin_anew(now);
    }

    /// When to [look](Self::tend) again.
    pub fn due(&self, now: Instant) -> Instant {
        if self.attempt.is_some() { now + LOOK } else { self.rejoin.due() }
    }

    /// Begins an attempt that is due, or takes what has come of one.
    ///
    /// # Errors
    /// If `patience` is over.
    pub fn tend(
        &mut self,
        now: Instant,
        joiner: &Joiner,
        (address, common): (GroupAddress, PortSpeed),
        patience: Duration,
    ) -> Result<Option<Renewed>, String> {
        if let Some(attempt) = self.attempt.take_if(|attempt| attempt.is_finished()) {
            let panicked = |_| Err(JoinError::NotYet("the join panicked".to_owned()));
            match attempt.join().unwrap_or_else(panicked) {
                Ok(joined) => {
                    let (what, time) = (self.rejoin.what().to_owned(), self.rejoin.time(now));
                    return Ok(Some(Renewed { joined, what, time, lost: self.overtaken.take() }));
                }
                Err(error) => {
                    // What can never go right on a fabric at work may do so when a change of it is over.
                    tracing::debug!("group {address}: {error}");
                    self.rejoin.fail(now, error.to_string());
                    self.overtaken = None;
                }
            }
        }
        if let Some(error) = self.rejoin.outlasted(now, patience) {
            return Err(error);
        }
        if self.attempt.is_none() && self.rejoin.is_due(now) {
            let time = self.rejoin.time_for_attempt(now, patience);
            let joiner = joiner.clone();
            let thread = thread::Builder::new().name("verbcast-rejoin".to_owned());
            match thread.spawn(move || joiner.join((address, common), time)) {
                Ok(attempt) => self.attempt = Some(attempt),
                Err(error) => self.rejoin.fail(now, format!("no thread to join by: {error}")),
            }
        }
        Ok(None)
    }
}
