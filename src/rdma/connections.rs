//! RC connections, made when a rank is first sent to.
//!
//! A connection is two QPs. Messages go over one, with as many retries as the device knows: its
//! receiver may be busy (RNR), and on a wire that reorders, a go-back-N adapter may need many. Probes
//! of liveness go over the other, one at a time and with few retries, so that only an adapter that
//! answers nothing counts as gone.

use super::datagrams::fill;
use super::handshake::{Ends, Handshake, Message, Reaction, Step};
use super::settings::{RESERVED_SLOTS, Settings};
use super::work::Work;
use crate::rank::Rank;
use crate::time::Instant;
use crate::transport::Token;
use crate::verbs::{
    CompletionQueue, Endpoint, PathTo, Patience, Pool, ProtectionDomain, QueuePair, Result,
    SharedReceiveQueue, Slot,
};
use crate::wire::HEADER_LEN;
use std::collections::{HashMap, VecDeque};

/// What a new connection is made from.
pub(super) struct Fabric<'a> {
    pub domain: &'a ProtectionDomain,
    pub cq: &'a CompletionQueue,
    pub port: u8,
    pub mtu: usize,
}

#[derive(Debug)]
struct Connection {
    messages: QueuePair,
    probes: QueuePair,
    own: Ends,
    handshake: Handshake,
    /// Messages that wait for the handshake, with their lengths.
    queue: VecDeque<(Slot, usize)>,
    /// A probe waits for the handshake.
    to_probe: bool,
    is_probing: bool,
    is_broken: bool,
}

/// All connections, the queue they receive through and the slots they send from.
#[derive(Debug)]
pub(super) struct Connections {
    by_rank: HashMap<Rank, Connection>,
    /// Ranks whose handshake is under way.
    opening: Vec<Rank>,
    srq: SharedReceiveQueue,
    receives: Pool,
    sends: Pool,
    free: Vec<Slot>,
    /// Received and not recycled, by index.
    received: Vec<Option<Slot>>,
    /// By slot: whom its message is for, and what the sender wants to be told.
    tokens: Vec<Option<Token>>,
    send_depth: u32,
    patience: Patience,
}

impl Connections {
    /// Makes the shared queue and posts all its receives.
    pub fn new(domain: &ProtectionDomain, packet_len: usize, settings: &Settings) -> Result<Self> {
        let (receives, to_post) = Pool::new(domain, settings.reliable_receive_depth, packet_len)?;
        let (sends, free) = Pool::new(domain, settings.reliable_send_depth, packet_len)?;
        let mut srq = SharedReceiveQueue::new(domain, &receives, settings.reliable_receive_depth)?;
        for slot in to_post {
            let id = Work::Receive(slot.index()).id();
            srq.post(slot, id)?;
        }
        Ok(Connections {
            by_rank: HashMap::new(),
            opening: Vec::new(),
            srq,
            receives,
            sends,
            free,
            received: (0..settings.reliable_receive_depth).map(|_| None).collect(),
            tokens: vec![None; settings.reliable_send_depth as usize],
            send_depth: settings.reliable_send_depth,
            patience: Patience::at_least(settings.ack_timeout),
        })
    }

    /// Fragments that can be sent now.
    pub fn room(&self) -> usize {
        self.free.len().saturating_sub(RESERVED_SLOTS as usize)
    }

    pub fn is_connected(&self, rank: Rank) -> bool {
        self.by_rank.get(&rank).is_some_and(|connection| connection.handshake.is_connected())
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
            let Fabric { domain, cq, port, .. } = fabric;
            let mut qp = QueuePair::connection(domain, cq, &self.sends, depth, &self.srq)?;
            qp.bind(*port)?;
            let end = Endpoint { qpn: qp.number(), psn: random_psn() };
            Ok((qp, end))
        };
        let (messages, messages_end) = make(self.send_depth)?;
        let (probes, probes_end) = make(1)?;
        let connection = Connection {
            messages,
            probes,
            own: Ends { messages: messages_end, probes: probes_end },
            handshake: Handshake::new(now),
            queue: VecDeque::new(),
            to_probe: false,
            is_probing: false,
            is_broken: false,
        };
        self.by_rank.insert(rank, connection);
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
            !connection.handshake.is_connected()
        });
        due
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
        let Reaction { connect, answer } = connection.handshake.handle(now, message);
        if let Some(other) = connect {
            let Ends { messages, probes } = connection.own;
            let most = patience.with_most_retries();
            connection.messages.connect(path, fabric.mtu, messages.psn, other.messages, most)?;
            connection.probes.connect(path, fabric.mtu, probes.psn, other.probes, patience)?;
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

    /// Sends to a rank whose connection was opened; false where there is no slot.
    pub fn send(
        &mut self,
        rank: Rank,
        header: &[u8; HEADER_LEN],
        payload: &[u8],
        token: Token,
    ) -> Result<bool> {
        let Some(connection) = self.by_rank.get_mut(&rank) else { return Ok(false) };
        if connection.is_broken {
            return Ok(true);
        }
        let Some(slot) = self.free.pop() else { return Ok(false) };
        self.tokens[slot.index() as usize] = Some(token);
        let (slot, len) = fill(&mut self.sends, slot, header, payload);
        connection.queue.push_back((slot, len));
        connection.start(rank)?;
        Ok(true)
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
    /// A completion of the slot's send was polled.
    pub unsafe fn sent(&mut self, slot: u32) -> Option<Token> {
        let token = self.tokens[slot as usize].take();
        // SAFETY: promised by the caller.
        self.free.push(unsafe { self.sends.reclaim(slot) });
        token
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

    /// The connection is of no more use; whether that is news.
    pub fn broke(&mut self, rank: Rank) -> bool {
        let Some(connection) = self.by_rank.get_mut(&rank) else { return false };
        for (slot, _) in connection.queue.drain(..) {
            self.tokens[slot.index() as usize] = None;
            self.free.push(slot);
        }
        !std::mem::replace(&mut connection.is_broken, true)
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

impl Connection {
    /// Posts what has waited, once the handshake is done.
    fn start(&mut self, rank: Rank) -> Result<()> {
        if !self.handshake.is_connected() {
            return Ok(());
        }
        for (slot, len) in self.queue.drain(..) {
            let id = Work::Send(rank, slot.index()).id();
            self.messages.send(slot, len, id)?;
        }
        if std::mem::take(&mut self.to_probe) {
            self.is_probing = true;
            self.probes.write_nothing(Work::Probe(rank).id())?;
        }
        Ok(())
    }
}

/// A packet sequence number that packets of a former connection are unlikely to have.
fn random_psn() -> u32 {
    getrandom::u32().unwrap_or(std::process::id()) & 0xff_ffff
}
