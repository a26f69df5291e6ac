//! Frames over a socket that never blocks.
//!
//! ```text
//!  0      1                5
//! +------+----------------+---------- - -
//! | kind | length (LE 32) | payload
//! +------+----------------+---------- - -
//! ```

use super::socket::Socket;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a frame means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A rank introduces itself; see [`super::hello`].
    Hello = 1,
    /// Rank 0 has joined in and its time is running.
    Entered = 2,
    /// What one rank gives to an all-gather.
    Blob = 3,
    /// What an all-gather gives to everyone.
    Gathered = 4,
    /// The communicator has failed: rank or `u32::MAX`, then a text.
    Failed = 5,
    /// The guest is not one of this job's ranks, with the reason as for [`Kind::Failed`].
    Refused = 6,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Kind> {
        use Kind::{Blob, Entered, Failed, Gathered, Hello, Refused};
        [Hello, Entered, Blob, Gathered, Failed, Refused]
            .into_iter()
            .find(|&kind| kind as u8 == byte)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    pub(super) payload: Vec<u8>,
}

/// Why a link is of no more use.
#[derive(Debug)]
pub(super) enum LinkError {
    /// The other side closed it, or died.
    Closed,
    /// The other side sent something else than frames within the limit.
    Garbage,
}

/// The bytes of a frame, shared by all the links that send it.
///
/// # Panics
/// If the payload is 4 GiB or more; callers keep far stricter limits.
pub(super) fn frame(kind: Kind, payload: &[u8]) -> Arc<[u8]> {
    let len = u32::try_from(payload.len()).expect("callers limit payloads");
    [&[kind as u8], &len.to_le_bytes()[..], payload].concat().into()
}

const FRAME_HEADER: usize = 5;
/// Read at once from a socket, so that one busy link does not starve the others.
const GULP: usize = 64 << 10;

/// One side of a connection, with what has been read and not understood yet and what is still to
/// be written.
pub(super) struct Link {
    socket: Socket,
    /// Longest payload accepted, in bytes.
    limit: usize,
    inbox: Vec<u8>,
    outbox: VecDeque<Arc<[u8]>>,
    /// Bytes of the first of `outbox` that the socket has taken.
    written: usize,
    closed: bool,
}

impl Link {
    pub(super) fn new(socket: Socket, limit: usize) -> Self {
        Link {
            socket,
            limit,
            inbox: Vec::new(),
            outbox: VecDeque::new(),
            written: 0,
            closed: false,
        }
    }

    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Queues a frame made by [`frame`].
    pub(super) fn send(&mut self, frame: Arc<[u8]>) {
        self.outbox.push_back(frame);
    }

    /// Writes what the socket takes. Returns whether nothing is left to write.
    pub(super) fn write(&mut self) -> Result<bool, LinkError> {
        while let Some(frame) = self.outbox.front() {
            match self.socket.write(&frame[self.written..]) {
                Ok(0) => return Err(LinkError::Closed),
                Ok(count) => self.written += count,
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return Ok(false),
                    io::ErrorKind::Interrupted => {}
                    _ => return Err(LinkError::Closed),
                },
            }
            if self.written == frame.len() {
                self.outbox.pop_front();
                self.written = 0;
            }
        }
        Ok(true)
    }

    /// Reads what is there and returns the next whole frame, if there is one. What came before the
    /// other side closed is still given out.
    pub(super) fn read(&mut self) -> Result<Option<Frame>, LinkError> {
        if let Some(frame) = self.next_frame()? {
            return Ok(Some(frame));
        }
        let mut gulp = [0; 4096];
        let mut taken = 0;
        while !self.closed && taken < GULP {
            match self.socket.read(&mut gulp) {
                Ok(0) => self.closed = true,
                Ok(count) => {
                    self.inbox.extend_from_slice(&gulp[..count]);
                    taken += count;
                    if self.next_len()?.is_some_and(|len| self.inbox.len() >= len) {
                        break;
                    }
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => break,
                    io::ErrorKind::Interrupted => {}
                    _ => self.closed = true,
                },
            }
        }
        match self.next_frame()? {
            Some(frame) => Ok(Some(frame)),
            None if self.closed => Err(LinkError::Closed),
            None => Ok(None),
        }
    }

    /// Bytes of the next frame with its header, once they are known.
    fn next_len(&self) -> Result<Option<usize>, LinkError> {
        let Some(&byte) = self.inbox.first() else { return Ok(None) };
        Kind::from_byte(byte).ok_or(LinkError::Garbage)?;
        let Some(header) = self.inbox.first_chunk::<FRAME_HEADER>() else { return Ok(None) };
        let len = u32::from_le_bytes([header[1], header[2], header[3], header[4]]) as usize;
        if len > self.limit { Err(LinkError::Garbage) } else { Ok(Some(FRAME_HEADER + len)) }
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, LinkError> {
        let Some(len) = self.next_len()?.filter(|&len| self.inbox.len() >= len) else {
            return Ok(None);
        };
        let kind = Kind::from_byte(self.inbox[0]).ok_or(LinkError::Garbage)?;
        let payload = self.inbox[FRAME_HEADER..len].to_vec();
        self.inbox.drain(..len);
        Ok(Some(Frame { kind, payload }))
    }

    /// Says the last word: nothing is sent after what is queued, and what still comes is ignored.
    /// Returns whether the other side has closed too. Closing without waiting for that could make
    /// the kernel discard the last word on its way.
    pub(super) fn part(&mut self) -> bool {
        match self.write() {
            Ok(true) => self.socket.finish(),
            Ok(false) => return false,
            Err(_) => return true,
        }
        self.inbox.clear();
        let mut gulp = [0; 4096];
        match self.socket.read(&mut gulp) {
            Ok(0) => true,
            Ok(_) => false,
            Err(error) => {
                !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
            }
        }
    }
}

/// Sleeps between two looks at sockets: shortly at first, longer when nothing happens.
pub(super) struct Pause(Duration);

impl Pause {
    const SHORTEST: Duration = Duration::from_micros(50);
    const LONGEST: Duration = Duration::from_millis(5);

    pub(super) fn new() -> Self {
        Pause(Pause::SHORTEST)
    }

    /// Something happened.
    pub(super) fn reset(&mut self) {
        self.0 = Pause::SHORTEST;
    }

    /// Sleeps, not far beyond `deadline`.
    pub(super) fn sleep(&mut self, deadline: Instant) {
        std::thread::sleep(self.0.min(deadline.saturating_duration_since(Instant::now())));
        self.0 = (self.0 * 2).min(Pause::LONGEST);
    }
}
