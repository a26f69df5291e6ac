//! How either side of a rendezvous proves that it knows the job's secret.

use super::error::WireError;
use super::format::Format;

/// Bytes of a proof.
pub const PROOF_LEN: usize = 32;

/// The proof of one side.
///
/// On the wire: the proof, an HMAC-SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The code over who proves and both nonces, with the secret as its key.
    pub proof: [u8; PROOF_LEN],
}

impl Response {
    /// Its tag and version.
    pub const FORMAT: Format = Format { name: "a proof of the secret", tag: *b"vbS", version: 1 };

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        to.bytes(&self.proof);
        to.finish()
    }

    /// Reads one.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<Response, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let proof = from.array()?;
        from.end().map(|()| Response { proof })
    }
}
