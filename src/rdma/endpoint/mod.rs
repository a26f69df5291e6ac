//! What a process has on its device, whatever the number of communicators that use it.

mod access;
mod channel;
mod complete;
mod deliver;
mod demultiplexer;
mod event;
mod failure;
mod inbox;
mod inquiry;
mod lifetime;
mod lifetimes;
mod parting;
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
use crate::rdma::rc::{Connections, Fabric, Fetches, LONGEST_PAUSE};
use crate::rdma::settings::Settings;
use crate::rdma::ud::Datagrams;
use demultiplexer::Demultiplexer;
use lifetimes::Lifetimes;
use std::sync::Arc;
use std::time::Duration;
use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::time::Instant;
use verbcast_core::transport::TransportError;
use verbcast_core::wire::handshake::Message;
use verbcast_core::wire::{HEADER_LEN, Key, Kind, ProcessAddress};
use verbcast_verbs::{
    Anchor, Completion, CompletionQueue, Context, PathTo, Pool, ProtectionDomain,
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
    pub channels: Demultiplexer,
    lifetimes: Lifetimes,
    /// Buffers for messages that stay registered.
    pub registrations: Registrations<Anchor>,
    pub cq: CompletionQueue,
    pub domain: ProtectionDomain,
    pub context: Context,
    pub site: Site,
    pub settings: Settings,
    /// Several communicators may use it.
    pub is_shared: bool,
    /// Somebody panicked while nobody else could have it.
    pub is_poisoned: bool,
    /// How the device has failed.
    pub broken: Option<TransportError>,
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
            channels: Demultiplexer::default(),
            lifetimes: Lifetimes::default(),
            registrations: Registrations::new(settings.registration_cache),
            cq,
            domain,
            context,
            site,
            settings,
            is_shared: false,
            is_poisoned: false,
            broken: None,
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
        if let Some(process) = self.lifetimes.take_departed(now) {
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
        let ranks = self.channels.iter().map(|channel| channel.processes().len() as u32);
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
