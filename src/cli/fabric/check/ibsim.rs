//! A client of ibsim: sends management datagrams from a simulated host.

use super::mad::{self, Mad};
use crate::failure::Failure;
use std::fmt::Display;
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};
use verbcast_fabric::smp::{Agent, LEN, Route, Smp};

/// How long an answer may take. ibsim answers at once, OpenSM when it comes to it.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long one look for an answer takes at most.
const GLANCE: Duration = Duration::from_millis(100);

const MAGIC: u32 = 0xdead_beef;
const CONNECT: u32 = 1;
const DISCONNECT: u32 = 2;
/// Bytes of what is told to ibsim itself: magic number, client, kind, length, 64 bytes of data.
const CONTROL: usize = 80;
/// Bytes of a datagram with its envelope: destination and source LID and QP, status, a gap, length.
const ENVELOPE: usize = 32;

/// A connection to ibsim as one of its hosts.
pub struct Client {
    control: UnixDatagram,
    data: UnixDatagram,
    id: u32,
    sent: u32,
}

fn wrong(error: impl Display) -> Failure {
    Failure::new(format!("ibsim: {error}"))
}

/// ibsim's names are in the abstract name space and end with a zero.
fn address(name: &str, part: &str) -> std::io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{name}:{part}\0"))
}

fn socket(own: &SocketAddr) -> std::io::Result<UnixDatagram> {
    let socket = UnixDatagram::bind_addr(own)?;
    socket.set_read_timeout(Some(GLANCE))?;
    Ok(socket)
}

impl Client {
    /// Connects to the ibsim of this name as the host `host`.
    pub fn connect(name: &str, host: &str) -> Result<Client, Failure> {
        let own = std::process::id();
        let open = || -> std::io::Result<(UnixDatagram, UnixDatagram)> {
            let control = socket(&address(name, &format!("ctl{own}"))?)?;
            control.connect_addr(&address(name, "ctl")?)?;
            Ok((control, socket(&address(name, &format!("in{own}"))?)?))
        };
        let (control, data) = open().map_err(wrong)?;
        let mut client = Client { control, data, id: 0, sent: 0 };
        let mut told = [0; 44];
        told[..4].copy_from_slice(&own.to_ne_bytes());
        let length = host.len().min(31);
        told[12..12 + length].copy_from_slice(&host.as_bytes()[..length]);
        let answer = client.tell(CONNECT, &told)?;
        client.id = u32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]);
        let out = address(name, &format!("out{}", client.id)).map_err(wrong)?;
        client.data.connect_addr(&out).map_err(wrong)?;
        Ok(client)
    }

    fn tell(&self, kind: u32, data: &[u8]) -> Result<[u8; CONTROL], Failure> {
        let mut message = [0; CONTROL];
        let words = [MAGIC, self.id, kind, data.len() as u32];
        for (at, word) in words.into_iter().enumerate() {
            message[4 * at..4 * at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        message[16..16 + data.len()].copy_from_slice(data);
        self.control.send(&message).map_err(wrong)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.control.recv(&mut message) {
                Ok(CONTROL) if message[8..12] == kind.to_ne_bytes() => return Ok(message),
                Ok(_) => return Err(wrong("refused the connection")),
                Err(error) => wait_on(&error, deadline)?,
            }
        }
    }

    /// Lets a port join a group at the subnet manager at `lid`; returns the group's MLID.
    pub fn join(&mut self, mgid: [u8; 16], guid: u64, lid: u16) -> Result<u16, Failure> {
        let answer = self.ask(mad::join(mgid, guid), (lid, 0), 1)?;
        match mad::status(&answer) {
            0 => Ok(mad::mlid(&answer)),
            status => Err(Failure::new(format!("a join was refused with status 0x{status:x}"))),
        }
    }

    /// Sends a datagram from one LID to another and returns the answer to it.
    fn ask(&mut self, mut asked: Mad, (to, from): (u16, u16), pair: u32) -> Result<Mad, Failure> {
        self.sent += 1;
        mad::set_number(&mut asked, self.sent);
        let mut packet = [0; ENVELOPE + LEN];
        packet[..2].copy_from_slice(&to.to_be_bytes());
        packet[4..6].copy_from_slice(&from.to_be_bytes());
        packet[8..12].copy_from_slice(&pair.to_be_bytes());
        packet[12..16].copy_from_slice(&pair.to_be_bytes());
        packet[24..32].copy_from_slice(&(LEN as u64).to_be_bytes());
        packet[ENVELOPE..].copy_from_slice(&asked);
        self.data.send(&packet).map_err(wrong)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.data.recv(&mut packet) {
                Ok(length) if length == packet.len() => {
                    let mut answer = [0; LEN];
                    answer.copy_from_slice(&packet[ENVELOPE..]);
                    // Answers to what was given up, and traps, are nobody's.
                    if mad::number(&answer) != self.sent {
                        continue;
                    }
                    if packet[16..20] != [0; 4] {
                        return Err(wrong("no way to where a datagram was sent"));
                    }
                    return Ok(answer);
                }
                Ok(length) => return Err(wrong(format!("a datagram of {length} bytes"))),
                Err(error) => wait_on(&error, deadline)?,
            }
        }
    }
}

impl Agent for Client {
    fn exchange(&mut self, request: &Smp, route: &Route) -> Result<Smp, String> {
        let lids = match route {
            Route::Directed(_) => (0xffff, 0xffff),
            Route::Lid(lid) => (*lid, 0),
        };
        let answer = self.ask(*request.bytes(), lids, 0);
        answer.map(Smp::from_bytes).map_err(|failure| failure.messages.join("; "))
    }
}

/// Goes on until the deadline if there was nothing yet.
fn wait_on(error: &std::io::Error, deadline: Instant) -> Result<(), Failure> {
    let is_nothing = [ErrorKind::WouldBlock, ErrorKind::TimedOut, ErrorKind::Interrupted];
    match is_nothing.contains(&error.kind()) {
        true if Instant::now() < deadline => Ok(()),
        true => Err(wrong(format!("no answer within {PATIENCE:?}"))),
        false => Err(wrong(error)),
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // ibsim is about to end; it need not hear of it.
        let _ = self.tell(DISCONNECT, &[]);
    }
}
