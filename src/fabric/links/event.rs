//! What happens on links, by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens, in the order in which it does at one time: first what makes room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A credit comes to a sending port; the packet field is the lane.
    Credit,
    /// A packet has left a port to its last byte.
    Left,
    /// A packet's head comes to a port.
    Arrive,
    /// A packet's head is at an output, and may leave.
    Ready,
    /// A packet is at its end, to its last byte.
    End,
    /// A packet has waited for too long at an output.
    Expire,
    /// A host has something to send.
    Wake,
}

const KINDS: [Kind; 7] =
    [Kind::Credit, Kind::Left, Kind::Arrive, Kind::Ready, Kind::End, Kind::Expire, Kind::Wake];

/// Bits of a port's index.
const PORT_BITS: u32 = 28;

/// Something that happens to a packet at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub kind: Kind,
    pub port: u32,
    pub packet: u32,
}

/// Events by time, then by kind, port and packet, all in one number. So packets that come to a switch at
/// the same time are taken in the order of its ports.
#[derive(Debug, Default)]
pub(super) struct Agenda(BinaryHeap<Reverse<u128>>);

impl Agenda {
    pub fn put(&mut self, at: u64, event: Event) {
        let what = (event.kind as u32) << PORT_BITS | event.port;
        let number = u128::from(at) << 64 | u128::from(what) << 32 | u128::from(event.packet);
        self.0.push(Reverse(number));
    }

    /// When the next event happens.
    pub fn next_at(&self) -> Option<u64> {
        self.0.peek().map(|Reverse(number)| (number >> 64) as u64)
    }

    pub fn take(&mut self) -> Option<(u64, Event)> {
        let Reverse(number) = self.0.pop()?;
        let what = (number >> 32) as u32;
        let kind = KINDS[(what >> PORT_BITS) as usize];
        let port = what & ((1 << PORT_BITS) - 1);
        Some(((number >> 64) as u64, Event { kind, port, packet: number as u32 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_kind_and_port() {
        let of = |kind, port, packet| Event { kind, port, packet };
        let last = (1 << PORT_BITS) - 1;
        let ordered = [
            (1, of(Kind::Wake, 0, 0)),
            (2, of(Kind::Credit, 5, 1)),
            (2, of(Kind::Arrive, 3, u32::MAX)),
            (2, of(Kind::Arrive, last, 7)),
            (2, of(Kind::Expire, 1, 2)),
        ];
        let mut agenda = Agenda::default();
        ordered.iter().rev().for_each(|(at, event)| agenda.put(*at, *event));
        assert_eq!(agenda.next_at(), Some(1));
        let taken: Vec<_> = std::iter::from_fn(|| agenda.take()).collect();
        assert_eq!(taken, ordered);
    }
}
