//! What a completed work request was, as it is written into its 64-bit id.

use crate::rank::Rank;

/// A work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// A receive of a datagram into a slot.
    DatagramReceive(u32),
    /// A send of a datagram from a slot.
    DatagramSend(u32),
    /// A receive of a reliable message into a slot.
    Receive(u32),
    /// A send of a reliable message from a slot.
    Send(Rank, u32),
    /// A probe of liveness.
    Probe(Rank),
}

const SLOT_BITS: u32 = 24;
const KIND_SHIFT: u32 = 56;

impl Work {
    /// The request's id.
    pub fn id(self) -> u64 {
        let (kind, rank, slot) = match self {
            Work::DatagramReceive(slot) => (1, 0, slot),
            Work::DatagramSend(slot) => (2, 0, slot),
            Work::Receive(slot) => (3, 0, slot),
            Work::Send(rank, slot) => (4, rank.0, slot),
            Work::Probe(rank) => (5, rank.0, 0),
        };
        debug_assert!(slot < 1 << SLOT_BITS);
        kind << KIND_SHIFT | u64::from(rank) << SLOT_BITS | u64::from(slot)
    }

    /// The request of an id; `None` for an id that was never given.
    pub fn of_id(id: u64) -> Option<Work> {
        let slot = (id & ((1 << SLOT_BITS) - 1)) as u32;
        let rank = Rank((id >> SLOT_BITS) as u32);
        match id >> KIND_SHIFT {
            1 => Some(Work::DatagramReceive(slot)),
            2 => Some(Work::DatagramSend(slot)),
            3 => Some(Work::Receive(slot)),
            4 => Some(Work::Send(rank, slot)),
            5 => Some(Work::Probe(rank)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_its_request() {
        for work in [
            Work::DatagramReceive(1),
            Work::DatagramSend(0xff_ffff),
            Work::Receive(0),
            Work::Send(Rank(u32::MAX), 7),
            Work::Probe(Rank(70_000)),
        ] {
            assert_eq!(Work::of_id(work.id()), Some(work));
        }
        assert_eq!(Work::of_id(0), None);
    }
}
