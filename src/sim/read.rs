//! Reads of another rank's ring, which take place while its owner may replace what is there.

use super::event::{Bytes, RingSlot};
use super::faults::{Faults, happens};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use verbcast_core::protocol::Token;
use verbcast_core::rank::Rank;
use verbcast_core::wire::HEADER_LEN;

/// A read of a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub from: Rank,
    pub owner: Rank,
    pub slot: RingSlot,
    pub token: Token,
}

/// What the first part of a read has found. The second part takes the bytes on the other side of the cut.
#[derive(Debug)]
pub(super) struct Part {
    found: Bytes,
    cut: usize,
    /// The bytes before the cut are those that were read first.
    is_front: bool,
}

impl Part {
    /// Draws whether a read that has found this takes place in two parts, and how many nanoseconds are between them.
    pub fn draw(faults: &Faults, found: &Bytes, draw: &mut ChaCha8Rng) -> Option<(u64, Part)> {
        if !happens(draw, faults.torn_read) {
            return None;
        }
        let pause = draw.next_u64() % (faults.longest_tear + 1);
        // Between header and payload as often as anywhere.
        let anywhere = draw.next_u32() as usize % (found.len() + 1);
        let cut = if draw.next_u32().is_multiple_of(2) { HEADER_LEN } else { anywhere };
        let is_front = draw.next_u32().is_multiple_of(2);
        Some((pause, Part { found: found.clone(), cut, is_front }))
    }

    /// Both parts together, where the second finds this. Behind the shorter packet are zeros.
    pub fn join(&self, found: &Bytes) -> Bytes {
        let (front, back) = match self.is_front {
            true => (&self.found, found),
            false => (found, &self.found),
        };
        let byte = |at: usize| if at < self.cut { front.get(at) } else { back.get(at) };
        (0..front.len().max(back.len())).map(|at| byte(at).copied().unwrap_or(0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(cut: usize, is_front: bool, first: &[u8], second: &[u8]) -> Vec<u8> {
        Part { found: first.into(), cut, is_front }.join(&second.into()).to_vec()
    }

    #[test]
    fn a_torn_read_is_of_both_packets() {
        assert_eq!(joined(2, true, b"old!", b"NEW?"), b"olW?");
        assert_eq!(joined(2, false, b"old!", b"NEW?"), b"NEd!");
        assert_eq!(joined(1, true, b"old", b""), b"o\0\0");
        assert_eq!(joined(5, true, b"", b"NEW"), b"\0\0\0");
    }
}
