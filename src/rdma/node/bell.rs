//! What a process that sleeps is woken by when a node mate has published something for it.
//!
//! A socket that has a name in no file system: it can be waited for beside the completion channel, costs a process one descriptor
//! however many mates it has, and is gone with the process. A message to it says nothing but that there is something to
//! look at, so that one of a stranger costs a look.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A process's own bell, by which it also rings those of others.
#[derive(Debug)]
pub struct Bell {
    socket: UnixDatagram,
    number: u64,
}

impl Bell {
    /// One that nobody else has.
    pub fn new() -> io::Result<Self> {
        // 0 stands for none.
        let number = getrandom::u64().map_err(io::Error::other)? | 1;
        let socket = UnixDatagram::bind_addr(&address(number)?)?;
        socket.set_nonblocking(true)?;
        Ok(Bell { socket, number })
    }

    /// What others ring it by.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Wakes another process. One whose bell rings already need not be told again.
    pub fn ring(&self, number: u64) -> io::Result<()> {
        match self.socket.send_to_addr(&[1], &address(number)?) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    /// It rings no longer.
    pub fn still(&self) {
        while self.socket.recv(&mut [0]).is_ok() {}
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn address(number: u64) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("verbcast-{number:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use verbcast_verbs::Descriptors;

    #[test]
    fn it_rings_until_it_is_stilled() {
        let (one, other) = (Bell::new().unwrap(), Bell::new().unwrap());
        let all = Descriptors::new().unwrap();
        all.add(&one).unwrap();
        assert!(!all.wait(Duration::ZERO).unwrap());
        // More often than its queue has room for.
        (0..1000).for_each(|_| other.ring(one.number()).unwrap());
        assert!(all.wait(Duration::from_secs(60)).unwrap());
        one.still();
        assert!(!all.wait(Duration::ZERO).unwrap());
    }

    #[test]
    fn that_of_a_process_that_is_gone_is_an_error() {
        let (one, gone) = (Bell::new().unwrap(), Bell::new().unwrap().number());
        assert_eq!(one.ring(gone).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }
}
