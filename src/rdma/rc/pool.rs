//! RC connections, made when a process is first sent to.

use super::connection::{Askers, Connection, Pending, Request};
use super::handshake::{Handshake, Reaction};
use super::send_slots::{SendSlots, Sender};
use crate::rdma::ids::{ChannelId, ProcessId};
use crate::rdma::memory::Source;
use crate::rdma::settings::{REPORTS_AT_ONCE, RESERVED_SLOTS, Settings};
use crate::rdma::work::{MOST_PROCESSES, Work};
use std::collections::HashMap;
use std::sync::Arc;
use verbcast_core::protocol::Token;
use verbcast_core::rank::Rank;
use verbcast_core::time::Instant;
use verbcast_core::wire::handshake::{End, Ends, Message, Step};
use verbcast_core::wire::{HEADER_LEN, ProcessAddress};
use verbcast_verbs::{
    CompletionQueue, Lease, PathTo, Patience, Pool, ProtectionDomain, QueuePair, Result,
    SharedReceiveQueue, Slot, Span,
};

/// What a new connection is made from.
pub struct Fabric<'a> {
    pub domain: &'a ProtectionDomain,
    pub cq: &'a CompletionQueue,
    pub port: u8,
    /// This process's own place.
    pub own: &'a ProcessAddress,
    /// Where fetches go.
    pub fetches: &'a Pool,
}

/// Another process, and the connection with it.
#[derive(Debug)]
struct Process {
    address: ProcessAddress,
    connection: Option<Connection>,
}

/// All connections, the queue they receive through and the slots they send from.
#[derive(Debug)]
pub struct Connections {
    processes: Vec<Process>,
    by_incarnation: HashMap<u64, ProcessId>,
    /// Connections, open or not.
    count: usize,
    /// Processes whose handshake is under way.
    opening: Vec<ProcessId>,
    srq: SharedReceiveQueue,
    receives: Pool,
    sends: SendSlots,
    /// Sends from rings under way at most on a connection.
    ring_sends: usize,
    requests: u32,
    patience: Patience,
    /// Processes with requests that wait to be handed to the device.
    waiting: Vec<ProcessId>,
}

impl Connections {
    /// Makes the shared queue and posts all its receives.
    pub fn new(
        domain: &ProtectionDomain,
        packet_len: usize,
        size: u32,
        settings: &Settings,
    ) -> Result<Self> {
        let (receives, to_post) = Pool::new(domain, settings.depths.reliable_receive, packet_len)?;
        let sends = SendSlots::new(domain, settings.depths.reliable_send, packet_len)?;
        let mut srq = SharedReceiveQueue::new(domain, &receives, settings.depths.reliable_receive)?;
        for slot in to_post {
            let id = Work::Receive(slot.index()).id();
            srq.post(slot, id)?;
        }
        srq.submit()?;
        Ok(Connections {
            processes: Vec::new(),
            by_incarnation: HashMap::new(),
            count: 0,
            opening: Vec::new(),
            srq,
            receives,
            sends,
            ring_sends: settings.ring_sends(size) as usize,
            requests: settings.connection_requests(size),
            patience: Patience::at_least(settings.ack_timeout),
            waiting: Vec::new(),
        })
    }

    /// The memory of received messages.
    pub fn pool(&self) -> &Pool {
        &self.receives
    }

    /// The number of a process; `None` where there are too many.
    pub fn meet(&mut self, address: ProcessAddress) -> Option<ProcessId> {
        if let Some(known) = self.of_incarnation(address.incarnation) {
            return Some(known);
        }
        let id = u32::try_from(self.processes.len()).ok().filter(|id| *id < MOST_PROCESSES)?;
        self.processes.push(Process { address, connection: None });
        self.by_incarnation.insert(address.incarnation, ProcessId(id));
        Some(ProcessId(id))
    }

    /// The process of an [incarnation](ProcessAddress::incarnation).
    pub fn of_incarnation(&self, incarnation: u64) -> Option<ProcessId> {
        self.by_incarnation.get(&incarnation).copied()
    }

    pub fn address(&self, process: ProcessId) -> ProcessAddress {
        self.processes[process.0 as usize].address
    }

    fn get(&self, process: ProcessId) -> Option<&Connection> {
        self.processes[process.0 as usize].connection.as_ref()
    }

    fn get_mut(&mut self, process: ProcessId) -> Option<&mut Connection> {
        self.processes[process.0 as usize].connection.as_mut()
    }

    /// Fragments that can be sent now.
    pub fn room(&self) -> usize {
        self.free_slots().saturating_sub(RESERVED_SLOTS as usize)
    }

    /// Messages of any kind that can be sent now.
    pub fn free_slots(&self) -> usize {
        self.sends.free()
    }

    /// The number of connections, open or not.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether there is a connection with a process, open or not.
    pub fn exists(&self, process: ProcessId) -> bool {
        self.get(process).is_some()
    }

    pub fn is_connected(&self, process: ProcessId) -> bool {
        self.get(process).is_some_and(Connection::is_ready)
    }

    pub fn is_broken(&self, process: ProcessId) -> bool {
        self.get(process).is_some_and(|connection| connection.is_broken)
    }

    pub fn are_opening(&self) -> bool {
        !self.opening.is_empty()
    }

    /// Begins a connection, unless there is one.
    pub fn open(&mut self, now: Instant, process: ProcessId, fabric: &Fabric<'_>) -> Result<()> {
        if self.exists(process) {
            return Ok(());
        }
        let make = |depth| {
            let Fabric { domain, cq, port, fetches, .. } = fabric;
            let pools = (self.sends.pool(), *fetches);
            let mut qp = QueuePair::connection(domain, cq, pools, depth, &self.srq)?;
            qp.bind(*port)?;
            let end = End { qpn: qp.number(), psn: random_psn() };
            Ok((qp, end))
        };
        let (messages, messages_end) = make(self.requests)?;
        let (probes, probes_end) = make(1)?;
        let own = Ends { messages: messages_end, probes: probes_end };
        let most = (self.requests, self.ring_sends, REPORTS_AT_ONCE);
        let connection = Connection::new((messages, probes), own, Handshake::new(now), most);
        self.processes[process.0 as usize].connection = Some(connection);
        self.count += 1;
        self.opening.push(process);
        Ok(())
    }

    /// Handshake messages that are due, from the process of the incarnation `from`.
    pub fn poll_handshakes(&mut self, now: Instant, from: u64) -> Vec<(ProcessId, Message)> {
        let mut due = Vec::new();
        let Connections { opening, processes, .. } = self;
        opening.retain(|process| {
            let connection = &mut processes[process.0 as usize].connection;
            let Some(connection) = connection else { return false };
            if let Some(step) = connection.handshake.poll(now) {
                due.push((*process, Message { from, step, ends: connection.own }));
            }
            !connection.is_ready()
        });
        due
    }

    /// A process that is to hear over its connection that this side, of the incarnation `from`, is done with the
    /// handshake.
    pub fn to_confirm(&self, from: u64) -> Option<(ProcessId, Message)> {
        self.opening.iter().find_map(|process| {
            let connection = self.get(*process).filter(|connection| connection.owes_confirm)?;
            Some((*process, Message { from, step: Step::Confirm, ends: connection.own }))
        })
    }

    /// It was sent.
    pub fn confirmed(&mut self, process: ProcessId) {
        if let Some(connection) = self.get_mut(process) {
            connection.owes_confirm = false;
        }
    }

    /// Takes a handshake message; the answer to send, if there is one.
    pub fn handle_handshake(
        &mut self,
        now: Instant,
        process: ProcessId,
        message: &Message,
        path: &PathTo,
        fabric: &Fabric<'_>,
    ) -> Result<Option<Message>> {
        if message.step == Step::Confirm && !self.exists(process) {
            return Ok(None);
        }
        self.open(now, process, fabric)?;
        let patience = self.patience;
        let Process { address, connection } = &mut self.processes[process.0 as usize];
        let Some(connection) = connection else { return Ok(None) };
        let was_connected = connection.handshake.is_connected();
        let Reaction { connect, answer } = connection.handshake.handle(now, message);
        connection.owes_confirm |= !was_connected && answer == Some(Step::Confirm);
        if let Some(other) = connect {
            let Ends { messages, probes } = connection.own;
            let most = patience.with_most_retries();
            let mtu = fabric.own.packet_len.min(address.packet_len);
            let reads = fabric.own.reads.min(address.reads);
            connection.messages.connect(
                path,
                mtu,
                messages.psn,
                qp_end(other.messages),
                most,
                reads,
            )?;
            connection.probes.connect(
                path,
                mtu,
                probes.psn,
                qp_end(other.probes),
                patience,
                reads,
            )?;
        }
        let ends = connection.own;
        self.start(process)?;
        let from = fabric.own.incarnation;
        Ok(answer.map(|step| Message { from, step, ends }))
    }

    /// A message came over the connection with `process`.
    pub fn heard(&mut self, process: ProcessId) -> Result<()> {
        if let Some(connection) = self.get_mut(process) {
            connection.handshake.heard();
        }
        self.start(process)
    }

    /// Begins what waits for a connection, as far as there is room.
    pub fn start(&mut self, process: ProcessId) -> Result<()> {
        let Some(connection) = self.get_mut(process) else { return Ok(()) };
        connection.start(process)?;
        if connection.messages.has_waiting() && !self.waiting.contains(&process) {
            self.waiting.push(process);
        }
        Ok(())
    }

    /// Hands to the device what waits to be sent, and the receives that wait to be posted.
    pub fn submit(&mut self) -> Result<()> {
        // In the order asked for: a tree's root sends to its largest subtree first.
        for at in 0..self.waiting.len() {
            let process = self.waiting[at];
            self.get_mut(process).map_or(Ok(()), |connection| connection.messages.submit())?;
        }
        self.waiting.clear();
        self.srq.submit()
    }

    /// Sends to a process whose connection was opened; false where there is no slot. Nobody is told of the
    /// delivery without a sender.
    pub fn send(
        &mut self,
        process: ProcessId,
        header: &[u8; HEADER_LEN],
        payload: Source<'_>,
        sender: Option<Sender>,
    ) -> Result<bool> {
        let connection = &mut self.processes[process.0 as usize].connection;
        let Some(connection) = connection else { return Ok(false) };
        if connection.is_broken {
            return Ok(true);
        }
        let message = self.sends.fill(process, header, payload, sender);
        let Some(message) = message else { return Ok(false) };
        connection.queue.push_back(message);
        self.start(process)?;
        Ok(true)
    }

    /// The processes that a message's memory is being sent to.
    pub fn receivers_of(&self, lease: &Arc<Lease>) -> Vec<ProcessId> {
        self.sends.receivers_of(lease)
    }

    /// Does something over the connection with a process, which was opened and is not broken.
    pub fn add(&mut self, process: ProcessId, pending: Pending) -> Result<()> {
        let Some(connection) = self.get_mut(process) else { return Ok(()) };
        connection.queue.push_back(pending);
        self.start(process)
    }

    /// Sends from a channel's ring, as [`add`](Self::add).
    pub fn send_from_ring(
        &mut self,
        process: ProcessId,
        Sender { channel, to, token }: Sender,
        slot: u32,
        span: Span,
    ) -> Result<()> {
        if let Some(connection) = self.get_mut(process) {
            connection.ring_tokens.push_back((to, token));
        }
        self.add(process, Pending::Ring(channel, slot, span))
    }

    /// The first request to a process that has ended, up to the one of a number, and whether it is that one.
    pub fn ended(&mut self, process: ProcessId, number: u32) -> Option<(Request, bool)> {
        self.get_mut(process)?.ended(number)
    }

    /// A send from a ring to a process has ended; to whom it was, and what its sender wanted to be told.
    pub fn ring_sent(&mut self, process: ProcessId) -> Option<(Rank, Token)> {
        self.get_mut(process)?.ring_tokens.pop_front()
    }

    /// Asks the adapter of a process whose connection was opened, for a channel or nobody.
    pub fn probe(&mut self, process: ProcessId, asker: Option<ChannelId>) -> Result<()> {
        let Some(connection) = self.get_mut(process) else { return Ok(()) };
        if connection.is_broken {
            return Ok(());
        }
        if let Some(asker) = asker
            && !connection.askers.contains(&asker)
        {
            connection.askers.push(asker);
        }
        connection.to_probe = !connection.is_probing;
        self.start(process)
    }

    /// Whether nothing is under way to a process, nor waits for its connection.
    pub fn is_idle(&self, process: ProcessId) -> bool {
        self.get(process).is_none_or(Connection::is_idle)
    }

    /// Slots that a channel sends from.
    pub fn sends_of(&self, channel: ChannelId) -> usize {
        self.sends.of(channel)
    }

    /// Completions outstanding at most with so many connections.
    pub fn completions(&self, connections: u32, settings: &Settings) -> u32 {
        settings.completions_of(connections, self.ring_sends as u32)
    }

    /// A send has ended; who sent.
    ///
    /// # Safety
    /// A completion of the slot's send was polled, and this is the first time that it is told.
    pub unsafe fn sent(&mut self, slot: u32) -> Option<Sender> {
        // SAFETY: promised by the caller.
        unsafe { self.sends.sent(slot) }
    }

    /// A receive has ended.
    ///
    /// # Safety
    /// A completion of the slot's receive was polled, and this is the first time that it is told.
    pub unsafe fn arrived(&mut self, slot: u32) -> Slot {
        // SAFETY: promised by the caller.
        unsafe { self.receives.reclaim(slot) }
    }

    /// A probe has ended; who wants to know.
    pub fn probed(&mut self, process: ProcessId) -> Askers {
        let Some(connection) = self.get_mut(process) else { return Askers::new() };
        connection.is_probing = false;
        std::mem::take(&mut connection.askers)
    }

    /// The connection is of no more use: what has waited for it, if that is news.
    pub fn broke(&mut self, process: ProcessId) -> Option<Vec<Pending>> {
        let connection = self.processes[process.0 as usize].connection.as_mut()?;
        if std::mem::replace(&mut connection.is_broken, true) {
            return None;
        }
        // Where only the probes' QP has failed, the other may try for ever, and hold its memory.
        if let Err(error) = connection.messages.give_up() {
            tracing::debug!("a broken connection goes on: {error}");
        }
        self.opening.retain(|other| *other != process);
        Some(self.drain(process))
    }

    /// Gives up what waits for a connection; what of it is not a message.
    pub fn drain(&mut self, process: ProcessId) -> Vec<Pending> {
        let mut others = Vec::new();
        let connection = &mut self.processes[process.0 as usize].connection;
        let Some(connection) = connection else { return others };
        for pending in connection.queue.drain(..) {
            match pending {
                Pending::Message(slot, ..) | Pending::Last(slot, _) => {
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
        others
    }

    /// The bytes of a received message of `len` bytes.
    pub fn bytes<'a>(&'a self, slot: &'a Slot, len: usize) -> &'a [u8] {
        self.receives.bytes(slot).get(..len).unwrap_or_default()
    }

    /// Posts a receive again.
    pub fn recycle(&mut self, slot: Slot) -> Result<()> {
        let id = Work::Receive(slot.index()).id();
        self.srq.post(slot, id)
    }
}

/// A packet sequence number that packets of a former connection are unlikely to have.
fn random_psn() -> u32 {
    getrandom::u32().unwrap_or(std::process::id()) & 0xff_ffff
}

fn qp_end(End { qpn, psn }: End) -> verbcast_verbs::End {
    verbcast_verbs::End { qpn, psn }
}
