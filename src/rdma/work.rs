//! What a completed work request was, as it is written into its 64-bit id.

use super::channel::ChannelId;
use super::process::ProcessId;
use crate::protocol::Counter;

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
    Send(ProcessId, u32),
    /// A probe of liveness.
    Probe(ProcessId),
    /// A send of a datagram from a slot of a channel's ring.
    RingMulticast(ChannelId, u32),
    /// A send of a reliable message from a slot of a channel's ring.
    RingSend(ChannelId, ProcessId, u32),
    /// A write of a channel's number into a process's memory.
    Report(ChannelId, ProcessId, Counter),
    /// A read of a ring of a process into a buffer.
    Fetch(ProcessId, u32),
}

/// Bits of a slot and of a process: depths are a million at most.
const FIELD_BITS: u32 = 20;
const CHANNEL_SHIFT: u32 = 2 * FIELD_BITS;
const KIND_SHIFT: u32 = CHANNEL_SHIFT + 16;

/// Processes that ids tell apart.
pub(super) const MOST_PROCESSES: u32 = 1 << FIELD_BITS;

impl Work {
    /// The request's id.
    pub fn id(self) -> u64 {
        const NONE: (ChannelId, ProcessId) = (ChannelId(0), ProcessId(0));
        let (kind, (ChannelId(channel), ProcessId(process)), slot) = match self {
            Work::DatagramReceive(slot) => (1, NONE, slot),
            Work::DatagramSend(slot) => (2, NONE, slot),
            Work::Receive(slot) => (3, NONE, slot),
            Work::Send(process, slot) => (4, (NONE.0, process), slot),
            Work::Probe(process) => (5, (NONE.0, process), 0),
            Work::RingMulticast(channel, slot) => (6, (channel, NONE.1), slot),
            Work::RingSend(channel, process, slot) => (7, (channel, process), slot),
            Work::Report(channel, process, counter) => (8, (channel, process), counter as u32),
            Work::Fetch(process, buffer) => (9, (NONE.0, process), buffer),
        };
        debug_assert!(slot < 1 << FIELD_BITS && process < MOST_PROCESSES);
        let (channel, process) = (u64::from(channel), u64::from(process));
        kind << KIND_SHIFT | channel << CHANNEL_SHIFT | process << FIELD_BITS | u64::from(slot)
    }

    /// The request of an id; `None` for an id that was never given.
    pub fn of_id(id: u64) -> Option<Work> {
        let field = |shift: u32| (id >> shift) as u32 & ((1 << FIELD_BITS) - 1);
        let (slot, process) = (field(0), ProcessId(field(FIELD_BITS)));
        let channel = ChannelId((id >> CHANNEL_SHIFT) as u16);
        match id >> KIND_SHIFT {
            1 => Some(Work::DatagramReceive(slot)),
            2 => Some(Work::DatagramSend(slot)),
            3 => Some(Work::Receive(slot)),
            4 => Some(Work::Send(process, slot)),
            5 => Some(Work::Probe(process)),
            6 => Some(Work::RingMulticast(channel, slot)),
            7 => Some(Work::RingSend(channel, process, slot)),
            8 => {
                let counter = Counter::ALL.get(slot as usize)?;
                Some(Work::Report(channel, process, *counter))
            }
            9 => Some(Work::Fetch(process, slot)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_its_request() {
        let most = ProcessId(MOST_PROCESSES - 1);
        for work in [
            Work::DatagramReceive(1),
            Work::DatagramSend(0xf_ffff),
            Work::Receive(0),
            Work::Send(most, 7),
            Work::Probe(ProcessId(70_000)),
            Work::RingMulticast(ChannelId(u16::MAX), 31),
            Work::RingSend(ChannelId(3), ProcessId(9), 0xf_ffff),
            Work::Report(ChannelId(u16::MAX), most, Counter::Acknowledged),
            Work::Report(ChannelId(0), ProcessId(0), Counter::Consumed),
            Work::Fetch(ProcessId(3), 7),
        ] {
            assert_eq!(Work::of_id(work.id()), Some(work));
        }
        assert_eq!(Work::of_id(0), None);
    }
}
