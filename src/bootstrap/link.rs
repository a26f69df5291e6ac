//! Frames over a socket that never blocks.

use super::socket::Socket;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use verbcast_core::wire::{FRAME_HEADER_LEN, FrameHeader, FrameKind, WireError};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: FrameKind,
    pub(super) payload: Vec<u8>,
}

/// Why a link is unusable.
#[derive(Debug)]
pub(super) enum LinkError {
    /// The other side closed it, or died.
    Closed,
    /// The other side sent something else than frames within the limit.
    Unreadable(WireError),
    /// The other side sent a frame that it may not send now.
    OutOfTurn,
}

/// The bytes of a frame, shared by all the links that send it.
pub(super) fn frame(kind: FrameKind, payload: &[u8]) -> Arc<[u8]> {
    let header = FrameHeader { kind, payload_len: payload.len() };
    [&header.emit(), payload].concat().into()
}

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

    /// Where the other side is, unless it is on this host.
    pub(super) fn peer(&self) -> Option<IpAddr> {
        self.socket.peer()
    }

    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Whether something is still to be written.
    pub(super) fn has_unwritten(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Whether [`read`](Self::read) has something to say without anything coming.
    pub(super) fn has_news(&self) -> bool {
        self.closed || self.is_whole().unwrap_or(true)
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
                    if self.is_whole()? {
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

    /// The header of the next frame, once it is here.
    fn next_header(&self) -> Result<Option<FrameHeader>, LinkError> {
        FrameHeader::parse(&self.inbox, self.limit).map_err(LinkError::Unreadable)
    }

    /// Whether the next frame is here.
    fn is_whole(&self) -> Result<bool, LinkError> {
        let here = self.inbox.len();
        Ok(self.next_header()?.is_some_and(|next| here >= FRAME_HEADER_LEN + next.payload_len))
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, LinkError> {
        let Some(FrameHeader { kind, payload_len }) = self.next_header()? else { return Ok(None) };
        let range = FRAME_HEADER_LEN..FRAME_HEADER_LEN + payload_len;
        let Some(payload) = self.inbox.get(range.clone()) else { return Ok(None) };
        let payload = payload.to_vec();
        self.inbox.drain(..range.end);
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

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
