//! What an endpoint knows of a communicator that uses it.

use super::compact::CompactHeaders;
use super::event::Event;
use super::inbox::Inbox;
use super::lifetime::Lifetime;
use crate::rdma::ids::ProcessId;
use crate::rdma::node::NodeSeat;
use verbcast_core::numbers::NumberMap;
use verbcast_core::protocol::Via;
use verbcast_core::rank::Rank;
use verbcast_core::wire::{Header, Key, MacKey};

/// One communicator at its endpoint.
#[derive(Debug)]
pub struct Channel {
    key: Key,
    rank: Rank,
    processes: Vec<ProcessId>,
    ranks: NumberMap<ProcessId, Rank>,
    registered_memory: usize,
    mac: Option<MacKey>,
    /// Where its fragments fill their datagrams.
    pub compact: Option<CompactHeaders>,
    pub inbox: Inbox,
    pub lifetime: Lifetime,
    /// It has said its last words to a rank, and begins no more reads.
    pub is_leaving: bool,
    /// Where ranks of this host share memory.
    pub node: Option<NodeSeat>,
}

impl Channel {
    /// A communicator in which this process has a rank, with the process of each rank, and bytes of registered memory
    /// of its own.
    pub fn new(key: Key, rank: Rank, processes: Vec<ProcessId>, registered_memory: usize) -> Self {
        let ranks = processes.iter().copied().zip((0..).map(Rank)).collect();
        Channel {
            key,
            rank,
            processes,
            ranks,
            registered_memory,
            mac: None,
            compact: None,
            inbox: Inbox::default(),
            lifetime: Lifetime::default(),
            is_leaving: false,
            node: None,
        }
    }

    /// The same with a key of its packets' authentication codes, or none.
    #[must_use]
    pub fn with_mac(self, mac: Option<MacKey>) -> Self {
        Channel { mac, ..self }
    }

    /// The key of its packets' authentication codes, where they have any.
    pub fn mac(&self) -> Option<&MacKey> {
        self.mac.as_ref()
    }

    pub fn key(&self) -> Key {
        self.key
    }

    /// This process's rank.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// The processes of all ranks.
    pub fn processes(&self) -> &[ProcessId] {
        &self.processes
    }

    /// Whether a packet of its key may come to it so, whatever else is wrong with it.
    pub fn admits(&self, via: Via, header: &Header) -> bool {
        via.admits(header, self.processes.len() as u32)
    }

    /// Whether what a rank multicasts comes otherwise than by the wire: it is this one, or a node mate.
    pub fn is_local(&self, source: Rank) -> bool {
        source == self.rank || self.node.as_ref().is_some_and(|node| node.has(source))
    }

    /// Bytes of registered memory that it has besides its endpoint's.
    pub fn registered_memory(&self) -> usize {
        self.registered_memory
    }

    /// The rank of a process, if it has one.
    pub fn rank_of(&self, process: ProcessId) -> Option<Rank> {
        self.ranks.get(&process).copied()
    }

    /// Whether it is in use here.
    pub fn is_open(&self) -> bool {
        self.lifetime.is_open()
    }

    /// Whether it is in use here with a process.
    pub fn has(&self, process: ProcessId) -> bool {
        let is_member = self.ranks.contains_key(&process);
        self.is_open() && is_member && !self.lifetime.has_departed(process)
    }

    /// Whether it may begin to read in the memory of a process.
    pub fn may_read(&self, process: ProcessId) -> bool {
        self.has(process) && !self.is_leaving
    }

    /// Tells it something, if it is in use here.
    pub fn tell(&mut self, event: Event) {
        // What uses its memory ends with one of these.
        if matches!(event, Event::RingSent { .. } | Event::Reported { .. }) {
            self.lifetime.end_request();
        }
        if self.is_open() {
            self.inbox.push(event);
        }
    }
}
