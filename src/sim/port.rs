//! One rank's adapter.

use super::communicator::Channel;
use super::event::{Bytes, Completion, Message, RingSlot};
use super::lent::Write;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use verbcast_core::rank::Rank;

/// One rank's adapter, and the time of its CPU.
#[derive(Debug, Default)]
pub(super) struct Port {
    pub completions: VecDeque<Completion>,
    /// What others have written and this rank has not looked at.
    pub reports: BTreeMap<(Channel, Rank, u8), u64>,
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
    /// By communicator.
    pub messages_leaving: BTreeMap<Channel, u32>,
    pub fetching: u32,
    pub telling: BTreeSet<(Channel, Rank, u8)>,
    pub ring: BTreeMap<RingSlot, Slot>,
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
    pub order: BTreeMap<Rank, u64>,
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
    /// Whether the rank polls now.
    pub fn polls(&self) -> bool {
        self.waits && !self.sleeps && !self.is_dead && !self.is_gone
    }

    /// A reliable send has ended. Those from the ring take no send buffer.
    pub fn ended(&mut self, channel: Channel, slot: Option<u32>) {
        if slot.is_none()
            && let Some(leaving) = self.messages_leaving.get_mut(&channel)
        {
            *leaving -= 1;
        }
        self.left(slot.map(|slot| (channel, slot)));
    }

    pub fn left(&mut self, slot: Option<RingSlot>) {
        if let Some(slot) = slot.and_then(|slot| self.ring.get_mut(&slot)) {
            slot.leaving -= 1;
        }
    }
}
