//! RC connections, made when a process is first sent to.

mod opening;

use super::connection::{Askers, Connection, Pending, Request};
use super::fetches::Fetches;
use super::look::{Look, Place, Wanted};
use super::send_slots::{SendSlots, Sender};
use super::tails::Tails;
use crate::rdma::ids::{ChannelId, ProcessId};
use crate::rdma::memory::{Source, Tail};
use crate::rdma::settings::{RESERVED_SLOTS, Settings};
use crate::rdma::work::{MAX_PROCESSES, Work};
use std::collections::HashMap;
use std::sync::Arc;
use verbcast_core::protocol::Token;
use verbcast_core::rank::Rank;
use verbcast_core::time::Instant;
use verbcast_core::wire::{DatagramQp, HEADER_LEN, ProcessAddress};
use verbcast_verbs::{
    Access, CompletionQueue, Lease, Patience, Pool, PortPartition, ProtectionDomain, Remote,
    Result, Service, Shared, SharedReceiveQueue, Slot, Span,
};

/// This process's side of all connections.
#[derive(Clone, Debug)]
pub struct Local {
    pub domain: ProtectionDomain,
    pub cq: CompletionQueue,
    pub at: PortPartition,
    pub gid_index: u8,
    pub address: ProcessAddress,
}

/// Connections whose completions the queue has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// As large as it is.
    pub now: u32,
    /// As large as the device can make it.
    pub most: u32,
}

/// Another process, and the connection with it.
#[derive(Debug)]
struct Process {
    address: ProcessAddress,
    /// Most bytes of a packet on the way to it, as far as is known: its port's MTU, or less.
    path_mtu: usize,
    connection: Option<Connection>,
}

/// All connections, the queue that they receive through, and the slots that they send from and read into.
#[derive(Debug)]
pub struct ConnectionPool {
    processes: Vec<Process>,
    by_incarnation: HashMap<u64, ProcessId>,
    /// Connections, open or not.
    count: usize,
    /// Processes whose handshake is under way.
    opening: Vec<ProcessId>,
    srq: SharedReceiveQueue,
    receives: Pool,
    sends: SendSlots,
    fetches: Fetches,
    local: Local,
    settings: Settings,
    room: Room,
    /// Sends from rings under way at most on a connection.
    ring_sends: usize,
    requests: u32,
    patience: Patience,
    service: Service,
    /// Processes with requests that wait to be handed to the device.
    waiting: Vec<ProcessId>,
    tails: Tails,
    /// A byte that [probes of tails](Connection::probe_tail) read into, which nobody looks at.
    scratch: Shared,
}

impl ConnectionPool {
    /// Makes the shared queue and posts all its receives. The connections send and receive as
    /// in a communicator of `size` ranks.
    pub fn new(local: Local, (size, room): (u32, Room), settings: &Settings) -> Result<Self> {
        let (domain, packet_len) = (&local.domain, local.address.packet_len);
        let longest = settings.longest_packet(packet_len);
        let (receives, to_post) = Pool::new(domain, settings.depths.reliable_receive, longest)?;
        let sends = SendSlots::new(domain, settings.depths.reliable_send, packet_len)?;
        let fetches = Fetches::new(domain, settings.depths.fetch, longest)?;
        let mut srq = SharedReceiveQueue::new(domain, &receives, settings.depths.reliable_receive)?;
        for slot in to_post {
            let id = Work::Receive(slot.index()).id();
            srq.post(slot, id)?;
        }
        srq.submit()?;
        let scratch = Shared::new(domain, 1, Access::None)?;
        Ok(ConnectionPool {
            processes: Vec::new(),
            by_incarnation: HashMap::new(),
            count: 0,
            opening: Vec::new(),
            srq,
            receives,
            sends,
            fetches,
            local,
            settings: settings.clone(),
            room,
            ring_sends: settings.ring_sends(size) as usize,
            requests: settings.connection_requests(size),
            patience: Patience::at_least(settings.ack_timeout),
            service: Service::default(),
            waiting: Vec::new(),
            tails: Tails::default(),
            scratch,
        })
    }

    /// The memory that fetches read into.
    pub fn read_pool(&self) -> &Pool {
        self.fetches.pool()
    }

    /// The memory of received messages.
    pub fn pool(&self) -> &Pool {
        &self.receives
    }

    /// The number of a process; `None` where there are too many.
    pub fn meet(&mut self, address: ProcessAddress) -> Option<ProcessId> {
        if let Some(known) = self.of_incarnation(address.incarnation) {
            // Its UD QP may be another one by now.
            let mut datagrams = self.address(known).datagrams;
            datagrams.learn(address.datagrams);
            self.processes[known.0 as usize].address = ProcessAddress { datagrams, ..address };
            return Some(known);
        }
        let id = u32::try_from(self.processes.len()).ok().filter(|id| *id < MAX_PROCESSES)?;
        self.processes.push(Process { address, path_mtu: address.packet_len, connection: None });
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

    /// A process has told its UD QP; whether it is another one than was known.
    pub fn learn(&mut self, process: ProcessId, datagrams: DatagramQp) -> bool {
        self.processes[process.0 as usize].address.datagrams.learn(datagrams)
    }

    /// The processes with which there is a connection that both sides know of, and the others.
    pub fn by_connection(&self) -> (Vec<ProcessId>, Vec<ProcessId>) {
        let all = (0..self.processes.len() as u32).map(ProcessId);
        all.partition(|process| self.is_connected(*process) && !self.is_broken(*process))
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
            let Some(connection) = self.get_mut(process) else { continue };
            connection.messages.submit()?;
            if !std::mem::replace(&mut connection.is_watched, true) {
                self.tails.watch(process);
            }
        }
        self.waiting.clear();
        self.srq.submit()
    }

    /// When to look [at the ends of queues](Self::look_at_tails), if anything is under way.
    pub fn tails_due(&self) -> Option<Instant> {
        self.tails.due()
    }

    /// Has adapters notice what was lost with nothing behind it, where a request takes long.
    pub fn look_at_tails(&mut self, now: Instant) -> Result<()> {
        if self.tails.due().is_none_or(|due| now < due) {
            return Ok(());
        }
        let mut watched = self.tails.take();
        let scratch = self.scratch.span(0, 1);
        let ConnectionPool { processes, tails, .. } = self;
        let mut outcome = Ok(());
        watched.retain(|process| {
            let Some(connection) = &mut processes[process.0 as usize].connection else {
                return false;
            };
            let first = connection.first();
            if tails.look(now, &mut connection.last_seen, first) && outcome.is_ok() {
                outcome = connection.probe_tail(*process, &scratch);
            }
            connection.is_watched = first.is_some();
            connection.is_watched
        });
        self.tails.looked(now, watched);
        outcome
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

    /// As [`send`](Self::send), of a short message, and before it writes a part of a message's memory into memory of the
    /// process.
    pub fn write(
        &mut self,
        process: ProcessId,
        (header, note): (&[u8; HEADER_LEN], &[u8]),
        (tail, to): (Tail, Remote),
        sender: Sender,
    ) -> Result<bool> {
        let connection = &mut self.processes[process.0 as usize].connection;
        let Some(connection) = connection else { return Ok(false) };
        if connection.is_broken {
            return Ok(true);
        }
        let note = self.sends.fill_for(process, (header, note), &tail.lease, sender);
        let Some(note) = note else { return Ok(false) };
        connection.queue.push_back(Pending::Write(tail, to));
        connection.queue.push_back(note);
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

    /// Looks for the packet in a slot of a ring, [soon](Self::next_look); false where no buffer is free.
    pub fn fetch(&mut self, place: Place, wanted: (u32, Token), span: tracing::Span) -> bool {
        // What is read then comes in one packet. Of an answer of several rxe takes the rest for an error where a late
        // acknowledgement comes in the midst: it ends all requests, and says that the read was done (`check_psn` and
        // `check_ack` in `rxe_comp.c` of Linux 6.12).
        let most = self.mtu(place.process);
        self.fetches.want(place, wanted, most, span)
    }

    /// Packets that can be looked for now.
    pub fn fetch_room(&self) -> usize {
        self.fetches.room()
    }

    /// A look that can begin: one that waits for a handshake keeps no buffer from others.
    pub fn next_look(&mut self) -> Option<Look> {
        let ConnectionPool { fetches, processes, .. } = self;
        fetches.next(|process| {
            let connection = processes[process.0 as usize].connection.as_ref();
            connection.is_none_or(|one| one.is_broken || one.handshake.is_connected())
        })
    }

    /// Reads what is to be read next for a look, as [`add`](Self::add).
    pub fn go_on(&mut self, look: Look) -> Result<()> {
        let process = look.place.process;
        if self.is_broken(process) || !self.exists(process) {
            self.fetches.give_up(look);
            return Ok(());
        }
        for (buffer, into, from) in self.fetches.go_on(look) {
            self.add(process, Pending::Fetch(buffer, into, from))?;
        }
        Ok(())
    }

    /// A read has ended, well or not; its look, if nothing else is being read for it.
    ///
    /// # Safety
    /// A completion of the read into the buffer was polled, and this is the first time that it is told.
    pub unsafe fn fetched(&mut self, buffer: u32, is_done: bool) -> Option<Look> {
        // SAFETY: promised by the caller.
        unsafe { self.fetches.end(buffer, is_done) }
    }

    /// Takes the headers that were read for a look; gives back what is not there, or was replaced meanwhile.
    pub fn take_headers(&self, look: &mut Look) -> Vec<Wanted> {
        self.fetches.take_headers(look)
    }

    /// The packet of what was looked for, in its buffer, and how many bytes it is.
    pub fn packet(&mut self, wanted: Wanted) -> Option<(Slot, usize)> {
        self.fetches.packet(wanted)
    }

    /// Takes the buffers of a look back of which nothing is being read.
    pub fn give_up_look(&mut self, look: Look) {
        self.fetches.give_up(look);
    }

    /// Takes the buffer of a fetch back.
    pub fn recycle_fetched(&mut self, slot: Slot) {
        self.fetches.recycle(slot);
    }

    /// Sends from a channel's ring, as [`add`](Self::add).
    pub fn send_from_ring(
        &mut self,
        process: ProcessId,
        Sender { channel, to, token }: Sender,
        slot: u32,
        packet: [Span; 2],
    ) -> Result<()> {
        if let Some(connection) = self.get_mut(process) {
            connection.ring_tokens.push_back((to, token));
        }
        self.add(process, Pending::Ring(channel, slot, packet))
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

    /// Whether a request or a probe to any process is under way, or waits for its connection.
    pub fn are_busy(&self) -> bool {
        self.processes.iter().filter_map(|one| one.connection.as_ref()).any(Connection::is_busy)
    }

    /// Slots that a channel sends from.
    pub fn sends_of(&self, channel: ChannelId) -> usize {
        self.sends.of(channel)
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

    /// The connection is unusable: what has waited for it, if that is news.
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

    /// Gives up what waits for a connection; what of it is of a communicator's memory.
    pub fn drain(&mut self, process: ProcessId) -> Vec<Pending> {
        self.fetches.forget(process);
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
                Pending::Fetch(buffer, ..) => {
                    self.fetches.withdraw(buffer);
                    continue;
                }
                Pending::Write(..) => continue,
                Pending::Report(..) => {}
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
