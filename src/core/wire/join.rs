//! How a rank introduces itself at the rendezvous, once both sides have proven that they belong to the job.

use super::error::WireError;
use super::format::Format;

/// Who wants to join.
///
/// On the wire: rank, size (32 bits each).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// Its rank.
    pub rank: u32,
    /// The number of ranks in its job.
    pub size: u32,
}

impl Join {
    /// Its tag and version.
    pub const FORMAT: Format = Format { name: "a rank's introduction", tag: *b"vbJ", version: 1 };

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        to.u32(self.rank).u32(self.size);
        to.finish()
    }

    /// Reads one.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<Join, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let (rank, size) = (from.u32()?, from.u32()?);
        from.end().map(|()| Join { rank, size })
    }
}
