//! TCP and Unix sockets behind one type, never blocking once connected.

use super::address::Address;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Connects, waiting for at most `patience` per address that the host has.
    pub(super) fn connect(address: &Address, patience: Duration) -> io::Result<Socket> {
        match address {
            Address::Unix(path) => Socket::unix(UnixStream::connect(path)?),
            Address::Tcp { host, port } => {
                let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
                for target in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&target, patience) {
                        // Nobody listens, and the kernel connected the socket with itself.
                        Ok(stream) if stream.local_addr().ok() == Some(target) => {
                            last = io::ErrorKind::ConnectionRefused.into();
                        }
                        Ok(stream) => return Socket::tcp(stream),
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    fn tcp(stream: TcpStream) -> io::Result<Socket> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Socket::Tcp(stream))
    }

    fn unix(stream: UnixStream) -> io::Result<Socket> {
        stream.set_nonblocking(true)?;
        Ok(Socket::Unix(stream))
    }

    /// Tells the other side that nothing more will be sent.
    pub(super) fn finish(&self) {
        // It may have closed already, which is as good.
        let _ = match self {
            Socket::Tcp(stream) => stream.shutdown(std::net::Shutdown::Write),
            Socket::Unix(stream) => stream.shutdown(std::net::Shutdown::Write),
        };
    }
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.read(bytes),
            Socket::Unix(stream) => stream.read(bytes),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.write(bytes),
            Socket::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Listens at an address given in numbers exactly there. A host name is for the others to
    /// find this host by, and may mean the loopback interface here, so that all interfaces listen.
    pub(super) fn bind(address: &Address) -> io::Result<Listener> {
        match address {
            Address::Unix(path) => {
                let listener = UnixListener::bind(path)?;
                listener.set_nonblocking(true)?;
                Ok(Listener::Unix(listener, path.clone()))
            }
            Address::Tcp { host, port } => {
                let listener = match host.parse::<IpAddr>() {
                    Ok(ip) => TcpListener::bind((ip, *port))?,
                    Err(_) => {
                        TcpListener::bind((Ipv6Addr::UNSPECIFIED, *port)).or_else(|error| {
                            match error.kind() {
                                io::ErrorKind::AddrInUse => Err(error),
                                // A host without IPv6.
                                _ => TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)),
                            }
                        })?
                    }
                };
                listener.set_nonblocking(true)?;
                Ok(Listener::Tcp(listener))
            }
        }
    }

    /// The next connection and who it is from, if one is waiting.
    pub(super) fn accept(&self) -> io::Result<Option<(Socket, String)>> {
        let accepted = match self {
            Listener::Tcp(listener) => listener
                .accept()
                .and_then(|(stream, from)| Ok((Socket::tcp(stream)?, from.to_string()))),
            Listener::Unix(listener, _) => listener
                .accept()
                .and_then(|(stream, _)| Ok((Socket::unix(stream)?, "a local process".to_owned()))),
        };
        match accepted {
            Ok(connection) => Ok(Some(connection)),
            Err(error) => match error.kind() {
                // The last three: the connection was given up before it was accepted.
                io::ErrorKind::WouldBlock
                | io::ErrorKind::Interrupted
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::InvalidInput => Ok(None),
                _ => Err(error),
            },
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            // Somebody may have removed it first.
            let _ = std::fs::remove_file(path);
        }
    }
}
