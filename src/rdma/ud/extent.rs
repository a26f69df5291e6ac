//! Where a received datagram is in its slot.
//!
//! In front of the GRH a slot has a few bytes more, so that with the GRH there is room for a header in front of a payload
//! that came with a [compact](verbcast_core::wire::Compact) one: both kinds of packets are header and payload in one piece.

use crate::rdma::settings::{GRH_LEN, SLOT_PAD};
use std::ops::Range;
use verbcast_core::wire::HEADER_LEN;

/// Where the GRH is.
pub const GRH: Range<usize> = SLOT_PAD..SLOT_PAD + GRH_LEN;

const _: () =
    assert!(GRH.end == HEADER_LEN, "a payload behind the GRH has room for a header in front of it");

/// Where a packet is, its header first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    start: usize,
    end: usize,
}

impl Extent {
    /// That of a datagram of so many bytes, GRH included. Where its header came otherwise, there is nothing at its place.
    pub fn new(len: usize, is_compact: bool) -> Self {
        Extent { start: if is_compact { 0 } else { GRH.end }, end: SLOT_PAD + len }
    }

    /// Bytes of a datagram whose payload of so many came without a header, GRH included.
    pub fn received(payload_len: usize) -> usize {
        GRH_LEN + payload_len
    }

    /// Whether its header came otherwise.
    pub fn is_compact(self) -> bool {
        self.start == 0
    }

    /// The packet in the bytes of its slot; empty where it is shorter than a header.
    pub fn of(self, slot: &[u8]) -> &[u8] {
        slot.get(self.start..self.end).unwrap_or_default()
    }

    /// The same, to be changed.
    pub fn of_mut(self, slot: &mut [u8]) -> &mut [u8] {
        slot.get_mut(self.start..self.end).unwrap_or_default()
    }

    /// Where its payload is, and what follows in its slot.
    pub fn payload_from(self) -> usize {
        self.start + HEADER_LEN
    }

    /// Bytes of its payload.
    pub fn payload_len(self) -> usize {
        self.end.saturating_sub(self.payload_from())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_has_its_header_or_room_for_one_in_front() {
        let slot: Vec<u8> = (0..=255).collect();
        let with_header = Extent::new(GRH_LEN + HEADER_LEN + 20, false);
        assert_eq!(with_header.of(&slot), &slot[48..116]);
        assert_eq!((with_header.payload_from(), with_header.payload_len()), (96, 20));
        let compact = Extent::new(GRH_LEN + 20, true);
        assert_eq!(compact.of(&slot), &slot[..68]);
        assert_eq!((compact.payload_from(), compact.payload_len()), (48, 20));
    }

    #[test]
    fn what_is_shorter_than_a_header_is_nothing() {
        let slot = [7; 256];
        for len in [0, GRH_LEN - 1, GRH_LEN] {
            assert!(Extent::new(len, false).of(&slot).is_empty(), "{len} bytes");
            assert_eq!(Extent::new(len, false).payload_len(), 0);
        }
        assert_eq!(Extent::new(0, true).payload_len(), 0);
    }
}
