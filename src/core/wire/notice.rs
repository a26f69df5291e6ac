//! The payload of an abort: who failed, and why.

use super::error::WireError;
use super::format::Format;
use super::text;
use crate::rank::Rank;

/// Most bytes that a notice takes.
pub const NOTICE_LEN: usize = 512;
/// Most bytes of a notice's reason; a longer one is cut.
const MAX_REASON: usize = NOTICE_LEN - Format::LEN - size_of::<u32>();

/// Who failed, and why.
///
/// On the wire: the rank (32 bits), then the reason in UTF-8, cut so that all fits [`NOTICE_LEN`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The rank that failed.
    pub rank: Rank,
    /// What happened, in words.
    pub reason: String,
}

impl Notice {
    /// Its tag and version.
    pub const FORMAT: Format = Format { name: "a notice of failure", tag: *b"vbN", version: 1 };

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        to.u32(self.rank.0).bytes(text::cut(&self.reason, MAX_REASON).as_bytes());
        to.finish()
    }

    /// Reads a notice. What is not UTF-8 in its reason is replaced, and what is too long is cut.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<Notice, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let rank = Rank(from.u32()?);
        Ok(Notice { rank, reason: text::read(from.rest(), MAX_REASON) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        let notice = Notice { rank: Rank(5), reason: "€".repeat(400) };
        let bytes = notice.emit();
        assert!(bytes.len() <= NOTICE_LEN);
        let read = Notice::parse(&bytes).unwrap();
        assert_eq!(read.rank, Rank(5));
        assert!(notice.reason.starts_with(&read.reason) && read.reason.len() > MAX_REASON - 4);
    }
}
