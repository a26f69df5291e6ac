//! A rank's part in its node.

use super::ring::Ring;
use crate::rdma::group::GroupId;
use std::sync::atomic::Ordering;
use verbcast_core::node::{Cursor, MateIndex, Nodes, Watch};
use verbcast_core::rank::Rank;
use verbcast_core::time::Instant;
use verbcast_core::wire::HEADER_LEN;

/// What went through the memory of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCounters {
    /// Datagrams that mates had published, taken from the ring.
    pub taken: u64,
    /// Datagrams published for mates.
    pub published: u64,
    /// Datagrams that were overrun before they were taken.
    pub lost: u64,
    /// Times that this rank became the one that receives.
    pub roles: u64,
}

/// A rank's part in its node, for one communicator.
#[derive(Debug)]
pub struct NodeSeat {
    ring: Ring,
    cursor: Cursor,
    watch: Watch,
    own: MateIndex,
    /// By rank.
    is_mate: Vec<bool>,
    is_all: bool,
    /// The group that the receiver is attached to, and whether this rank's QP is.
    pub group: Option<GroupId>,
    pub is_attached: bool,
    counters: NodeCounters,
}

impl NodeSeat {
    /// The part of a rank that shares a node with others, in their memory.
    pub fn new(ring: Ring, nodes: &Nodes, rank: Rank) -> Self {
        let before = nodes.members(nodes.lead(rank)).take_while(|mate| *mate != rank).count();
        let own = MateIndex(before as u16);
        let size = nodes.size();
        NodeSeat {
            cursor: ring.cursor(),
            ring,
            watch: Watch::new(own),
            own,
            is_mate: (0..size).map(|other| nodes.are_mates(rank, Rank(other))).collect(),
            is_all: nodes.are_one(),
            group: None,
            is_attached: false,
            counters: NodeCounters::default(),
        }
    }

    /// Whether all ranks of the communicator share the node, so that nothing goes over the wire.
    pub fn is_all(&self) -> bool {
        self.is_all
    }

    /// Whether a rank shares the node: it publishes what it multicasts.
    pub fn has(&self, rank: Rank) -> bool {
        self.is_mate.get(rank.index()).is_some_and(|is_mate| *is_mate)
    }

    /// Ranks that share it, this one included.
    pub fn ranks(&self) -> u32 {
        self.is_mate.iter().filter(|is_mate| **is_mate).count() as u32
    }

    /// What went through the memory.
    pub fn counters(&self) -> NodeCounters {
        NodeCounters { lost: self.cursor.lost(), ..self.counters }
    }

    /// Publishes a datagram for the mates.
    pub fn publish(&mut self, header: &[u8; HEADER_LEN], payload: &[u8]) {
        let is_published = self.ring.publish(self.own, [header, payload]);
        self.counters.published += u64::from(is_published);
    }

    /// The next datagram of a mate.
    pub fn take(&mut self, now: Instant) -> Option<Box<[u8]>> {
        let bytes = self.ring.read(now, self.own, &mut self.cursor)?;
        self.counters.taken += 1;
        Some(bytes)
    }

    /// Whether a mate has published something that was not taken.
    pub fn has_news(&self) -> bool {
        self.ring.has_news(&self.cursor)
    }

    /// Tells the mates that this process polls, or watches whether the receiver does: `by` says whether it polls for this
    /// communicator. Whether it is the receiver.
    pub fn beat(&mut self, now: Instant, by: bool) -> bool {
        let was = self.watch.is_receiver();
        if self.is_all || self.group.is_none() || !(by || was) {
            return was;
        }
        let word = self.ring.word().load(Ordering::Relaxed);
        if let Some(change) = self.watch.turn(now, word) {
            let (from, to) = (change.from, change.to);
            let done =
                self.ring.word().compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
            self.watch.changed(change, done.is_ok());
        }
        let is_receiver = self.watch.is_receiver();
        self.counters.roles += u64::from(is_receiver && !was);
        is_receiver
    }

    /// Leaves the receiver's place to the mates.
    pub fn resign(&mut self) {
        let word = self.ring.word();
        if let Some(change) = self.watch.resign(word.load(Ordering::Relaxed)) {
            // If it fails, a mate has taken the place.
            let (from, to) = (change.from, change.to);
            let _ = word.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// The device has refused to attach the QP: the mates may try.
    pub fn refuse(&mut self, now: Instant) {
        self.resign();
        self.watch.refuse(now);
    }
}
