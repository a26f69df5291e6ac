//! How a rank introduces itself to rank 0 at the rendezvous.

use super::error::WireError;
use super::format::Format;

/// Longest job token, in bytes.
pub const MAX_TOKEN: usize = 256;
/// Longest hello, in bytes.
pub const MAX_HELLO: usize = Format::LEN + 12 + MAX_TOKEN;

/// Who wants to join.
///
/// On the wire: rank, size, length of the token (32 bits each), the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Its rank.
    pub rank: u32,
    /// The number of ranks in its job.
    pub size: u32,
    /// The job's token, of at most [`MAX_TOKEN`] bytes.
    pub token: Vec<u8>,
}

impl Hello {
    /// Its tag and version.
    pub const FORMAT: Format = Format { name: "a rank's hello", tag: *b"vbH", version: 1 };

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        to.u32(self.rank).u32(self.size).count(self.token.len()).bytes(&self.token);
        to.finish()
    }

    /// Reads one.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<Hello, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let (rank, size) = (from.u32()?, from.u32()?);
        let len = from.count("length of the token", MAX_TOKEN, 1)?;
        let token = from.bytes(len)?.to_vec();
        from.end().map(|()| Hello { rank, size, token })
    }
}
