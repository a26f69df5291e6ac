//! The position of a fragment among all fragments of a communicator.

/// Numbers every fragment of every broadcast, in the order of the calls, at every rank alike; it
/// wraps. It is the sequence number of Liu 2004, section 5.2, counted over fragments instead of
/// broadcasts and over all roots instead of each one, so that it says where in any rank's ring a
/// fragment is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seq(pub u32);

impl Seq {
    /// The position `count` further.
    pub const fn plus(self, count: u32) -> Seq {
        Seq(self.0.wrapping_add(count))
    }

    /// How many fragments `self` is after `other`; negative where it is before. Right while the two
    /// are less than 2³¹ apart.
    pub const fn after(self, other: Seq) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// The earlier of two positions.
    pub const fn earlier(self, other: Seq) -> Seq {
        if self.after(other) < 0 { self } else { other }
    }

    /// The slot of a ring of `slots`, a power of two, so that slots stay in order across the wrap.
    pub const fn slot(self, slots: u32) -> u32 {
        self.0 & (slots - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_keep_their_order_and_slots_across_the_wrap() {
        let last = Seq(u32::MAX);
        assert_eq!(last.plus(1), Seq(0));
        assert_eq!(last.plus(1).after(last), 1);
        assert_eq!(last.earlier(Seq(0)), last);
        assert_eq!((last.slot(8), last.plus(1).slot(8)), (7, 0));
    }
}
