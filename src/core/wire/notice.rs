//! The payload of an abort: who failed, and why.

use super::error::WireError;
use super::format::Format;
use super::text;
use crate::rank::Rank;

/// Most bytes that a notice takes.
pub const NOTICE_LEN: usize = 512;
/// Most bytes of a notice's reason; a longer one is cut.
const MAX_REASON: usize = NOTICE_LEN - Format::LEN - size_of::<u32>() - size_of::<u8>();

/// What is wrong with a rank that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// It does not answer: its process has ended, or its adapter, its host or the way to it is gone.
    Unreachable,
    /// It said that it gives up: something failed there, or its program did.
    GaveUp,
    /// It did what it must not, such as calling with another root or length than others.
    Erroneous,
}

impl FailureKind {
    const ALL: [FailureKind; 3] =
        [FailureKind::Unreachable, FailureKind::GaveUp, FailureKind::Erroneous];
}

/// Who failed, and why.
///
/// On the wire: the rank (32 bits), the kind (8 bits: 0 unreachable, 1 gave up, 2 erroneous), then the reason in UTF-8, cut so
/// that all fits [`NOTICE_LEN`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The rank that failed.
    pub rank: Rank,
    /// What is wrong with it.
    pub kind: FailureKind,
    /// What happened, in words.
    pub reason: String,
}

impl Notice {
    /// Its tag and version.
    pub const FORMAT: Format = Format { name: "a notice of failure", tag: *b"vbN", version: 2 };

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        to.u32(self.rank.0).u8(self.kind as u8);
        to.bytes(text::cut(&self.reason, MAX_REASON).as_bytes());
        to.finish()
    }

    /// Reads a notice. What is not UTF-8 in its reason is replaced, and what is too long is cut.
    ///
    /// # Errors
    /// If the bytes are not one of this version, or the kind is none.
    pub fn parse(bytes: &[u8]) -> Result<Notice, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let (rank, kind) = (Rank(from.u32()?), usize::from(from.u8()?));
        let invalid = WireError::Invalid { format: Self::FORMAT, field: "kind" };
        let kind = *FailureKind::ALL.get(kind).ok_or(invalid)?;
        Ok(Notice { rank, kind, reason: text::read(from.rest(), MAX_REASON) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        let kind = FailureKind::GaveUp;
        let notice = Notice { rank: Rank(5), kind, reason: "€".repeat(400) };
        let bytes = notice.emit();
        assert!(bytes.len() <= NOTICE_LEN);
        let read = Notice::parse(&bytes).unwrap();
        assert_eq!((read.rank, read.kind), (Rank(5), kind));
        assert!(notice.reason.starts_with(&read.reason) && read.reason.len() > MAX_REASON - 4);
    }
}
