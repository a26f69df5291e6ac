//! The non-blocking broadcasts of a communicator, in the order in which they were called.

use super::in_flight::InFlight;
use super::promise::Promise;
use mpi::ffi::MPI_Comm;
use multicast::broadcast::{self, Broadcaster};
use multicast::mpi::Error;
use std::collections::VecDeque;

/// The non-blocking broadcasts of a communicator.
#[derive(Default)]
pub struct Queue {
    all: VecDeque<InFlight>,
}

impl Queue {
    /// Adds the latest.
    pub fn push(&mut self, latest: InFlight) {
        self.all.push_back(latest);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Starts those that may be in flight at a time, in order, without a call of MPI.
    ///
    /// # Errors
    /// If a rank failed.
    pub fn start(&mut self, broadcaster: &mut Broadcaster) -> Result<(), broadcast::Error> {
        for next in &mut self.all {
            if !next.start(broadcaster)? {
                break;
            }
        }
        Ok(())
    }

    /// Brings them forward, and moves the requests of those that are complete to `done`.
    ///
    /// # Errors
    /// If MPI fails, or a rank did.
    ///
    /// # Safety
    /// The calling thread may call MPI; `comm` is a communicator.
    pub unsafe fn advance(
        &mut self,
        broadcaster: &mut Broadcaster,
        comm: MPI_Comm,
        done: &mut Vec<Promise>,
    ) -> Result<(), Error> {
        self.start(broadcaster)?;
        broadcaster.progress()?;
        let mut at = 0;
        while let Some(next) = self.all.get_mut(at) {
            // SAFETY: promised by the caller.
            if unsafe { next.is_complete(broadcaster, comm) }? {
                done.extend(self.all.remove(at).map(|next| next.promise));
            } else {
                at += 1;
            }
        }
        Ok(())
    }

    /// Gives up all of them, and returns their requests.
    ///
    /// # Safety
    /// The calling thread may call MPI.
    pub unsafe fn give_up(&mut self) -> Vec<Promise> {
        self.all.drain(..).map(|next| next.promise).collect()
    }
}
