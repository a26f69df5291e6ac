//! What an all-gather gives to every rank.

use super::error::WireError;
use super::format::Format;

/// Every rank's blob, by rank.
///
/// On the wire: their number (32 bits), and each blob after its length (32).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gathered(pub Vec<Vec<u8>>);

impl Gathered {
    /// Its tag and version.
    pub const FORMAT: Format =
        Format { name: "the answer to an all-gather", tag: *b"vbA", version: 1 };

    /// Length of the bytes around the blobs of `size` ranks.
    pub const fn overhead(size: usize) -> usize {
        Format::LEN + 4 + 4 * size
    }

    /// The bytes of `blobs`.
    pub fn emit(blobs: &[Vec<u8>]) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        to.count(blobs.len());
        for blob in blobs {
            to.count(blob.len()).bytes(blob);
        }
        to.finish()
    }

    /// Reads the blobs of `size` ranks.
    ///
    /// # Errors
    /// If the bytes are not of this version, or of another number of ranks.
    pub fn parse(bytes: &[u8], size: usize) -> Result<Gathered, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let count = from.count("number of ranks", size, 4)?;
        if count != size {
            return Err(from.invalid("number of ranks"));
        }
        let mut blobs = Vec::with_capacity(count);
        for _ in 0..count {
            let len = from.u32()? as usize;
            blobs.push(from.bytes(len)?.to_vec());
        }
        from.end().map(|()| Gathered(blobs))
    }
}
