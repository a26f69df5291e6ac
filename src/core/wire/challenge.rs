//! How rank 0 answers who has spoken to it: with a number of its own.

use super::error::WireError;
use super::format::Format;
use super::nonce::Nonce;

/// What who connects has to prove its secret with.
///
/// On the wire: the nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// Drawn for this connection.
    pub nonce: Nonce,
}

impl Challenge {
    /// Its tag and version.
    pub const FORMAT: Format = Format { name: "rank 0's challenge", tag: *b"vbD", version: 1 };

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
    pub fn parse(bytes: &[u8]) -> Result<Challenge, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let nonce = from.array()?;
        from.end().map(|()| Challenge { nonce })
    }
}
