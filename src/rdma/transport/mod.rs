//! One communicator's transport over its endpoint: what it has, and how it comes and goes.
//!
//! The way of a message from its buffer to the wire stops eight times; that of a datagram to a message is drawn in
//! `endpoint/receive.rs`.
//!
//! 1. `Broadcaster::broadcast_into` (`src/broadcast`) begins the operation and [lends](lend) the buffer to this transport, until it is
//!    complete; a short message is lent to each turn of the driver instead.
//! 2. `Driver::turn` (`src/core/driver`) asks the protocol what is to be sent.
//! 3. `Driver::transmit` (`transmit.rs` there) makes the header, and names the payload: bytes, or a part of the lent message.
//! 4. `Faulty` (`src/core/transport/faulty`) passes it on.
//! 5. `RdmaTransport::multicast` (`packets.rs`) finds the [memory](Loans::source) of the payload.
//! 6. `UdPort::multicast` (`src/rdma/ud/port.rs`) writes the header into a slot, and has the device read the payload where it is.
//! 7. `QueuePair::send_datagram_with` (`src/verbs`) keeps the request, until there are more or the turn ends.
//! 8. `QueuePair::submit` posts them all: `ibv_post_send`.

mod absorb;
mod direct_placement;
mod lent;
mod liveness;
mod loans;
mod member;
mod one_sided;
mod owned;
mod packets;
mod park;
mod peers;
mod places;
mod poll;
mod room;
mod runs;
mod wait;
mod whole;
mod zero_copy;

pub use loans::Counters;
pub use owned::Owned;
pub(super) use peers::Peer;
pub use zero_copy::{Claims, lend};

use crate::rdma::endpoint::{Access, Incidents, Pools, RxTable, failed};
use crate::rdma::group::{GroupId, Heard, Member};
use crate::rdma::ids::{ChannelId, ProcessId};
use crate::rdma::memory::Memory;
use crate::rdma::node::NodeSeat;
use crate::rdma::settings::Settings;
use loans::Loans;
use peers::Peers;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::time::Instant;
use verbcast_core::transport::{Arrival, Park, TransportError};
use verbcast_core::wire::{HEADER_LEN, Key, MacKey, Tag};
use verbcast_verbs::{CompletionQueue, Descriptors, ProtectionDomain};

/// This process's place in a communicator.
#[derive(Clone, Copy, Debug)]
pub struct Seat {
    pub rank: Rank,
    pub key: Key,
    /// The key of the packets' authentication codes, where they have any.
    pub mac: Option<MacKey>,
    /// Most bytes of a packet.
    pub packet_len: usize,
}

/// UD multicast and RC connections of one rank of a communicator. Fields are dropped in order: the
/// endpoint, if it is this one's alone, before the memory that it uses.
#[derive(Debug)]
pub struct RdmaTransport {
    pub(super) group: Option<GroupId>,
    pub(super) endpoint: Access,
    pub(super) channel: ChannelId,
    pub(super) memory: Memory,
    /// Ended before the messages that it owns are freed.
    pub(super) loans: Loans,
    pub(super) pools: Pools,
    pub(super) domain: ProtectionDomain,
    pub(super) cq: CompletionQueue,
    descriptors: Descriptors,
    pub(super) seat: Seat,
    pub(super) peers: Peers,
    pub(super) settings: Settings,
    waiter: wait::Waiter,
    pub(super) rx_table: RxTable,
    /// Reports that were read in this rank's memory.
    pub(super) reported: VecDeque<Arrival>,
    /// Reports are looked for.
    expects_reports: bool,
    pub(super) heard: Heard,
    /// Other ranks may reach into this one's memory.
    pub(super) is_reached: bool,
    /// Receives were kept for what is to come, so that the endpoint must hear when nothing more is.
    is_reserved: bool,
    /// It shares a node with others, or with all.
    pub(super) is_seated: bool,
    is_one_node: bool,
    /// A call waits, as the endpoint knows.
    waits: bool,
    /// Foreign packets at the endpoint before.
    pub(super) foreign_before: u64,
    /// Forged packets at the endpoint before.
    pub(super) forged_before: u64,
    /// What the endpoint had come through before.
    incidents_before: Incidents,
    /// The time of the last poll.
    pub(super) now: Instant,
    /// Bytes of a fragment of the operation that has begun last.
    pub(super) fragment_len: usize,
    /// What stands for the communicator in headers of fragments that fill their datagrams, if any do.
    pub(super) tag: Option<Tag>,
    /// The operation that the endpoint takes others to be near.
    pub(super) near: OpId,
}

impl RdmaTransport {
    pub(super) fn new(
        endpoint: Access,
        channel: ChannelId,
        memory: Memory,
        (seat, peers): (Seat, Vec<Peer>),
        settings: Settings,
    ) -> Self {
        let seen = endpoint.see();
        let (domain, cq) = (seen.device.domain().clone(), seen.device.queue().clone());
        let (pools, descriptors) = (seen.pools(), seen.device.descriptors().clone());
        let (foreign_before, incidents_before) = (seen.channels.foreign(), seen.incidents());
        let forged_before = seen.channels.forged();
        drop(seen);
        RdmaTransport {
            group: None,
            endpoint,
            channel,
            memory,
            loans: Loans::default(),
            pools,
            domain,
            cq,
            descriptors,
            seat,
            heard: Heard::new(peers.len(), seat.packet_len),
            peers: Peers::new(peers),
            waiter: wait::Waiter::new(settings.waiting),
            settings,
            rx_table: RxTable::default(),
            reported: VecDeque::new(),
            expects_reports: true,
            is_reached: false,
            is_reserved: false,
            is_seated: false,
            is_one_node: false,
            waits: false,
            foreign_before,
            forged_before,
            incidents_before,
            now: Instant::ZERO,
            fragment_len: seat.packet_len - HEADER_LEN,
            tag: None,
            near: OpId(0),
        }
    }

    /// The same ranks and processes expose other memory.
    pub(super) fn set_peers(&mut self, peers: Vec<Peer>) {
        self.peers = Peers::new(peers);
    }

    /// Most bytes of a packet, header included, by multicast and over a connection alike.
    pub fn packet_len(&self) -> usize {
        self.seat.packet_len
    }

    /// Slots of this rank's ring of retained packets, a power of two; every rank has as many.
    pub fn ring_len(&self) -> u32 {
        self.settings.depths.ring
    }

    /// Shares a node with others, if there is a part in one. Said once, before a group is joined.
    pub(super) fn share(&mut self, seat: Option<NodeSeat>) {
        if let Some(seat) = seat {
            self.is_one_node = seat.is_all();
            self.endpoint.hold().seat(self.channel, seat);
            self.is_seated = true;
        }
    }

    /// Whether all ranks share a node with it, so that it needs no group.
    pub fn is_one_node(&self) -> bool {
        self.is_one_node
    }

    pub(super) fn process(&self, rank: Rank) -> ProcessId {
        self.peers.get(rank).process
    }

    /// Begins to connect with a rank, unless it is connected.
    pub(super) fn open(&mut self, now: Instant, rank: Rank) -> Result<(), TransportError> {
        let process = self.process(rank);
        self.endpoint.hold().open(now, process)
    }

    /// The descriptor that tells of completions, once it is [armed](verbcast_core::transport::Park::arm), and of what
    /// happens to the device or the group.
    pub fn channel_fd(&self) -> BorrowedFd<'_> {
        self.descriptors.as_fd()
    }

    /// Its [descriptor](Self::channel_fd) tells what that of another rail does, too.
    pub(crate) fn wait_for_rail(&self, rail: &RdmaTransport) -> verbcast_verbs::Result<()> {
        self.descriptors.include(&rail.descriptors)
    }

    /// Uses no longer packets than every rail can, and compact headers only if all do.
    pub(crate) fn level(&mut self, packet_len: usize, whole: bool) {
        if packet_len < self.seat.packet_len {
            self.limit_packet_len(packet_len);
        }
        if !whole {
            self.give_tag_back();
        }
    }

    /// Receives that are posted for datagrams.
    pub fn posted_receives(&self) -> u64 {
        self.endpoint.see().datagrams.posted_receives()
    }

    /// Makes the UD QP fail as an adapter does, which tests cannot do otherwise.
    #[doc(hidden)]
    pub fn break_datagrams(&mut self) -> Result<(), TransportError> {
        self.endpoint.hold().datagrams.give_up().map_err(failed)
    }
}

impl Drop for RdmaTransport {
    fn drop(&mut self) {
        self.end_wait();
        if self.is_seated {
            // A mate need not wait until it takes this one's place.
            self.leave();
            self.endpoint.hold().unseat(self.channel);
        }
        if let Access::Own(_) = self.endpoint {
            // It goes, and with it all requests.
            return;
        }
        for op in self.loans.by_op.keys().copied().collect::<Vec<_>>() {
            self.reclaim(op);
        }
        self.leave();
        let memory = self.memory.keep();
        let mut endpoint = self.endpoint.hold();
        for packet in self.rx_table.drain() {
            if let Err(error) = endpoint.free(packet.body) {
                tracing::warn!("while closing a communicator: {error}");
            }
        }
        endpoint.close(self.now, self.channel, memory, self.is_reached);
    }
}
