//! One communicator's transport over its endpoint.
//!
//! The way of a message from its buffer to the wire stops eight times; that of a datagram to a message is drawn in
//! `endpoint/receive.rs`.
//!
//! 1. `Broadcaster::broadcast_into` (`src/broadcast`) begins the operation and [lends](lend) the buffer to this transport, until it is
//!    complete; a short message is lent to each turn of the driver instead.
//! 2. `Driver::turn` (`src/core/driver`) asks the protocol what is to be sent.
//! 3. `Driver::transmit` (`transmit.rs` there) makes the header, and names the payload: bytes, or a part of the lent message.
//! 4. `Faulty` (`src/core/transport/faulty`) passes it on.
//! 5. `RdmaTransport::multicast` (here) finds the [memory](Loans::source) of the payload.
//! 6. `UdPort::multicast` (`src/rdma/ud/port.rs`) writes the header into a slot, and has the device read the payload where it is.
//! 7. `QueuePair::send_datagram_with` (`src/verbs`) keeps the request, until there are more or the turn ends.
//! 8. `QueuePair::submit` posts them all: `ibv_post_send`.

mod absorb;
mod direct_placement;
mod loans;
mod member;
mod one_sided;
mod owned;
mod peers;
mod places;
mod rx_table;
mod segments;
mod wait;
mod zero_copy;

pub use loans::Counters;
pub use owned::Owned;
pub(super) use peers::Peer;
pub use zero_copy::{Claims, lend};

use crate::rdma::endpoint::{Access, Body, Endpoint, Event, Incidents, Pools, failed};
use crate::rdma::group::{GroupId, Heard, Member};
use crate::rdma::ids::{ChannelId, ProcessId};
use crate::rdma::memory::Memory;
use crate::rdma::node::NodeSeat;
use crate::rdma::rc::Sender;
use crate::rdma::settings::Settings;
use loans::{Loan, Loans};
use peers::Peers;
use rx_table::RxTable;
use std::collections::VecDeque;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use verbcast_core::cause::Cause;
use verbcast_core::protocol::{Counter, Room, Token};
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::time::Instant;
use verbcast_core::transport::{
    Arrival, Buffer, Liveness, Origin, Park, Payload, Purpose, Transfer, Transport, TransportError,
};
use verbcast_core::wire::{Checks, HEADER_LEN, Key, MacKey, Malformed, Packet, Region};
use verbcast_verbs::{CompletionQueue, Descriptors, ProtectionDomain};

/// Looks for completions in one poll that tells nothing in the end, so that a flood of strangers'
/// packets cannot keep it from ending.
const LOOKS_PER_POLL: u32 = 64;

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
    /// Room for a packet of the ring that is published.
    to_publish: Vec<u8>,
    /// Foreign packets at the endpoint before.
    pub(super) foreign_before: u64,
    /// Forged packets at the endpoint before.
    pub(super) forged_before: u64,
    /// What the endpoint had come through before.
    incidents_before: Incidents,
    /// The time of the last poll.
    pub(super) now: Instant,
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
            to_publish: Vec::new(),
            foreign_before,
            forged_before,
            incidents_before,
            now: Instant::ZERO,
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

    /// Takes what has come first of what has not been taken, or looks for more, on this communicator and on others. The
    /// endpoint is taken once for all that.
    fn look(&mut self, now: Instant) -> Result<Seen, TransportError> {
        let RdmaTransport { endpoint, channel, peers, memory, reported, expects_reports, .. } =
            self;
        let mut endpoint = endpoint.hold();
        while let Some(event) = endpoint.next_event(*channel) {
            match event {
                // There is one for each fragment that a root sends.
                Event::RingSent { slot, delivered: None } => memory.ring.end(slot),
                event => return Ok(Seen::Event(event)),
            }
        }
        if let Some(report) = reported.pop_front() {
            return Ok(Seen::Report(report));
        }
        let any = endpoint.pump(*channel, now)?;
        // What a rank wrote before it went is seen before the connection's end.
        if *expects_reports || endpoint.has_broken(*channel) {
            peers.look_at(&endpoint.connections);
            look_for_reports(peers, memory, reported);
        }
        match any || !reported.is_empty() {
            true => Ok(Seen::More),
            false => Ok(Seen::Nothing(endpoint.next_broken(*channel))),
        }
    }
}

/// Nobody writes without a connection, which exists here before it does there.
fn look_for_reports(peers: &Peers, memory: &mut Memory, reported: &mut VecDeque<Arrival>) {
    for from in peers.connected().iter().copied() {
        memory.reports.look(from, |counter, value| {
            reported.push_back(Arrival::Reported { from, counter, value });
        });
    }
}

/// What a look at the endpoint has found.
enum Seen {
    /// An event.
    Event(Event),
    /// A number that another rank has written here.
    Report(Arrival),
    /// Something came, for this communicator or another.
    More,
    /// Nothing came; a connection that broke before, if one did.
    Nothing(Option<Arrival>),
}

impl Room for RdmaTransport {
    fn multicast_room(&self) -> usize {
        match self.group {
            // They go to memory, which takes any number; yet the driver is to look around now and then.
            None if self.is_one_node => self.settings.depths.send as usize,
            None => 0,
            Some(_) => self.endpoint.see().datagrams.room(),
        }
    }

    fn reliable_room(&self, _to: Rank) -> usize {
        let endpoint = self.endpoint.see();
        let room = endpoint.connections.room();
        // Nobody takes what another one needs: where some receiver is busy, this is what remains.
        match endpoint.channels.open_count() {
            0 | 1 => room,
            _ => room.saturating_sub(endpoint.connections.sends_of(self.channel)),
        }
    }

    fn report_room(&self, to: Rank) -> usize {
        self.memory.reports.room(to)
    }

    fn fetch_room(&self, _from: Rank) -> usize {
        self.endpoint.see().connections.fetch_room()
    }

    fn is_idle(&self, slot: u32) -> bool {
        self.memory.ring.is_idle(slot)
    }
}

impl Liveness for RdmaTransport {
    fn connect(&mut self, peer: Rank) -> Result<(), TransportError> {
        self.open(self.now, peer)
    }

    fn is_connected(&self, peer: Rank) -> bool {
        self.endpoint.see().connections.is_connected(self.process(peer))
    }

    fn connected(&self) -> Vec<Rank> {
        let endpoint = self.endpoint.see();
        let is_known = |(_, peer): &(Rank, &Peer)| endpoint.connections.exists(peer.process);
        self.peers.iter().filter(is_known).map(|(rank, _)| rank).collect()
    }

    fn probe(&mut self, peer: Rank) -> Result<(), TransportError> {
        let process = self.process(peer);
        let mut endpoint = self.endpoint.hold();
        endpoint.open(self.now, process)?;
        endpoint.connections.probe(process, Some(self.channel)).map_err(failed)
    }

    fn disconnect(&mut self, now: Instant, peer: Rank) {
        self.peers.depart(peer);
        let process = self.process(peer);
        self.endpoint.hold().part(now, self.channel, process);
    }
}

impl Transport for RdmaTransport {
    fn multicast(
        &mut self,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Result<Transfer, TransportError> {
        let mut endpoint = self.endpoint.hold();
        if self.is_seated {
            let payload = self.loans.bytes_of(&payload)?;
            if endpoint.publish(self.channel, header, payload) {
                return Ok(Transfer::Copied);
            }
        }
        let Some(group) = self.group else { return Err(no_slot("a datagram")) };
        let payload = self.loans.source(payload)?;
        let transfer = payload.transfer();
        match endpoint.datagrams.multicast(group, header, payload).map_err(failed)? {
            // Where another thread has taken the slot, it is as if the datagram were lost.
            false if !endpoint.is_shared => Err(no_slot("a datagram")),
            false => Ok(Transfer::Copied),
            true => Ok(transfer),
        }
    }

    fn reliable(
        &mut self,
        to: Rank,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
        token: Token,
    ) -> Result<Transfer, TransportError> {
        if !self.is_usable(to)? {
            return Ok(Transfer::Copied);
        }
        let (process, channel) = (self.process(to), self.channel);
        let payload = self.loans.source(payload)?;
        let transfer = payload.transfer();
        let sender = Some(Sender { channel, to, token });
        let mut endpoint = self.endpoint.hold();
        match endpoint.connections.send(process, header, payload, sender).map_err(failed)? {
            true => Ok(transfer),
            false => Err(no_slot(&format!("a message to {to}"))),
        }
    }

    fn retain(
        &mut self,
        slot: u32,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Result<(), TransportError> {
        self.memory.ring.retain(slot, header, self.loans.bytes_of(&payload)?);
        Ok(())
    }

    fn multicast_retained(&mut self, slot: u32) -> Result<(), TransportError> {
        self.multicast_slot(slot)
    }

    fn reliable_retained(
        &mut self,
        to: Rank,
        slot: u32,
        token: Token,
    ) -> Result<(), TransportError> {
        self.send_slot(to, slot, token)
    }

    fn report(&mut self, to: Rank, counter: Counter, value: u64) -> Result<(), TransportError> {
        self.write_report(to, counter, value)
    }

    fn fetch(&mut self, from: Rank, slot: u32, token: Token) -> Result<(), TransportError> {
        self.read_slot(from, slot, token)
    }

    fn admit_eager(&mut self, messages: u64) {
        self.endpoint.hold().reserved.open(self.channel, messages);
    }

    fn reserve(&mut self, messages: u64, next: OpId) -> bool {
        if messages == 0 && !self.is_reserved {
            return true;
        }
        let may_leave = self.endpoint.hold().reserved.reserve(self.channel, messages, next);
        if may_leave {
            self.is_reserved = messages > 0;
        }
        may_leave
    }

    fn notice_room(&self) -> usize {
        self.endpoint.see().connections.free_slots()
    }

    fn submit(&mut self) -> Result<(), TransportError> {
        self.endpoint.hold().submit()
    }

    fn poll(&mut self, now: Instant) -> Result<Option<Arrival>, TransportError> {
        self.now = now;
        let mut looks = 0;
        while looks < LOOKS_PER_POLL {
            match self.look(now)? {
                Seen::Event(event) => {
                    if let Some(arrival) = self.absorb(event)? {
                        return Ok(Some(arrival));
                    }
                }
                Seen::Report(arrival) => return Ok(Some(arrival)),
                Seen::More => looks += 1,
                Seen::Nothing(broken) => return Ok(broken),
            }
        }
        Ok(None)
    }

    fn is_quiet(&mut self, now: Instant) -> bool {
        self.now = now;
        let RdmaTransport { endpoint, channel, peers, memory, reported, expects_reports, .. } =
            self;
        if !reported.is_empty() || !endpoint.look().is_quiet(*channel, now) {
            return false;
        }
        if *expects_reports {
            look_for_reports(peers, memory, reported);
        }
        reported.is_empty()
    }

    fn expect_reports(&mut self, are_expected: bool) {
        self.expects_reports = are_expected;
    }

    fn packet(&self, buffer: &Buffer, key: Key) -> Result<Packet<'_>, Malformed> {
        let packet = self.rx_table.get(buffer).ok_or(Malformed::Foreign)?;
        let header = packet.header.filter(|header| header.unchecked().key == key);
        let header = header.ok_or(Malformed::Foreign)?;
        let Some(checks) = packet.checks else {
            return header.known_intact(self.payload(buffer));
        };
        let head = packet.body.bytes(&self.pools).first_chunk().ok_or(Malformed::Foreign)?;
        match &self.seat.mac {
            None => header.check_parts(head, self.payload(buffer), checks),
            Some(key) => header.authenticate_parts(head, self.payload(buffer), key),
        }
    }

    fn damage(&mut self, buffer: &Buffer, drawn: u32) {
        let RdmaTransport { rx_table, pools, settings, seat, .. } = self;
        let Some(packet) = rx_table.get_mut(buffer) else { return };
        let checks = settings.checks();
        // A payload in the message is not behind its header.
        let is_covered = checks == Checks::Whole || seat.mac.is_some();
        let len = match is_covered && packet.in_place.is_none() {
            true => packet.header.map_or(HEADER_LEN, |header| HEADER_LEN + header.payload_len()),
            false => HEADER_LEN,
        };
        packet.body.damage(pools, len, drawn);
        packet.checks = Some(checks);
    }

    fn may_stay(&self, buffer: &Buffer) -> bool {
        let is_copy =
            self.rx_table.get(buffer).is_some_and(|packet| matches!(packet.body, Body::Copy(_)));
        is_copy || self.endpoint.see().can_spare_receives()
    }

    fn recycle(&mut self, buffer: Buffer) -> Result<(), TransportError> {
        match self.rx_table.take(buffer) {
            Some(packet) => self.give_back(packet.body),
            None => Ok(()),
        }
    }

    fn lend(&mut self, op: OpId, message: Vec<u8>, purpose: Purpose) -> Option<Vec<u8>> {
        self.lend_vec(op, message, purpose)
    }

    fn take_back(&mut self, op: OpId) -> Option<Vec<u8>> {
        self.take_owned(op).map(Owned::into_vec)
    }

    fn lent(&self, op: OpId, range: Range<usize>) -> Option<&[u8]> {
        self.loans.bytes(op, range)
    }

    fn expose(&mut self, op: OpId) -> Option<Region> {
        self.expose_message(op)
    }

    fn is_exposed(&self, op: OpId) -> bool {
        self.loans.by_op.get(&op).is_some_and(|loan| loan.lease.is_exposed())
    }

    fn can_write(&mut self, op: OpId) -> bool {
        self.loans.by_op.get_mut(&op).is_some_and(Loan::settle)
    }

    fn write(
        &mut self,
        to: Rank,
        header: &[u8; HEADER_LEN],
        note: &[u8],
        part: (OpId, Range<usize>),
        into: Region,
        token: Token,
    ) -> Result<(), TransportError> {
        self.write_part(to, (header, note), part, into, token)
    }

    fn place(
        &mut self,
        op: OpId,
        range: Range<usize>,
        from: Origin<'_>,
    ) -> Result<Option<Transfer>, TransportError> {
        self.place_payload(op, range, from)
    }
}

fn no_slot(what: &str) -> TransportError {
    TransportError::NoRoom(what.to_owned())
}

impl Park for RdmaTransport {
    fn park(&mut self, idle: Duration, at_most: Duration) -> Result<(), TransportError> {
        match self.waiter.step(idle) {
            wait::Step::Spin => std::hint::spin_loop(),
            wait::Step::Yield => self.waiter.yield_core(),
            wait::Step::Nap(time) => std::thread::sleep(time.min(at_most)),
            wait::Step::Block => self.sleep(at_most.min(self.longest_sleep(idle)))?,
        }
        Ok(())
    }

    fn arm(&mut self, idle: Duration, at_most: Duration) -> Result<Duration, TransportError> {
        // Events of waits before this one.
        self.cq.take_events();
        self.arm_queue(at_most.min(self.longest_sleep(idle)))
    }
}

impl RdmaTransport {
    /// The descriptor that tells of completions, once it is [armed](Park::arm), and of what happens to the device or
    /// the group.
    pub fn channel_fd(&self) -> BorrowedFd<'_> {
        self.descriptors.as_fd()
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

    fn longest_sleep(&self, idle: Duration) -> Duration {
        let most = wait::longest_sleep(idle);
        if self.is_seated { most.min(wait::MAX_NODE_SLEEP) } else { most }
    }

    fn sleep(&mut self, at_most: Duration) -> Result<(), TransportError> {
        let at_most = self.arm_queue(at_most)?;
        if at_most.is_zero() {
            return Ok(());
        }
        let waited = self.descriptors.wait(at_most).map_err(|error| TransportError::Wait {
            device: self.endpoint.see().device.name().to_owned(),
            source: Cause::new(error),
        });
        if waited? {
            self.cq.take_events();
        }
        Ok(())
    }

    /// Has the next completion that this rank may wait for told by the channel; how long to wait for it at most, of
    /// `at_most`: zero where there is something to poll already.
    fn arm_queue(&mut self, at_most: Duration) -> Result<Duration, TransportError> {
        let mut endpoint = self.endpoint.hold();
        endpoint.tend(self.now)?;
        let at_most = endpoint.longest_sleep(self.now, at_most);
        endpoint.arm()?;
        // What completed before the queue was armed is told by nobody.
        let is_ready = endpoint.pull(self.channel, self.now)
            || has_news(&endpoint, self.channel)
            || endpoint.node(self.channel).is_some_and(NodeSeat::has_news);
        Ok(if is_ready { Duration::ZERO } else { at_most })
    }
}

impl Drop for RdmaTransport {
    fn drop(&mut self) {
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

fn has_news(endpoint: &Endpoint, channel: ChannelId) -> bool {
    endpoint.channels.get(channel).is_some_and(|channel| channel.inbox.has_news())
}
