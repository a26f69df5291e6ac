//! Descriptors that are waited for together.

use super::error::{Error, Result};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// Descriptors that become readable, as one that is readable when any of them is. One that is closed is forgotten. A
/// clone is the same.
#[derive(Clone, Debug)]
pub struct Descriptors {
    epoll: Arc<OwnedFd>,
}

impl Descriptors {
    /// None yet.
    ///
    /// # Errors
    /// If the process has no descriptor left.
    pub fn new() -> Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)
            .map_err(|errno| Error::new("epoll_create1", "this process", errno.raw_os_error()))?;
        Ok(Descriptors { epoll: Arc::new(epoll) })
    }

    /// One more.
    ///
    /// # Errors
    /// If it is there already, or the process has too many.
    pub fn add(&self, descriptor: impl AsFd) -> Result<()> {
        epoll::add(&self.epoll, descriptor, EventData::new_u64(0), EventFlags::IN)
            .map_err(|errno| Error::new("epoll_ctl", "a descriptor", errno.raw_os_error()))
    }

    /// All of others, unless they are there already.
    ///
    /// # Errors
    /// If the process has too many.
    pub fn include(&self, others: &Descriptors) -> Result<()> {
        match epoll::add(&self.epoll, others, EventData::new_u64(0), EventFlags::IN) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
            Err(errno) => Err(Error::new("epoll_ctl", "descriptors", errno.raw_os_error())),
        }
    }

    /// Waits until any of them is readable, at most for `at_most`; whether one is.
    ///
    /// # Errors
    /// If the system refuses. A signal ends the wait without an error.
    pub fn wait(&self, at_most: Duration) -> Result<bool> {
        let timeout = Timespec::try_from(at_most).ok();
        match rustix::event::poll(&mut [PollFd::new(self, PollFlags::IN)], timeout.as_ref()) {
            Ok(count) => Ok(count > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(errno) => Err(Error::new("poll", "the device's descriptors", errno.raw_os_error())),
        }
    }
}

impl AsFd for Descriptors {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn any_of_them_ends_the_wait() {
        let (all, some) = (Descriptors::new().unwrap(), Descriptors::new().unwrap());
        all.add(&some).unwrap();
        let pipes: Vec<_> = (0..3).map(|_| std::io::pipe().unwrap()).collect();
        all.add(&pipes[0].0).unwrap();
        some.add(&pipes[1].0).unwrap();
        some.add(&pipes[2].0).unwrap();
        let mut pipes = pipes.into_iter();
        let (first, mut second) = (pipes.next().unwrap(), pipes.next().unwrap());
        assert!(!all.wait(Duration::ZERO).unwrap());
        second.1.write_all(&[1]).unwrap();
        assert!(all.wait(Duration::from_secs(60)).unwrap() && some.wait(Duration::ZERO).unwrap());
        drop(second);
        assert!(!all.wait(Duration::ZERO).unwrap(), "what is closed is forgotten");
        drop(first);
    }
}
