//! The frames in which ranks talk over the sockets of a rendezvous.

use super::error::WireError;
use super::format::Format;

/// Length of a frame's header in bytes.
pub const FRAME_HEADER_LEN: usize = Format::LEN + 5;

/// What a frame means, and what its payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// Somebody connects: a [`Hello`](super::Hello).
    Hello = 1,
    /// Rank 0 has joined in and its time is running: nothing.
    Entered = 2,
    /// What one rank gives to an all-gather, as it is.
    Blob = 3,
    /// What an all-gather gives to everyone: [`Gathered`](super::Gathered).
    Gathered = 4,
    /// The communicator has failed: a [`Refusal`](super::Refusal).
    Failed = 5,
    /// The guest is not one of this job's ranks: a [`Refusal`](super::Refusal).
    Refused = 6,
    /// Rank 0 asks for a proof: a [`Challenge`](super::Challenge).
    Challenge = 7,
    /// A side proves that it belongs to the job: a [`Response`](super::Response).
    Response = 8,
    /// A rank introduces itself: a [`Join`](super::Join).
    Join = 9,
}

impl FrameKind {
    fn from_wire(byte: u8) -> Option<FrameKind> {
        use FrameKind::*;
        [Hello, Entered, Blob, Gathered, Failed, Refused, Challenge, Response, Join]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// The beginning of a frame.
///
/// On the wire: kind (8 bits), length of the payload (32), then the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// What it means.
    pub kind: FrameKind,
    /// Length of the payload in bytes.
    pub payload_len: usize,
}

impl FrameHeader {
    /// Its tag and version. The version changes with anything in what ranks tell one another through a rendezvous.
    pub const FORMAT: Format =
        Format { name: "a frame of the rendezvous", tag: *b"vbF", version: 2 };

    /// Its bytes.
    ///
    /// # Panics
    /// If the payload is 4 GiB or more; callers keep far stricter limits.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        to.u8(self.kind as u8).count(self.payload_len);
        to.finish()
    }

    /// Reads the header at the beginning of what has come of a stream; `None` where that is too little, and may
    /// still become one.
    ///
    /// # Errors
    /// As soon as it cannot be a frame of this version with a payload of at most `limit` bytes.
    pub fn parse(bytes: &[u8], limit: usize) -> Result<Option<FrameHeader>, WireError> {
        if bytes.len() < Format::LEN && Self::FORMAT.tag.starts_with(&bytes[..bytes.len().min(3)]) {
            return Ok(None);
        }
        let mut from = Self::FORMAT.read(bytes)?;
        let Ok(kind) = from.u8() else { return Ok(None) };
        let kind = FrameKind::from_wire(kind).ok_or(from.invalid("kind"))?;
        let Ok(len) = from.u32() else { return Ok(None) };
        match len as usize {
            len if len > limit => Err(from.invalid("length")),
            payload_len => Ok(Some(FrameHeader { kind, payload_len })),
        }
    }
}
