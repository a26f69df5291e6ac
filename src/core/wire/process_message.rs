//! What a process says to another one, for no communicator: the payload of packets whose key is an incarnation.

use super::error::WireError;
use super::handshake;
use super::inquiry::Inquiry;
use super::relocation::Relocation;

/// A message from process to process. The tag tells which one it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessMessage {
    /// A step of the making of a connection.
    Handshake(handshake::Message),
    /// A question about a communicator, or an answer.
    Inquiry(Inquiry),
    /// That its UD QP is another one now, or that such news was heard.
    Relocation(Relocation),
}

impl ProcessMessage {
    /// Reads one.
    ///
    /// # Errors
    /// If the bytes are none of them, or of another version.
    pub fn parse(bytes: &[u8]) -> Result<ProcessMessage, WireError> {
        if Inquiry::FORMAT.is_of(bytes) {
            return Inquiry::parse(bytes).map(ProcessMessage::Inquiry);
        }
        if Relocation::FORMAT.is_of(bytes) {
            return Relocation::parse(bytes).map(ProcessMessage::Relocation);
        }
        handshake::Message::parse(bytes).map(ProcessMessage::Handshake)
    }

    /// The [incarnation](super::ProcessAddress::incarnation) of the process that it is from.
    pub fn from(&self) -> u64 {
        match self {
            ProcessMessage::Handshake(message) => message.from,
            ProcessMessage::Inquiry(inquiry) => inquiry.from,
            ProcessMessage::Relocation(relocation) => relocation.from,
        }
    }
}
