//! Broadcasts from rank 0.

use std::ops::DerefMut;
use verbcast::broadcast::{Broadcaster, Buffer, Pending};
use verbcast_core::rank::Rank;

pub trait Channel {
    type Buffer: DerefMut<Target = [u8]> + Send + 'static;
    type Pending;

    /// Begins to give rank 0's bytes to all.
    fn start(&mut self, buffer: Self::Buffer) -> Result<Self::Pending, String>;

    /// Waits for a broadcast that was started, in the order of the starts.
    fn wait(&mut self, pending: Self::Pending) -> Result<Self::Buffer, String>;

    /// Serves the others while there is nothing to broadcast; fails if one has.
    fn serve(&mut self) -> Result<(), String>;

    /// Makes every rank's next broadcast fail with this rank and `reason`.
    fn abort(&mut self, reason: &str);
}

impl Channel for Broadcaster {
    type Buffer = Buffer;
    type Pending = Pending<Buffer>;

    fn start(&mut self, buffer: Buffer) -> Result<Pending<Buffer>, String> {
        Broadcaster::start(self, Rank(0), buffer).map_err(|error| error.to_string())
    }

    fn wait(&mut self, pending: Pending<Buffer>) -> Result<Buffer, String> {
        Broadcaster::wait(self, pending).map_err(|error| error.to_string())
    }

    fn serve(&mut self) -> Result<(), String> {
        self.progress().map_err(|error| error.to_string())
    }

    fn abort(&mut self, reason: &str) {
        Broadcaster::abort(self, reason);
    }
}
