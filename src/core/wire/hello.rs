//! How a rank speaks to rank 0 first: with a number that nobody can know beforehand, and nothing about the job.

use super::error::WireError;
use super::format::Format;
use super::nonce::Nonce;

/// The first word of who connects.
///
/// On the wire: the nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Drawn for this connection.
    pub nonce: Nonce,
}

impl Hello {
    /// Its tag and version.
    pub const FORMAT: Format = Format { name: "a rank's hello", tag: *b"vbH", version: 2 };

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        to.bytes(&self.nonce);
        to.finish()
    }

    /// Reads one.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<Hello, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let nonce = from.array()?;
        from.end().map(|()| Hello { nonce })
    }
}
