//! Why a rendezvous ends for a rank.

use super::error::WireError;
use super::format::Format;
use super::text;
use crate::rank::Rank;

/// Longest text, in bytes; a longer one is cut.
const MAX_TEXT: usize = 16 << 10;
/// In place of a rank where none is known.
const NO_RANK: u32 = u32::MAX;

/// Who failed, if it is known, and what happened.
///
/// On the wire: the rank (32 bits; all ones for none), then the text in UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The rank that is missing or failed.
    pub rank: Option<Rank>,
    /// What happened.
    pub what: String,
}

impl Refusal {
    /// Its tag and version.
    pub const FORMAT: Format = Format { name: "the reason of a failure", tag: *b"vbX", version: 1 };

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        let rank = self.rank.map_or(NO_RANK, |rank| rank.0);
        to.u32(rank).bytes(text::cut(&self.what, MAX_TEXT).as_bytes());
        to.finish()
    }

    /// Reads one. What is not UTF-8 in its text is replaced, and what is too long is cut.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<Refusal, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let rank = Some(from.u32()?).filter(|rank| *rank != NO_RANK).map(Rank);
        Ok(Refusal { rank, what: text::read(from.rest(), MAX_TEXT) })
    }
}
