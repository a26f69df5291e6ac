//! What a completed work request was, as it is written into its 64-bit id.

use crate::protocol::Counter;
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
    /// A send of a datagram from a slot of the ring.
    RingMulticast(u32),
    /// A send of a reliable message from a slot of the ring.
    RingSend(Rank, u32),
    /// A write of a number into a rank's memory.
    Report(Rank, Counter),
    /// A read of a rank's ring into a buffer.
    Fetch(Rank, u32),
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
            Work::RingMulticast(slot) => (6, 0, slot),
            Work::RingSend(rank, slot) => (7, rank.0, slot),
            Work::Report(rank, counter) => (8, rank.0, counter as u32),
            Work::Fetch(rank, buffer) => (9, rank.0, buffer),
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
            6 => Some(Work::RingMulticast(slot)),
            7 => Some(Work::RingSend(rank, slot)),
            8 => Counter::ALL.get(slot as usize).map(|counter| Work::Report(rank, *counter)),
            9 => Some(Work::Fetch(rank, slot)),
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
            Work::RingMulticast(31),
            Work::RingSend(Rank(9), 0xff_ffff),
            Work::Report(Rank(u32::MAX), Counter::Acknowledged),
            Work::Report(Rank(0), Counter::Consumed),
            Work::Fetch(Rank(3), 7),
        ] {
            assert_eq!(Work::of_id(work.id()), Some(work));
        }
        assert_eq!(Work::of_id(0), None);
    }
}
