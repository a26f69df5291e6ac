//! One rank's adapter.

use super::communicator::Channel;
use super::event::{Bytes, Completion, Message, RingSlot};
use super::lent::Write;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use verbcast_core::numbers::NumberMap;
use verbcast_core::rank::Rank;

/// One rank's adapter, and the time of its CPU.
#[derive(Debug, Default)]
pub(super) struct Port {
    pub completions: VecDeque<Completion>,
    /// What others have written for each communicator and this rank has not looked at.
    reports: Vec<BTreeMap<(Rank, u8), u64>>,
    /// Keys with which others may write into messages, and what they have written that this rank has not looked at.
    pub keys: BTreeSet<u32>,
    pub written: Vec<Write>,
    /// Receives in use: arrived, or in the driver's hands.
    pub datagrams_used: u32,
    pub messages_used: u32,
    /// Messages that wait for a receive, by connection, and the connections in the order of waiting.
    pub stalled: BTreeMap<Rank, VecDeque<Message>>,
    pub queue: VecDeque<Rank>,
    pub datagrams_leaving: u32,
    /// By communicator, and over all.
    messages_leaving: Vec<u32>,
    all_messages_leaving: u32,
    pub fetching: u32,
    /// Reports on their way, of which there are few.
    telling: Vec<(Channel, Rank, u8)>,
    /// By communicator.
    rings: Vec<Vec<Option<Slot>>>,
    /// Connections that were reported broken.
    pub broken: BTreeSet<Rank>,
    /// Requests that a rank which is gone does not answer.
    pub unanswered: BTreeMap<Rank, Vec<Unanswered>>,
    /// Ranks that left, as this rank knows.
    pub given_up: BTreeSet<Rank>,
    pub is_bad: bool,
    /// Up to when datagrams pass its link.
    pub passes_until: u64,
    pub is_dead: bool,
    /// The rank has left in good order. Nothing is answered, and nobody is told.
    pub is_gone: bool,
    /// Up to when the CPU is busy.
    pub cpu: u64,
    /// The CPU takes this many times as long.
    pub slowness: u64,
    /// Up to when the adapter is sending.
    pub wire: u64,
    /// When a connection delivers next at the earliest, so that its order is kept.
    pub order: NumberMap<Rank, u64>,
    /// Datagrams that found no receive.
    pub overflowed: u64,
    /// The next turn that is put, and whether the rank takes turns at all.
    pub turn_at: Option<u64>,
    pub sleeps: bool,
    /// The rank waits, and polls meanwhile.
    pub waits: bool,
    /// Words of other programs that this one has not waited for yet.
    pub words: BTreeMap<Rank, u32>,
}

/// A request that is not answered, and what it holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unanswered {
    Message(Channel, Option<u32>),
    Report(Channel, u8),
    Read,
}

/// A slot of a ring.
#[derive(Debug)]
pub(super) struct Slot {
    pub bytes: Bytes,
    pub leaving: u32,
}

impl Port {
    /// That of a rank whose CPU is as fast as any.
    pub fn new() -> Port {
        Port { slowness: 1, ..Port::default() }
    }

    /// Whether the rank polls now.
    pub fn polls(&self) -> bool {
        self.waits && !self.sleeps && !self.is_dead && !self.is_gone
    }

    /// A reliable send has ended. Those from the ring take no send buffer.
    pub fn ended(&mut self, channel: Channel, slot: Option<u32>) {
        if slot.is_none()
            && let Some(leaving) = self.messages_leaving.get_mut(usize::from(channel.0))
        {
            *leaving -= 1;
            self.all_messages_leaving -= 1;
        }
        self.left(slot.map(|slot| (channel, slot)));
    }

    pub fn left(&mut self, slot: Option<RingSlot>) {
        if let Some(slot) = slot.and_then(|slot| self.slot_mut(slot)) {
            slot.leaving -= 1;
        }
    }

    /// A reliable message is on its way that is not from the ring.
    pub fn leaves(&mut self, channel: Channel) {
        let at = usize::from(channel.0);
        if self.messages_leaving.len() <= at {
            self.messages_leaving.resize(at + 1, 0);
        }
        self.messages_leaving[at] += 1;
        self.all_messages_leaving += 1;
    }

    /// Such messages of a communicator, and of all.
    pub fn leaving(&self, channel: Channel) -> (u32, u32) {
        let own = self.messages_leaving.get(usize::from(channel.0)).copied().unwrap_or(0);
        (own, self.all_messages_leaving)
    }

    /// A report is on its way.
    pub fn tells(&mut self, channel: Channel, to: Rank, counter: u8) {
        if !self.telling.contains(&(channel, to, counter)) {
            self.telling.push((channel, to, counter));
        }
    }

    /// A report has come to its end.
    pub fn told(&mut self, channel: Channel, to: Rank, counter: u8) {
        self.telling.retain(|one| *one != (channel, to, counter));
    }

    /// Whether a report to a rank is on its way.
    pub fn is_telling(&self, channel: Channel, to: Rank) -> bool {
        self.telling.iter().any(|(by, rank, _)| (*by, *rank) == (channel, to))
    }

    /// A rank has written a counter for a communicator.
    pub fn reported(&mut self, channel: Channel, by: Rank, counter: u8, value: u64) {
        let at = usize::from(channel.0);
        if self.reports.len() <= at {
            // No more than that, as most ranks have one communicator.
            self.reports.reserve_exact(at + 1 - self.reports.len());
            self.reports.resize_with(at + 1, BTreeMap::new);
        }
        self.reports[at].insert((by, counter), value);
    }

    /// Whether others have written something for a communicator.
    pub fn has_reports(&self, channel: Channel) -> bool {
        self.reports.get(usize::from(channel.0)).is_some_and(|reports| !reports.is_empty())
    }

    /// The next report for a communicator: who wrote it, which counter, and its value.
    pub fn take_report(&mut self, channel: Channel) -> Option<(Rank, u8, u64)> {
        let ((by, counter), value) = self.reports.get_mut(usize::from(channel.0))?.pop_first()?;
        Some((by, counter, value))
    }

    /// What a slot of a ring holds.
    pub fn slot(&self, (channel, slot): RingSlot) -> Option<&Slot> {
        self.rings.get(usize::from(channel.0))?.get(slot as usize)?.as_ref()
    }

    pub fn slot_mut(&mut self, (channel, slot): RingSlot) -> Option<&mut Slot> {
        self.rings.get_mut(usize::from(channel.0))?.get_mut(slot as usize)?.as_mut()
    }

    /// Puts a packet into a slot.
    pub fn keep(&mut self, (channel, slot): RingSlot, kept: Slot) {
        let (at, slot) = (usize::from(channel.0), slot as usize);
        if self.rings.len() <= at {
            self.rings.resize_with(at + 1, Vec::new);
        }
        let ring = &mut self.rings[at];
        if ring.len() <= slot {
            ring.resize_with(slot + 1, || None);
        }
        ring[slot] = Some(kept);
    }
}
