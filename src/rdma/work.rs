//! Which request has completed, as it is written into its 64-bit id.

use crate::rdma::ids::ProcessId;

/// A work request that completes by itself. Sends have the number that they are
/// [outstanding](super::outstanding::Outstanding) under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// A receive of a datagram into a slot.
    DatagramReceive(u32),
    /// A send of a datagram.
    Datagram(u32),
    /// A receive of a reliable message into a slot.
    Receive(u32),
    /// A request over the connection with a process.
    Request(ProcessId, u32),
    /// A probe of liveness.
    Probe(ProcessId),
}

const PROCESS_SHIFT: u32 = 32;
const KIND_SHIFT: u32 = 56;

/// Processes that ids tell apart.
pub(super) const MAX_PROCESSES: u32 = 1 << 20;
const _: () = assert!(MAX_PROCESSES <= 1 << (KIND_SHIFT - PROCESS_SHIFT));

impl Work {
    /// The request's id.
    pub fn id(self) -> u64 {
        const NONE: ProcessId = ProcessId(0);
        let (kind, ProcessId(process), number) = match self {
            Work::DatagramReceive(slot) => (1, NONE, slot),
            Work::Datagram(number) => (2, NONE, number),
            Work::Receive(slot) => (3, NONE, slot),
            Work::Request(process, number) => (4, process, number),
            Work::Probe(process) => (5, process, 0),
        };
        debug_assert!(process < MAX_PROCESSES);
        kind << KIND_SHIFT | u64::from(process) << PROCESS_SHIFT | u64::from(number)
    }

    /// The request of an id; `None` for an id that was never given.
    pub fn of_id(id: u64) -> Option<Work> {
        let number = id as u32;
        let process = ProcessId((id >> PROCESS_SHIFT) as u32 & (MAX_PROCESSES - 1));
        match id >> KIND_SHIFT {
            1 => Some(Work::DatagramReceive(number)),
            2 => Some(Work::Datagram(number)),
            3 => Some(Work::Receive(number)),
            4 => Some(Work::Request(process, number)),
            5 => Some(Work::Probe(process)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_its_request() {
        let most = ProcessId(MAX_PROCESSES - 1);
        for work in [
            Work::DatagramReceive(1),
            Work::Datagram(u32::MAX),
            Work::Receive(0),
            Work::Request(most, u32::MAX),
            Work::Request(ProcessId(3), 7),
            Work::Probe(most),
        ] {
            assert_eq!(Work::of_id(work.id()), Some(work));
        }
        assert_eq!(Work::of_id(0), None);
    }
}
