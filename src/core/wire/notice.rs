//! The payload of an abort: who failed, and why.

use crate::rank::Rank;

/// Most bytes that a notice takes.
pub const NOTICE_LEN: usize = 512;

/// Who failed, and why.
///
/// On the wire: the rank (32 bits, big-endian), then the reason in UTF-8, cut at [`NOTICE_LEN`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The rank that failed.
    pub rank: Rank,
    /// What happened, in words.
    pub reason: String,
}

impl Notice {
    /// The notice's bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut end = self.reason.len().min(NOTICE_LEN - 4);
        while !self.reason.is_char_boundary(end) {
            end -= 1;
        }
        [&self.rank.0.to_be_bytes()[..], &self.reason.as_bytes()[..end]].concat()
    }

    /// Reads a notice; `None` where the bytes are too short to name a rank.
    pub fn parse(bytes: &[u8]) -> Option<Notice> {
        let (rank, reason) = bytes.split_first_chunk::<4>()?;
        let reason = String::from_utf8_lossy(reason).into_owned();
        Some(Notice { rank: Rank(u32::from_be_bytes(*rank)), reason })
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
        assert!(notice.reason.starts_with(&read.reason) && read.reason.len() > NOTICE_LEN - 8);
        assert_eq!(Notice::parse(&bytes[..3]), None);
    }
}
