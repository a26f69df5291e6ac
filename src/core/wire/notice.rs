//! The payload of an abort: who failed, and why.

use super::error::WireError;
use super::format::Format;
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
        to.u32(self.rank.0).bytes(cut(&self.reason, MAX_REASON).as_bytes());
        to.finish()
    }

    /// Reads a notice. What is not UTF-8 in its reason is replaced, and what is too long is cut.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<Notice, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let rank = Rank(from.u32()?);
        let reason = from.rest();
        let reason = String::from_utf8_lossy(&reason[..reason.len().min(MAX_REASON)]);
        Ok(Notice { rank, reason: reason.into_owned() })
    }
}

/// The beginning of a text, of at most `most` bytes.
pub(super) fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
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
