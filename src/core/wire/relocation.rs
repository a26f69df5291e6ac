//! Telling other processes that the own UD QP is another one now.

use super::datagram_qp::DatagramQp;
use super::error::WireError;
use super::format::Format;

/// The news that a process's UD QP is another one, or the answer that it was heard.
///
/// It is the payload of a packet whose key is the incarnation of the process that it is meant for. Over datagrams it comes
/// from the process that it is of; over connections it may be passed on. On the wire: the
/// sender's incarnation (64 bits), its [UD QP](DatagramQp), whether it is an answer (8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// The [incarnation](super::ProcessAddress::incarnation) of the process that it is of.
    pub from: u64,
    /// Its UD QP.
    pub datagrams: DatagramQp,
    /// Whether it is the answer.
    pub is_answer: bool,
}

impl Relocation {
    /// Its tag and version.
    pub const FORMAT: Format =
        Format { name: "the news of another UD QP", tag: *b"vbR", version: 1 };

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        to.u64(self.from);
        self.datagrams.write(&mut to);
        to.bool(self.is_answer);
        to.finish()
    }

    /// Reads one.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<Relocation, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let (sender, datagrams) = (from.u64()?, DatagramQp::read(&mut from)?);
        let is_answer = from.bool("kind")?;
        from.end().map(|()| Relocation { from: sender, datagrams, is_answer })
    }
}
