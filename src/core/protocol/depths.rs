//! How many requests an adapter's queues hold, and what follows from that.

/// Receives for reliable messages that are left to announcements, aborts and farewells.
const NOTICES: u32 = 8;
/// Reliable messages of operations to come that a rank copies at most; among more ranks, one of each.
const MIN_COPIED: u32 = 256;
/// The largest depth: as many requests can be numbered.
const MAX_DEPTH: u32 = 1 << 20;

/// How many requests an adapter's queues hold. From these numbers follow how far a protocol may run ahead and how much
/// a rank keeps for later, on a device and in a simulation alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depths {
    /// Receives posted for datagrams (n of Hoefler 2007, section 3.3, where it is 5).
    pub receive: u32,
    /// Datagrams on their way out at most.
    pub send: u32,
    /// Receives posted for reliable messages, over all connections.
    pub reliable_receive: u32,
    /// Reliable messages on their way out at most, over all connections.
    pub reliable_send: u32,
    /// Slots of the ring of packets that are kept for resending and for other ranks to read: a power of two. The same
    /// at every rank.
    pub ring: u32,
    /// Packets that are looked for in other ranks' rings, or read and not used yet, at most.
    pub fetch: u32,
}

impl Depths {
    /// The least that the protocols work with.
    pub const MIN: Depths = Depths {
        receive: 4,
        send: 2,
        reliable_receive: NOTICES + 4,
        reliable_send: 2,
        ring: 2,
        fetch: 1,
    };

    /// What is used unless something else is asked for.
    pub const DEFAULT: Depths = Depths {
        receive: 512,
        send: 256,
        reliable_receive: 144,
        reliable_send: 32,
        ring: 256,
        fetch: 32,
    };

    /// Slots of the rings of communicators of which a process has many: 128 KiB of packets of 4 KiB.
    pub const SHALLOW_RING: u32 = 32;

    /// Checks each depth, where the transport takes `reserved` sends of each kind for itself.
    ///
    /// # Errors
    /// If a depth is too small to work with or too large to number, or the ring's is not a power of two.
    pub fn validate(&self, reserved: u32) -> Result<(), DepthsError> {
        let Depths { receive, send, reliable_receive, reliable_send, ring, fetch } = *self;
        let min = Depths::MIN;
        for (name, depth, min) in [
            ("receive-depth", receive, min.receive),
            ("send-depth", send, min.send + reserved),
            ("reliable-receive-depth", reliable_receive, min.reliable_receive),
            ("reliable-send-depth", reliable_send, min.reliable_send + reserved),
            ("ring-depth", ring, min.ring),
            ("fetch-depth", fetch, min.fetch),
        ] {
            if !(min..=MAX_DEPTH).contains(&depth) {
                return Err(DepthsError::OutOfRange { name, depth, min });
            }
        }
        match ring.is_power_of_two() {
            true => Ok(()),
            false => Err(DepthsError::NotAPowerOfTwo { ring }),
        }
    }

    /// Slots of the ring that the ranks of a node share: as many as two roots keep packets, so that what one of them
    /// may have on its way fits in while another's is still there.
    pub const fn node_slots(&self) -> u32 {
        2 * self.ring
    }

    /// Datagrams that are kept at most for an operation that is not theirs to use yet: half of the receives, so that
    /// the other half goes on serving the current one.
    pub const fn max_held(&self) -> u32 {
        self.receive / 2
    }

    /// Reliable messages of operations to come, in a communicator of `size` ranks, that a rank copies at most out of
    /// their receive buffers. Each rank may have sent one.
    pub fn max_copied(&self, size: u32) -> u32 {
        MIN_COPIED.max(size)
    }

    /// Reliable messages of the protocols that a rank takes in while its program does something else.
    pub const fn absorbed(&self) -> u32 {
        self.reliable_receive - NOTICES
    }
}

/// Nothing runs with depths that contradict each other.
const _: () = {
    let (min, depths) = (Depths::MIN, Depths::DEFAULT);
    assert!(min.absorbed() > 0 && min.max_held() > 0);
    assert!(min.ring.is_power_of_two() && depths.ring.is_power_of_two());
    assert!(depths.receive >= min.receive && depths.send >= min.send);
    assert!(depths.reliable_receive >= min.reliable_receive);
    assert!(depths.reliable_send >= min.reliable_send);
    assert!(depths.ring >= min.ring && depths.fetch >= min.fetch);
    // A ring that is sent at once can be received.
    assert!(depths.ring <= depths.receive);
};

impl Default for Depths {
    fn default() -> Self {
        Depths::DEFAULT
    }
}

/// A depth that nothing can work with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DepthsError {
    /// It is too small, or too large to number.
    #[error("a {} of {depth} is not between {min} and {MAX_DEPTH}", name.replace('-', " "))]
    OutOfRange {
        /// Which one, by the name that users give it.
        name: &'static str,
        /// What it is.
        depth: u32,
        /// What it must be at least.
        min: u32,
    },
    /// The ring's depth is not a power of two.
    #[error("a ring depth of {ring} is not a power of two")]
    NotAPowerOfTwo {
        /// What it is.
        ring: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_that_cannot_work_are_named() {
        let named = |depths: Depths, reserved| depths.validate(reserved).unwrap_err().to_string();
        Depths::DEFAULT.validate(0).unwrap();
        Depths::MIN.validate(0).unwrap();
        assert!(named(Depths::MIN, 1).contains("send depth of 2 is not between 3 and"));
        let few = Depths { reliable_receive: NOTICES, ..Depths::DEFAULT };
        assert!(named(few, 0).contains("reliable receive depth of 8 "));
        let many = Depths { fetch: MAX_DEPTH + 1, ..Depths::DEFAULT };
        assert!(named(many, 0).contains("fetch depth of 1048577"));
        let ring = Depths { ring: 48, ..Depths::DEFAULT };
        assert_eq!(named(ring, 0), "a ring depth of 48 is not a power of two");
    }
}
