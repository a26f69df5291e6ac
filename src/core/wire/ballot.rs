//! What a rank says in a vote.

use super::error::WireError;
use super::format::Format;
use super::text;

/// Longest refusal, in bytes; a longer one is cut.
const MAX_REFUSAL: usize = 16 << 10;

/// Whether a rank can take the step that is voted on.
///
/// On the wire: whether it can (8 bits), then the blob, or the refusal in UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ballot {
    /// It can, and gives this to all.
    Blob(Vec<u8>),
    /// It cannot, for this reason.
    Refusal(String),
}

impl Ballot {
    /// Its tag and version.
    pub const FORMAT: Format = Format { name: "a ballot", tag: *b"vbV", version: 1 };

    /// The bytes of the ballot with this outcome.
    pub fn emit(outcome: Result<&[u8], &str>) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        match outcome {
            Ok(blob) => to.bool(true).bytes(blob),
            Err(why) => to.bool(false).bytes(text::cut(why, MAX_REFUSAL).as_bytes()),
        };
        to.finish()
    }

    /// Reads one. What is not UTF-8 in a refusal is replaced, and what is too long is cut.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<Ballot, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        Ok(match from.bool("outcome")? {
            true => Ballot::Blob(from.rest().to_vec()),
            false => Ballot::Refusal(text::read(from.rest(), MAX_REFUSAL)),
        })
    }
}
