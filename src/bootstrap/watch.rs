//! Waits for what happens at many connections at once.

use super::link::Link;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::{Duration, Instant};

/// Where the system does not let one wait, this long passes between two looks.
const LOOK: Duration = Duration::from_millis(5);

/// What is waited for, in the order in which it was added.
#[derive(Default)]
pub(super) struct Watch<'a> {
    fds: Vec<PollFd<'a>>,
    /// Which one each of these is.
    numbers: Vec<usize>,
    is_ready: Vec<bool>,
}

impl<'a> Watch<'a> {
    /// A connection that is to be read, and written if something waits for that.
    pub(super) fn link(&mut self, link: &'a Link) {
        let written = if link.has_unwritten() { PollFlags::OUT } else { PollFlags::empty() };
        self.add(link.as_fd(), PollFlags::IN | written, link.has_news());
    }

    /// A connection that is to be written.
    pub(super) fn writer(&mut self, link: &'a Link) {
        self.add(link.as_fd(), PollFlags::OUT, false);
    }

    /// Where connections come in.
    pub(super) fn entrance(&mut self, fd: BorrowedFd<'a>) {
        self.add(fd, PollFlags::IN, false);
    }

    /// Something of which nothing is waited for.
    pub(super) fn nothing(&mut self) {
        self.is_ready.push(false);
    }

    fn add(&mut self, fd: BorrowedFd<'a>, flags: PollFlags, is_ready: bool) {
        self.numbers.push(self.is_ready.len());
        self.is_ready.push(is_ready);
        self.fds.push(PollFd::from_borrowed_fd(fd, flags));
    }

    /// Waits until something has happened, or for so long. Returns of each whether it is to be looked at.
    pub(super) fn wait(mut self, until: Instant) -> Vec<bool> {
        let at_once = self.is_ready.contains(&true);
        let left = until.saturating_duration_since(Instant::now());
        let left = if at_once { Duration::ZERO } else { left };
        let timeout = Timespec::try_from(left).ok();
        match poll(&mut self.fds, timeout.as_ref()) {
            Ok(_) => {
                for (&number, fd) in self.numbers.iter().zip(&self.fds) {
                    self.is_ready[number] |= !fd.revents().is_empty();
                }
            }
            Err(Errno::INTR) => {}
            Err(_) => {
                thread::sleep(left.min(LOOK));
                self.is_ready.fill(true);
            }
        }
        self.is_ready
    }
}

#[cfg(test)]
mod tests {
    use super::super::link::frame;
    use super::super::socket::Socket;
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use verbcast_core::wire::FrameKind;

    fn link() -> (Link, UnixStream) {
        let (here, there) = UnixStream::pair().unwrap();
        (Link::new(Socket::unix(here).unwrap(), 100), there)
    }

    fn wait_for(links: &[&Link], seconds: u64) -> Vec<bool> {
        let mut watch = Watch::default();
        watch.nothing();
        links.iter().for_each(|link| watch.link(link));
        watch.wait(Instant::now() + Duration::from_secs(seconds))
    }

    #[test]
    fn who_has_something_is_ready() {
        let [(mut quick, mut there), (slow, _open)] = [link(), link()];
        assert_eq!(wait_for(&[&quick, &slow], 0), [false; 3]);
        let one = frame(FrameKind::Blob, b"x");
        there.write_all(&[&one[..], &one].concat()).unwrap();
        // A wait that does not end fails by its limit.
        assert_eq!(wait_for(&[&slow, &quick], 600), [false, false, true]);
        // The second frame was read with the first one: nothing more will come.
        assert_eq!(quick.read().unwrap().unwrap().payload, b"x");
        assert_eq!(wait_for(&[&slow, &quick], 600), [false, false, true]);
        assert_eq!(quick.read().unwrap().unwrap().payload, b"x");
        assert_eq!(wait_for(&[&slow, &quick], 0), [false; 3]);
        drop(there);
        assert_eq!(wait_for(&[&slow, &quick], 600), [false, false, true]);
    }

    #[test]
    fn who_waits_to_write_is_ready_when_there_is_room() {
        let (mut link, mut there) = link();
        let long = frame(FrameKind::Blob, &[7; 100]);
        while link.write().unwrap() {
            link.send(long.clone());
        }
        let full = |link: &Link| {
            let mut watch = Watch::default();
            watch.writer(link);
            watch.wait(Instant::now())
        };
        assert_eq!(full(&link), [false]);
        let drain = std::thread::spawn(move || std::io::copy(&mut there, &mut std::io::sink()));
        assert_eq!(wait_for(&[&link], 600), [false, true]);
        while !link.write().unwrap() {
            wait_for(&[&link], 600);
        }
        drop(link);
        drain.join().unwrap().unwrap();
    }
}
