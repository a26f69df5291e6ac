//! The position of a fragment among all fragments of a communicator.

use crate::protocol::known_sent::Position;

/// Numbers every fragment of every broadcast, in the order of the calls, at every rank alike. It is the sequence number
/// of Liu 2004, section 5.2, counted over fragments instead of broadcasts and over all roots instead of each one, so
/// that it says where in any rank's ring a fragment is.
///
/// What a rank knows of another may be as old as the communicator: the two meet when a root that was silent so far
/// begins. In 64 bits no communicator lives long enough for it to wrap. Its low 32 bits cross the wire, where both sides
/// are near one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seq(pub u64);

impl Position for Seq {
    fn is_after(self, other: Seq) -> bool {
        self.after(other) > 0
    }
}

impl Seq {
    /// The position `count` further.
    pub const fn plus(self, count: u32) -> Seq {
        Seq(self.0.wrapping_add(count as u64))
    }

    /// How many fragments `self` is after `other`; negative where it is before.
    pub const fn after(self, other: Seq) -> i64 {
        self.0.wrapping_sub(other.0) as i64
    }

    /// The earlier of two positions.
    pub const fn earlier(self, other: Seq) -> Seq {
        if self.after(other) < 0 { self } else { other }
    }

    /// The slot of a ring of `slots`, a power of two.
    pub const fn slot(self, slots: u32) -> u32 {
        self.0 as u32 & (slots - 1)
    }

    /// How many whole shares, of so many fragments each, are before it.
    pub const fn shares(self, share: u32) -> u64 {
        self.0 / share as u64
    }

    /// What crosses the wire.
    pub const fn low(self) -> u32 {
        self.0 as u32
    }

    /// The position with these low bits that is nearest to `near`.
    pub const fn nearest(low: u32, near: Seq) -> Seq {
        let distance = low.wrapping_sub(near.low()) as i32;
        Seq(near.0.wrapping_add_signed(distance as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_keep_their_order_and_slots_where_their_low_bits_wrap() {
        let last = Seq(u32::MAX.into());
        assert_eq!(last.plus(1).after(last), 1);
        assert_eq!(last.earlier(last.plus(1)), last);
        assert_eq!((last.slot(8), last.plus(1).slot(8)), (7, 0));
    }

    #[test]
    fn positions_far_apart_keep_their_order() {
        for apart in [1, 1 << 31, 1 << 32, 1 << 40] {
            let first = Seq(7);
            let later = Seq(7 + apart);
            assert!(later.after(first) > 0 && first.after(later) < 0, "{apart}");
        }
    }

    #[test]
    fn the_low_bits_tell_a_position_from_another_near_it() {
        for near in [0, 5, u64::from(u32::MAX), 1 << 32, (1 << 40) + 3].map(Seq) {
            for position in [near, near.plus(9), near.plus(i32::MAX as u32)] {
                assert_eq!(Seq::nearest(position.low(), near), position, "{near:?}");
                assert_eq!(Seq::nearest(near.low(), position), near, "{near:?}");
            }
        }
    }
}
