//! What a process has on its device, whatever the number of communicators that use it.

mod access;
mod channel;
mod complete;
mod deliver;
mod event;
mod inquiry;
mod usage;

pub(super) use access::{Access, lock};
pub(super) use channel::Channel;
pub(super) use deliver::is_farewell;
pub(super) use event::{Body, Event, Pools};
pub use usage::Usage;

use crate::rdma::group::{Group, Groups, Joined, Joiner};
use crate::rdma::ids::{ChannelId, ProcessId};
use crate::rdma::memory::Registrations;
use crate::rdma::packet::own_header;
use crate::rdma::rc::{Connections, Fabric, Fetches, LONGEST_PAUSE, Pending};
use crate::rdma::settings::Settings;
use crate::rdma::ud::Datagrams;
use channel::Channels;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::time::Instant;
use verbcast_core::transport::TransportError;
use verbcast_core::wire::handshake::Message;
use verbcast_core::wire::{HEADER_LEN, Inquiry, Key, Kind, ProcessAddress};
use verbcast_verbs::{
    Anchor, Completion, CompletionQueue, Context, PathTo, Pool, ProtectionDomain, Span,
};

/// Longest sleep of a thread while others use the endpoint too.
const SLEEP_AMONG_OTHERS: Duration = Duration::from_millis(4);
/// Between two looks at the device's events, each a system call, where nobody sleeps on them.
const EVENT_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The port and address that an endpoint uses.
#[derive(Clone, Debug)]
pub struct Site {
    pub device: String,
    pub port: u8,
    pub gid_index: u8,
    pub address: ProcessAddress,
    pub joiner: Joiner,
}

/// The UD QP, the connections, and all memory that communicators share. Fields are dropped in order: what
/// uses the device before what it was made from.
#[derive(Debug)]
pub struct Endpoint {
    pub datagrams: Datagrams,
    pub connections: Connections,
    pub fetches: Fetches,
    pub channels: Channels,
    /// Buffers for messages that stay registered.
    pub registrations: Registrations<Anchor>,
    pub cq: CompletionQueue,
    pub domain: ProtectionDomain,
    pub context: Context,
    pub site: Site,
    pub settings: Settings,
    /// Packets of communicators that are not here, or of no verbcast at all.
    pub foreign: u64,
    /// Several communicators may use it.
    pub is_shared: bool,
    /// Somebody panicked while nobody else could have it.
    pub is_poisoned: bool,
    /// How the device has failed.
    pub broken: Option<TransportError>,
    /// Packets wait for their communicator in buffers of the endpoint.
    pub has_slots: bool,
    /// What other processes are to be asked or answered.
    pub inquiries: VecDeque<(ProcessId, Inquiry)>,
    pub groups: Groups,
    pub(super) batch: Vec<Completion>,
    /// Connections that the completion queue has room for.
    room_for: usize,
    /// When the device's events were looked at by who polls.
    checked: Instant,
}

/// What an endpoint is made from.
#[derive(Debug)]
pub struct Parts {
    pub datagrams: Datagrams,
    pub connections: Connections,
    pub fetches: Fetches,
    pub cq: CompletionQueue,
    pub domain: ProtectionDomain,
    pub context: Context,
}

impl Endpoint {
    /// An endpoint whose completion queue has room for so many connections, and that is to be in so many
    /// groups at most.
    pub fn new(
        parts: Parts,
        site: Site,
        settings: Settings,
        (room_for, most_groups): (usize, usize),
    ) -> Self {
        let Parts { datagrams, connections, fetches, cq, domain, context } = parts;
        Endpoint {
            datagrams,
            connections,
            fetches,
            channels: Channels::default(),
            registrations: Registrations::new(settings.registration_cache),
            cq,
            domain,
            context,
            site,
            settings,
            foreign: 0,
            is_shared: false,
            is_poisoned: false,
            broken: None,
            has_slots: false,
            inquiries: VecDeque::new(),
            groups: Groups::new(most_groups),
            batch: Vec::new(),
            room_for,
            checked: Instant::ZERO,
        }
    }

    /// Uses a Q_Key from now on, which datagrams of all groups must have.
    pub fn set_qkey(&mut self, qkey: u32) -> Result<(), String> {
        let is_needed = self.groups.live().next().is_some();
        match self.datagrams.qkey() {
            known if known == qkey => Ok(()),
            known if is_needed => {
                Err(format!("the Q_Key is {qkey:#x}, but that of other groups is {known:#x}"))
            }
            _ => self.datagrams.set_qkey(qkey).map_err(|error| error.to_string()),
        }
    }

    /// Attaches the UD QP to a group that the port has joined.
    pub fn attach(&mut self, joined: Joined) -> Result<Arc<Group>, String> {
        self.set_qkey(joined.qkey())?;
        let group = Arc::new(joined.attach(&self.domain, self.datagrams.qp())?);
        self.groups.add(&group);
        Ok(group)
    }

    /// The memory that packets are received into.
    pub fn pools(&self) -> Pools {
        Pools {
            datagrams: self.datagrams.pool().clone(),
            messages: self.connections.pool().clone(),
            reads: self.fetches.pool().clone(),
        }
    }

    /// The endpoint for several communicators.
    pub fn into_shared(self) -> Self {
        Endpoint { is_shared: true, ..self }
    }

    /// Begins to connect with a process, unless it is connected.
    pub fn open(&mut self, now: Instant, process: ProcessId) -> Result<(), TransportError> {
        if self.connections.exists(process) {
            return Ok(());
        }
        if self.connections.count() == self.room_for {
            let room_for = 2 * self.room_for;
            let depth = self.connections.completions(room_for as u32, &self.settings);
            self.cq.resize(depth).map_err(failed)?;
            self.room_for = room_for;
        }
        let fabric = fabric(&self.domain, &self.cq, &self.site, self.fetches.pool());
        self.connections.open(now, process, &fabric).map_err(failed)
    }

    /// Does what is due, and takes completions for all communicators, on behalf of one; whether there were
    /// any.
    pub fn pump(&mut self, by: ChannelId, now: Instant) -> Result<bool, TransportError> {
        if now - self.checked >= EVENT_CHECK_INTERVAL {
            self.checked = now;
            self.check_device()?;
        }
        if self.is_poisoned {
            let what = "another thread panicked while it used the endpoint".to_owned();
            return Err(TransportError { what });
        }
        if self.is_shared {
            self.free_slots_of_others(by)?;
        }
        self.send_inquiries()?;
        if let Some(process) = self.connections.take_departed(now) {
            self.retire(now, process)?;
        }
        if self.connections.are_opening() {
            for (process, message) in
                self.connections.poll_handshakes(now, self.site.address.incarnation)
            {
                self.send_handshake(process, &message)?;
            }
            self.send_confirms()?;
        }
        let any = self.pull(by, now);
        match &self.broken {
            Some(error) => Err(error.clone()),
            None => Ok(any),
        }
    }

    /// Hands to the device what waits to be sent, and the receives that wait to be posted.
    pub fn submit(&mut self) -> Result<(), TransportError> {
        self.datagrams.submit().and_then(|()| self.connections.submit()).map_err(failed)
    }

    /// The header of a packet of a handshake with a process.
    pub fn handshake_header(&self, process: ProcessId, payload: &[u8]) -> [u8; HEADER_LEN] {
        let key = Key(self.connections.address(process).incarnation);
        own_header(Kind::Connect, key, Rank(0), payload)
    }

    pub fn send_handshake(
        &mut self,
        process: ProcessId,
        message: &Message,
    ) -> Result<(), TransportError> {
        let payload = message.emit();
        let header = self.handshake_header(process, &payload);
        let qpn = self.connections.address(process).qpn;
        let to = (process, qpn, self.path(process));
        // Without a slot it is as if the datagram were lost: it will be repeated.
        self.datagrams.unicast(&self.domain, to, &header, &payload).map_err(failed).map(drop)
    }

    pub fn path(&self, process: ProcessId) -> PathTo {
        let ProcessAddress { gid, lid, .. } = self.connections.address(process);
        let Site { port, gid_index: source_index, .. } = self.site;
        PathTo { gid, lid, port, source_index }
    }

    pub fn check_device(&mut self) -> Result<(), TransportError> {
        while let Some(event) = self.context.take_async_event() {
            if event.is_fatal {
                let name = self.context.name();
                let port = self.site.port;
                return Err(TransportError { what: format!("{name} port {port}: {}", event.what) });
            }
            tracing::debug!("{}: {}", self.context.name(), event.what);
        }
        Ok(())
    }

    /// A process has left a channel, or the channel is closed here: what is under way to it is given up
    /// soon, unless another channel needs the connection.
    pub fn part(&mut self, now: Instant, channel: ChannelId, process: ProcessId) {
        if let Some(channel) = self.channels.get_mut(channel) {
            channel.departed.insert(process);
            if channel.inquirers.remove(&process) {
                let key = channel.key;
                self.inquire(process, key, true);
            }
        }
        if self.connections.exists(process) && self.is_stranger(process) {
            self.connections.depart(now, process);
        }
    }

    /// Gives up what is under way to a process that has left every channel. Where it may come back in
    /// another one, its adapter is asked first whether it is still there.
    fn retire(&mut self, now: Instant, process: ProcessId) -> Result<(), TransportError> {
        if !self.is_stranger(process) || self.connections.is_broken(process) {
            return Ok(());
        }
        if !self.is_shared {
            self.give_up_on(process);
            return Ok(());
        }
        if !self.connections.is_connected(process) {
            let waiting = self.connections.drain(process);
            self.drop_pending(process, waiting);
        } else if !self.connections.is_idle(process) {
            self.connections.probe(process, None).map_err(failed)?;
            self.connections.depart(now, process);
        }
        Ok(())
    }

    /// A channel is closed here. `memory` is what requests of it may use, and others may reach into unless
    /// they never could.
    pub fn close(&mut self, now: Instant, id: ChannelId, memory: Vec<Span>, is_reached: bool) {
        let Some(channel) = self.channels.get_mut(id) else { return };
        let key = channel.key;
        let inquirers = std::mem::take(&mut channel.inquirers);
        let events = std::mem::take(&mut channel.events);
        channel.set_events(VecDeque::new());
        let own = channel.processes[channel.rank.index()];
        let others: Vec<_> =
            channel.processes.iter().copied().filter(|process| *process != own).collect();
        for event in events {
            if let Event::Packet { body, .. } | Event::Fetched { body, .. } = event {
                if matches!(body, Body::Message(..) | Body::Copy(_)) {
                    let bytes = body.bytes(&self.pools()).to_vec();
                    self.note_farewell(id, &bytes);
                }
                if let Err(error) = self.free(body) {
                    tracing::warn!("while closing a communicator: {error}");
                }
            }
        }
        let may_reach = |process: &ProcessId| {
            let connections = &self.connections;
            is_reached && connections.exists(*process) && !connections.is_broken(*process)
        };
        let awaited: HashSet<_> = others.iter().copied().filter(may_reach).collect();
        self.channels.leave(id, memory, awaited.clone());
        inquirers.into_iter().for_each(|process| self.inquire(process, key, true));
        awaited.into_iter().for_each(|process| self.inquire(process, key, false));
        // Nobody may poll for long.
        if let Err(error) = self.send_inquiries().and_then(|()| self.submit()) {
            tracing::warn!("while closing a communicator: {error}");
        }
        for process in others {
            self.part(now, id, process);
        }
    }

    /// A connection is of no more use: every communicator with that process is told, if that is news.
    pub fn broke(&mut self, process: ProcessId, reason: &str) {
        if !self.give_up_on(process) {
            return;
        }
        for id in self.channels.ids() {
            let Some(channel) = self.channels.get_mut(id) else { continue };
            if channel.has(process)
                && let Some(rank) = channel.rank_of(process)
            {
                channel.broken.push_back((rank, reason.to_owned()));
            }
        }
    }

    /// Gives up a connection, and frees what waited for it; whether that is news.
    pub fn give_up_on(&mut self, process: ProcessId) -> bool {
        let waiting = self.connections.broke(process);
        let is_news = waiting.is_some();
        for id in self.channels.ids() {
            self.channels.is_done(id, process);
        }
        self.drop_pending(process, waiting.unwrap_or_default());
        is_news
    }

    /// Ends what waited for a connection in vain.
    fn drop_pending(&mut self, process: ProcessId, waiting: Vec<Pending>) {
        for pending in waiting {
            match pending {
                Pending::Message(..) | Pending::Last(..) => {}
                Pending::Ring(channel, slot, _) => {
                    self.channels.tell(channel, Event::RingSent { slot, delivered: None });
                }
                Pending::Report(channel, counter, ..) => {
                    self.tell_reported(channel, process, counter, false);
                }
                Pending::Fetch(buffer, ..) => self.fetches.withdraw(buffer),
            }
        }
    }

    /// How long to sleep at most, of `at_most`: with handshakes under way, and where somebody else may take
    /// the completion that the sleeper waits for.
    pub fn longest_sleep(&self, at_most: Duration) -> Duration {
        let others = if self.channels.open_count() > 1 { SLEEP_AMONG_OTHERS } else { at_most };
        match self.connections.are_opening() {
            true => at_most.min(others).min(LONGEST_PAUSE / 16),
            false => at_most.min(others),
        }
    }

    /// What it takes of its device.
    pub fn usage(&self) -> Usage {
        let packet_len = self.site.address.packet_len;
        let ranks = self.channels.iter().map(|channel| channel.processes.len() as u32);
        let channels = ranks.map(|size| self.settings.memory_of_channel(packet_len, size));
        Usage {
            communicators: self.channels.open_count(),
            left: self.channels.left_count(),
            queue_pairs: 1 + 2 * self.connections.count(),
            groups: self.groups.live().count(),
            registered_memory: self.settings.memory_of_endpoint(packet_len)
                + channels.sum::<usize>(),
        }
    }

    /// The place of the fragment that the next receive will probably get, if it is of a channel.
    pub fn next_receive(&self, channel: ChannelId) -> Option<(OpId, Fragment)> {
        let ((of, op), fragment) = self.datagrams.next_receive()?;
        (of == channel).then_some((op, fragment))
    }
}

/// What a connection is made from.
pub fn fabric<'a>(
    domain: &'a ProtectionDomain,
    cq: &'a CompletionQueue,
    site: &'a Site,
    fetches: &'a Pool,
) -> Fabric<'a> {
    Fabric { domain, cq, port: site.port, own: &site.address, fetches }
}

pub fn failed(error: verbcast_verbs::Error) -> TransportError {
    TransportError { what: error.to_string() }
}
