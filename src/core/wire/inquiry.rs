//! Asking a process whether it may still reach into the memory of a communicator that is closed here.

use super::error::WireError;
use super::format::Format;
use super::header::Key;

/// A question, or the answer that a process is done with a communicator.
///
/// It is the payload of a packet whose key is the incarnation of the process that it is meant for. On the wire: the
/// sender's incarnation (64 bits), the communicator's key (64), whether it is an answer (8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inquiry {
    /// The [incarnation](super::ProcessAddress::incarnation) of the process that it is from.
    pub from: u64,
    /// The communicator's key.
    pub key: Key,
    /// Whether it is the answer.
    pub is_answer: bool,
}

impl Inquiry {
    /// Its tag and version.
    pub const FORMAT: Format = Format { name: "an inquiry", tag: *b"vbQ", version: 1 };

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        to.u64(self.from).u64(self.key.0).bool(self.is_answer);
        to.finish()
    }

    /// Reads one.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<Inquiry, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let (sender, key) = (from.u64()?, Key(from.u64()?));
        let is_answer = from.bool("kind")?;
        from.end().map(|()| Inquiry { from: sender, key, is_answer })
    }
}
