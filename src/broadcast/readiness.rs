//! Waiting by other means than verbcast's own: an event loop, or an asynchronous runtime.

use super::wait::MAX_PARK;
use super::{Broadcaster, Error};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;
use verbcast_core::transport::Park;

/// The descriptor of the completion channel, which becomes readable when something has come after
/// [`Broadcaster::arm`] was called: once for what other ranks send together, not for each packet of
/// a message. Nobody but the broadcaster reads from it.
///
/// The communicators on a shared [`Endpoint`](super::Endpoint) have the same one.
impl AsFd for Broadcaster {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.driver.transport().inner().first().channel_fd()
    }
}

impl AsRawFd for Broadcaster {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl Broadcaster {
    /// Prepares to wait until the [descriptor](Self::as_fd) is readable, and returns how long to wait at most;
    /// zero where there is something to do already. It is called before each wait, and
    /// [`try_wait`](Self::try_wait) or [`progress`](Self::progress) after it, whether the descriptor was
    /// readable or the time is over:
    ///
    /// ```no_run
    /// use rustix::event::{PollFd, PollFlags, Timespec, poll};
    /// use std::task::Poll;
    /// # use verbcast::{Broadcaster, Pending};
    /// # fn wait(
    /// #     broadcaster: &mut Broadcaster, mut pending: Pending,
    /// # ) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    /// loop {
    ///     if let Poll::Ready(message) = broadcaster.try_wait(&mut pending)? {
    ///         return Ok(message);
    ///     }
    ///     let at_most = Timespec::try_from(broadcaster.arm()?)?;
    ///     // Other descriptors of the program stand beside it.
    ///     poll(&mut [PollFd::new(broadcaster, PollFlags::IN)], Some(&at_most))?;
    /// }
    /// # }
    /// ```
    ///
    /// The time is short, as not everything wakes up who waits: timers fall due, and other ranks write
    /// acknowledgements into this rank's memory. It grows while nothing happens, up to half a second.
    ///
    /// # Errors
    /// If the device fails.
    pub fn arm(&mut self) -> Result<Duration, Error> {
        let now = self.clock.now();
        let Some(idle) = self.idle.time(now) else { return Ok(Duration::ZERO) };
        let timer = self.driver.next_timeout().map(|at| at.since(now));
        let at_most = timer.unwrap_or(MAX_PARK).min(MAX_PARK);
        let armed = self.driver.transport_mut().arm(idle, at_most);
        armed.map_err(|error| self.give_up(&error))
    }
}
