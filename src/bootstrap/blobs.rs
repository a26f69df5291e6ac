//! What the frames of a star carry, as bytes.

use super::BootstrapError;
use verbcast_core::rank::Rank;

/// Longest blob of one rank, in bytes.
pub(super) const MAX_BLOB: usize = 1 << 20;
/// Most bytes of all ranks' blobs together.
pub(super) const MAX_TOTAL: usize = 256 << 20;
/// Longest frame to a rank other than 0: all blobs and their lengths.
pub(super) const MAX_ANSWER: usize = MAX_TOTAL + (64 << 20);
/// Longest text of an error, in bytes; a longer one is cut.
const MAX_TEXT: usize = 16 << 10;

/// Each blob after its length.
pub(super) fn join(blobs: &[Vec<u8>]) -> Vec<u8> {
    let mut joined = Vec::new();
    for blob in blobs {
        joined.extend_from_slice(&(blob.len() as u32).to_le_bytes());
        joined.extend_from_slice(blob);
    }
    joined
}

/// The inverse of [`join`], if `joined` is its result.
pub(super) fn split(mut joined: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut blobs = Vec::new();
    while !joined.is_empty() {
        let (len, rest) = joined.split_first_chunk()?;
        let (blob, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        blobs.push(blob.to_vec());
        joined = rest;
    }
    Some(blobs)
}

pub(super) fn encode_error(error: &BootstrapError) -> Vec<u8> {
    let rank = error.rank.map_or(u32::MAX, |rank| rank.0);
    let text = error.what.as_bytes();
    [&rank.to_le_bytes(), &text[..text.len().min(MAX_TEXT)]].concat()
}

pub(super) fn decode_error(bytes: &[u8]) -> BootstrapError {
    match bytes.split_first_chunk() {
        Some((rank, text)) => BootstrapError {
            rank: Some(u32::from_le_bytes(*rank)).filter(|&rank| rank != u32::MAX).map(Rank),
            what: String::from_utf8_lossy(text).into_owned(),
        },
        None => BootstrapError { rank: None, what: "rank 0 failed without a reason".to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_come_back() {
        let blobs = vec![vec![], b"one".to_vec(), vec![0; 300]];
        assert_eq!(split(&join(&blobs)), Some(blobs.clone()));
        assert_eq!(split(&join(&blobs)[1..]), None);
    }

    #[test]
    fn errors_come_back() {
        for rank in [None, Some(Rank(3))] {
            let error = BootstrapError { rank, what: "left".to_owned() };
            assert_eq!(decode_error(&encode_error(&error)), error);
        }
        assert_eq!(decode_error(b"x").rank, None);
    }
}
