//! TCP and Unix sockets behind one type, never blocking once connected.

use super::address::Address;
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

/// Connections that wait at most until they are taken.
const BACKLOG: i32 = 4096;

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

    pub(super) fn unix(stream: UnixStream) -> io::Result<Socket> {
        stream.set_nonblocking(true)?;
        Ok(Socket::Unix(stream))
    }

    /// Where the other side is, unless it is on this host.
    pub(super) fn peer(&self) -> Option<IpAddr> {
        let Socket::Tcp(stream) = self else { return None };
        stream.peer_addr().ok().map(|peer| peer.ip()).filter(|peer| !peer.is_loopback())
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

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
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
    /// One for each address that is listened at, at least one.
    Tcp(Vec<TcpListener>),
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Listens at the addresses that the host has, and nowhere else. A host name that stands for the loopback interface
    /// here, as some systems have it for their own name, says nothing of where the others will come: then all
    /// interfaces listen.
    pub(super) fn bind(address: &Address) -> io::Result<Listener> {
        match address {
            Address::Unix(path) => {
                let listener = UnixListener::bind(path)?;
                listener.set_nonblocking(true)?;
                queue_many(&listener)?;
                Ok(Listener::Unix(listener, path.clone()))
            }
            Address::Tcp { host, port } => {
                let listeners = match host.parse::<IpAddr>() {
                    Ok(ip) => vec![TcpListener::bind((ip, *port))?],
                    Err(_) => at_name(host, *port)?,
                };
                for listener in &listeners {
                    listener.set_nonblocking(true)?;
                    queue_many(listener)?;
                }
                Ok(Listener::Tcp(listeners))
            }
        }
    }

    /// What becomes readable when a connection waits.
    pub(super) fn fds(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Listener::Tcp(listeners) => listeners.iter().map(TcpListener::as_fd).collect(),
            Listener::Unix(listener, _) => vec![listener.as_fd()],
        }
    }

    /// The next connection and who it is from, if one is waiting.
    pub(super) fn accept(&self) -> io::Result<Option<(Socket, String)>> {
        let accepted = match self {
            Listener::Tcp(listeners) => accept_any(listeners)
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

/// Has more connections wait to be taken than the standard library does, since ranks come all at once: one for which there is
/// no room tries again only after a second. The system may allow fewer (`net.core.somaxconn`).
fn queue_many(listener: impl AsFd) -> io::Result<()> {
    Ok(rustix::net::listen(listener, BACKLOG)?)
}

/// Listens where others will look for a host of this name; at all interfaces, where that is not known here.
fn at_name(host: &str, port: u16) -> io::Result<Vec<TcpListener>> {
    let found = (host, port).to_socket_addrs().map(Vec::from_iter).unwrap_or_default();
    let addresses: BTreeSet<SocketAddr> = found.into_iter().collect();
    let is_elsewhere = |address: &SocketAddr| host != "localhost" && address.ip().is_loopback();
    if addresses.iter().any(is_elsewhere) {
        return Ok(vec![everywhere(port)?]);
    }
    let mut listeners = Vec::new();
    for address in addresses {
        match TcpListener::bind(address) {
            Ok(listener) => listeners.push(listener),
            // Something in between translates it, say.
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {}
            Err(error) => return Err(error),
        }
    }
    if listeners.is_empty() {
        listeners.push(everywhere(port)?);
    }
    Ok(listeners)
}

/// Listens at all interfaces.
fn everywhere(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).or_else(|error| match error.kind() {
        io::ErrorKind::AddrInUse => Err(error),
        // A host without IPv6.
        _ => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)),
    })
}

/// A connection that waits at any of them.
fn accept_any(listeners: &[TcpListener]) -> io::Result<(TcpStream, SocketAddr)> {
    let mut nothing = io::ErrorKind::WouldBlock.into();
    for listener in listeners {
        match listener.accept() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => nothing = error,
            other => return other,
        }
    }
    Err(nothing)
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            // Somebody may have removed it first.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listens_at(host: &str) -> Vec<IpAddr> {
        let address = Address::Tcp { host: host.to_owned(), port: 0 };
        let bound = Listener::bind(&address).unwrap();
        let Listener::Tcp(listeners) = &bound else { unreachable!() };
        listeners.iter().map(|listener| listener.local_addr().unwrap().ip()).collect()
    }

    #[test]
    fn it_listens_where_the_address_says() {
        assert_eq!(listens_at("127.0.0.1"), [IpAddr::from([127, 0, 0, 1])]);
        let local = listens_at("localhost");
        assert!(!local.is_empty() && local.iter().all(IpAddr::is_loopback), "{local:?}");
        let unknown = listens_at("no-such-host.invalid");
        assert!(unknown.iter().all(IpAddr::is_unspecified), "{unknown:?}");
    }
}
