//! RC connections, made when a rank is first sent to.

use super::connection::{Connection, Pending};
use super::handshake::{Ends, Handshake, Message, Reaction, Step};
use super::loans::Source;
use super::send_slots::SendSlots;
use super::settings::{RESERVED_SLOTS, Settings};
use super::work::Work;
use crate::protocol::Token;
use crate::rank::Rank;
use crate::time::Instant;
use crate::verbs::{
    CompletionQueue, Endpoint, Lease, PathTo, Patience, Pool, ProtectionDomain, QueuePair, Result,
    Shared, SharedReceiveQueue, Slot, Span,
};
use crate::wire::HEADER_LEN;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// How long this side's adapter may take to answer the last message of a rank that leaves.
const ANSWERED_AFTER: Duration = Duration::from_millis(50);

/// What a new connection is made from.
pub(super) struct Fabric<'a> {
    pub domain: &'a ProtectionDomain,
    pub cq: &'a CompletionQueue,
    pub port: u8,
    pub mtu: usize,
    /// RDMA reads that are served at a time.
    pub reads: u8,
    /// Where fetches go.
    pub fetches: &'a Pool,
    /// What is sent and written from besides the connections' own slots.
    pub lent: [&'a Shared; 2],
}

/// All connections, the queue they receive through and the slots they send from.
#[derive(Debug)]
pub(super) struct Connections {
    by_rank: HashMap<Rank, Connection>,
    /// All ranks with a connection, open or not.
    ranks: Vec<Rank>,
    /// Ranks whose handshake is under way.
    opening: Vec<Rank>,
    /// Ranks that have left, and when that was heard.
    departed: VecDeque<(Rank, Instant)>,
    srq: SharedReceiveQueue,
    receives: Pool,
    sends: SendSlots,
    /// Received and not recycled, by index.
    received: Vec<Option<Slot>>,
    /// Sends from the ring under way at most on a connection.
    ring_sends: usize,
    requests: u32,
    patience: Patience,
}

impl Connections {
    /// Makes the shared queue and posts all its receives.
    pub fn new(
        domain: &ProtectionDomain,
        packet_len: usize,
        size: u32,
        settings: &Settings,
    ) -> Result<Self> {
        let (receives, to_post) = Pool::new(domain, settings.reliable_receive_depth, packet_len)?;
        let sends = SendSlots::new(domain, settings.reliable_send_depth, packet_len)?;
        let mut srq = SharedReceiveQueue::new(domain, &receives, settings.reliable_receive_depth)?;
        for slot in to_post {
            let id = Work::Receive(slot.index()).id();
            srq.post(slot, id)?;
        }
        Ok(Connections {
            by_rank: HashMap::new(),
            ranks: Vec::new(),
            opening: Vec::new(),
            departed: VecDeque::new(),
            srq,
            receives,
            sends,
            received: (0..settings.reliable_receive_depth).map(|_| None).collect(),
            ring_sends: settings.ring_sends(size) as usize,
            requests: settings.connection_requests(size),
            patience: Patience::at_least(settings.ack_timeout),
        })
    }

    /// Fragments that can be sent now.
    pub fn room(&self) -> usize {
        self.free_slots().saturating_sub(RESERVED_SLOTS as usize)
    }

    /// Messages of any kind that can be sent now.
    pub fn free_slots(&self) -> usize {
        self.sends.free()
    }

    /// All ranks with a connection, open or not.
    pub fn ranks(&self) -> &[Rank] {
        &self.ranks
    }

    pub fn is_connected(&self, rank: Rank) -> bool {
        self.by_rank.get(&rank).is_some_and(Connection::is_ready)
    }

    pub fn is_broken(&self, rank: Rank) -> bool {
        self.by_rank.get(&rank).is_some_and(|connection| connection.is_broken)
    }

    pub fn are_opening(&self) -> bool {
        !self.opening.is_empty()
    }

    /// Begins a connection, unless there is one.
    pub fn open(&mut self, now: Instant, rank: Rank, fabric: &Fabric<'_>) -> Result<()> {
        if self.by_rank.contains_key(&rank) {
            return Ok(());
        }
        let make = |depth| {
            let Fabric { domain, cq, port, fetches, lent, .. } = fabric;
            let pools = (self.sends.pool(), *fetches);
            let mut qp = QueuePair::connection(domain, cq, pools, depth, &self.srq)?;
            lent.iter().for_each(|memory| qp.lend(memory));
            qp.bind(*port)?;
            let end = Endpoint { qpn: qp.number(), psn: random_psn() };
            Ok((qp, end))
        };
        let (messages, messages_end) = make(self.requests)?;
        let (probes, probes_end) = make(1)?;
        let own = Ends { messages: messages_end, probes: probes_end };
        let connection =
            Connection::new(messages, probes, own, Handshake::new(now), self.ring_sends);
        self.by_rank.insert(rank, connection);
        self.ranks.push(rank);
        self.opening.push(rank);
        Ok(())
    }

    /// Handshake messages that are due.
    pub fn poll_handshakes(&mut self, now: Instant) -> Vec<(Rank, Message)> {
        let mut due = Vec::new();
        self.opening.retain(|rank| {
            let Some(connection) = self.by_rank.get_mut(rank) else { return false };
            if let Some(step) = connection.handshake.poll(now) {
                due.push((*rank, Message { step, ends: connection.own }));
            }
            !connection.is_ready()
        });
        due
    }

    /// A rank that is to hear over its connection that this side is done with the handshake.
    pub fn to_confirm(&self) -> Option<(Rank, Message)> {
        self.opening.iter().find_map(|rank| {
            let connection = self.by_rank.get(rank).filter(|connection| connection.owes_confirm)?;
            Some((*rank, Message { step: Step::Confirm, ends: connection.own }))
        })
    }

    /// It was sent.
    pub fn confirmed(&mut self, rank: Rank) {
        if let Some(connection) = self.by_rank.get_mut(&rank) {
            connection.owes_confirm = false;
        }
    }

    /// Takes a handshake message; the answer to send, if there is one.
    pub fn handle_handshake(
        &mut self,
        now: Instant,
        rank: Rank,
        message: &Message,
        path: &PathTo,
        fabric: &Fabric<'_>,
    ) -> Result<Option<Message>> {
        if message.step == Step::Confirm && !self.by_rank.contains_key(&rank) {
            return Ok(None);
        }
        self.open(now, rank, fabric)?;
        let patience = self.patience;
        let Some(connection) = self.by_rank.get_mut(&rank) else { return Ok(None) };
        let was_connected = connection.handshake.is_connected();
        let Reaction { connect, answer } = connection.handshake.handle(now, message);
        connection.owes_confirm |= !was_connected && answer == Some(Step::Confirm);
        if let Some(other) = connect {
            let Ends { messages, probes } = connection.own;
            let most = patience.with_most_retries();
            let Fabric { mtu, reads, .. } = *fabric;
            connection.messages.connect(path, mtu, messages.psn, other.messages, most, reads)?;
            connection.probes.connect(path, mtu, probes.psn, other.probes, patience, reads)?;
        }
        connection.start(rank)?;
        Ok(answer.map(|step| Message { step, ends: connection.own }))
    }

    /// A message came over the connection with `rank`.
    pub fn heard(&mut self, rank: Rank) -> Result<()> {
        match self.by_rank.get_mut(&rank) {
            Some(connection) => {
                connection.handshake.heard();
                connection.start(rank)
            }
            None => Ok(()),
        }
    }

    /// Sends to a rank whose connection was opened; false where there is no slot. Nobody is told of the
    /// delivery without a token.
    pub fn send(
        &mut self,
        rank: Rank,
        header: &[u8; HEADER_LEN],
        payload: Source<'_>,
        token: Option<Token>,
    ) -> Result<bool> {
        let Some(connection) = self.by_rank.get_mut(&rank) else { return Ok(false) };
        if connection.is_broken {
            return Ok(true);
        }
        let message = self.sends.fill(rank, header, payload, token);
        let Some(message) = message else { return Ok(false) };
        connection.queue.push_back(message);
        connection.start(rank)?;
        Ok(true)
    }

    /// The ranks that a message's memory is being sent to.
    pub fn receivers_of(&self, lease: &Arc<Lease>) -> Vec<Rank> {
        self.sends.receivers_of(lease)
    }

    /// Does something over the connection with a rank, which was opened and is not broken.
    pub fn submit(&mut self, rank: Rank, pending: Pending) -> Result<()> {
        let Some(connection) = self.by_rank.get_mut(&rank) else { return Ok(()) };
        connection.queue.push_back(pending);
        connection.start(rank)
    }

    /// Sends from the ring over the connection with a rank, as [`submit`](Self::submit).
    pub fn send_from_ring(
        &mut self,
        rank: Rank,
        slot: u32,
        span: Span,
        token: Token,
    ) -> Result<()> {
        if let Some(connection) = self.by_rank.get_mut(&rank) {
            connection.ring_tokens.push_back(token);
        }
        self.submit(rank, Pending::Ring(slot, span))
    }

    /// The first send from the ring to a rank has ended; what its sender wanted to be told.
    pub fn ring_sent(&mut self, rank: Rank) -> Result<Option<Token>> {
        let Some(connection) = self.by_rank.get_mut(&rank) else { return Ok(None) };
        connection.ring_sends -= 1;
        let token = connection.ring_tokens.pop_front();
        if !connection.is_broken {
            connection.start(rank)?;
        }
        Ok(token)
    }

    /// Asks the adapter of a rank whose connection was opened.
    pub fn probe(&mut self, rank: Rank) -> Result<()> {
        match self.by_rank.get_mut(&rank) {
            Some(connection) if !connection.is_probing && !connection.is_broken => {
                connection.to_probe = true;
                connection.start(rank)
            }
            _ => Ok(()),
        }
    }

    /// A send has ended; what its sender wanted to be told.
    ///
    /// # Safety
    /// A completion of the slot's send was polled, and this is the first time that it is told.
    pub unsafe fn sent(&mut self, slot: u32) -> Option<Token> {
        // SAFETY: promised by the caller.
        unsafe { self.sends.sent(slot) }
    }

    /// A receive has ended.
    ///
    /// # Safety
    /// A completion of the slot's receive was polled.
    pub unsafe fn arrived(&mut self, slot: u32) {
        // SAFETY: promised by the caller.
        self.received[slot as usize] = Some(unsafe { self.receives.reclaim(slot) });
    }

    /// A probe has ended.
    pub fn probed(&mut self, rank: Rank) {
        if let Some(connection) = self.by_rank.get_mut(&rank) {
            connection.is_probing = false;
        }
    }

    /// A rank has left.
    pub fn depart(&mut self, now: Instant, rank: Rank) {
        self.departed.push_back((rank, now));
    }

    /// A rank that left long enough ago for its adapter to have heard that its farewell has come.
    pub fn take_departed(&mut self, now: Instant) -> Option<Rank> {
        let is_due = |(_, at): &(Rank, Instant)| now - *at >= ANSWERED_AFTER;
        self.departed
            .front()
            .is_some_and(is_due)
            .then(|| self.departed.pop_front())?
            .map(|one| one.0)
    }

    /// The connection is of no more use: what has waited for it, if that is news.
    pub fn broke(&mut self, rank: Rank) -> Option<Vec<Pending>> {
        let connection = self.by_rank.get_mut(&rank)?;
        if std::mem::replace(&mut connection.is_broken, true) {
            return None;
        }
        // Where only the probes' QP has failed, the other may try for ever, and hold its memory.
        if let Err(error) = connection.messages.give_up() {
            log::debug!("a broken connection with {rank} goes on: {error}");
        }
        self.opening.retain(|other| *other != rank);
        let mut others = Vec::new();
        for pending in connection.queue.drain(..) {
            match pending {
                Pending::Message(slot, ..) => {
                    self.sends.give_back(slot);
                    continue;
                }
                Pending::Ring(..) => {
                    // What waits is the last in the order of the tokens.
                    connection.ring_tokens.pop_back();
                }
                Pending::Report(..) | Pending::Fetch(..) => {}
            }
            others.push(pending);
        }
        Some(others)
    }

    /// A received message of `len` bytes.
    pub fn bytes(&self, slot: u32, len: usize) -> &[u8] {
        let bytes = self.received[slot as usize].as_ref().map(|slot| self.receives.bytes(slot));
        bytes.and_then(|bytes| bytes.get(..len)).unwrap_or_default()
    }

    /// Posts a receive again.
    pub fn recycle(&mut self, slot: u32) -> Result<()> {
        match self.received[slot as usize].take() {
            Some(slot) => {
                let id = Work::Receive(slot.index()).id();
                self.srq.post(slot, id)
            }
            None => Ok(()),
        }
    }
}

/// A packet sequence number that packets of a former connection are unlikely to have.
fn random_psn() -> u32 {
    getrandom::u32().unwrap_or(std::process::id()) & 0xff_ffff
}
