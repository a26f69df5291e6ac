//! What a rank says in the rounds in which a group is proven.

use super::error::WireError;
use super::fields::{Reader, Writer};
use super::format::Format;

/// Ranks of which a ballot tells at most.
const MAX_RANKS: usize = 1 << 22;
const BITS: usize = u8::BITS as usize;

/// What a rank has heard on the group.
///
/// On the wire: whether it has heard strangers (8 bits), and short packets alone (8); the number of bytes (32), and in
/// these a bit for each rank, the first rank's in the lowest bit of the first byte: whether it is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofBallot {
    /// Whether it has heard strangers, and wants another group for that.
    pub has_heard_strangers: bool,
    /// Whether it hears short packets of a rank but none of whole length, so often that this is not chance.
    pub has_heard_short_alone: bool,
    /// By rank, whether it has heard no packet of whole length.
    pub missing: Vec<bool>,
}

impl ProofBallot {
    /// Its tag and version.
    pub const FORMAT: Format =
        Format { name: "what a rank has heard on the group", tag: *b"vbG", version: 2 };

    /// Its bytes. The ranks are told in whole bytes: behind the last, none is missing.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        to.bool(self.has_heard_strangers).bool(self.has_heard_short_alone);
        write_bits(&mut to, &self.missing);
        to.finish()
    }

    /// Reads one, with a whole number of bytes of ranks.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<ProofBallot, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let has_heard_strangers = from.bool("answer")?;
        let has_heard_short_alone = from.bool("answer")?;
        let missing = read_bits(&mut from)?;
        from.end().map(|()| ProofBallot { has_heard_strangers, has_heard_short_alone, missing })
    }
}

fn write_bits(to: &mut Writer, bits: &[bool]) {
    let bytes = bits
        .chunks(BITS)
        .map(|eight| eight.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit)));
    let bytes: Vec<u8> = bytes.collect();
    to.count(bytes.len()).bytes(&bytes);
}

fn read_bits(from: &mut Reader<'_>) -> Result<Vec<bool>, WireError> {
    let len = from.count("number of ranks", MAX_RANKS / BITS, 1)?;
    let bytes = from.bytes(len)?;
    Ok(bytes.iter().flat_map(|byte| (0..BITS).map(move |bit| byte >> bit & 1 == 1)).collect())
}
