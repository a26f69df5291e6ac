//! Reads of another rank's ring, which take place while its owner may replace what is there: a header, a payload, and the
//! header again.

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

/// What a read has found at first.
#[derive(Debug)]
pub(super) struct Part(Bytes);

impl Part {
    /// Draws whether a read that has found this ends later, and how many nanoseconds later.
    pub fn draw(faults: &Faults, found: &Bytes, draw: &mut ChaCha8Rng) -> Option<(u64, Part)> {
        if !happens(draw, faults.torn_read) {
            return None;
        }
        let pause = draw.next_u64() % (faults.longest_tear + 1);
        Some((pause, Part(found.clone())))
    }

    /// What was read, where the slot holds this in the end: nothing if the header is another one.
    pub fn join(self, found: &Bytes) -> Bytes {
        let header = |bytes: &Bytes| bytes.first_chunk::<HEADER_LEN>().copied();
        if header(&self.0) == header(found) { self.0 } else { Bytes::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_that_is_replaced_meanwhile_is_not_read() {
        let packet = |number: u8| -> Bytes { [number; HEADER_LEN + 5].into() };
        assert_eq!(Part(packet(1)).join(&packet(1)), packet(1));
        assert_eq!(Part(packet(1)).join(&packet(2)), Bytes::default());
        assert_eq!(Part(packet(1)).join(&Bytes::default()), Bytes::default());
    }
}
