//! Per-process device resources, shared by all communicators.
//!
//! An [`Endpoint`] is made of parts that keep their fields to themselves: the [`Device`], the [`UdPort`], the
//! [`ConnectionPool`], the [`Demultiplexer`] that finds the communicator of a packet, and the [`Lifetimes`] of what
//! processes may still reach. To the demultiplexer, a communicator is a [`Channel`](channel::Channel) with an
//! [`Inbox`](inbox::Inbox) and a [`Lifetime`](lifetime::Lifetime). What concerns several parts is a method of the
//! endpoint, in the file of its concern.

mod access;
mod authenticity;
mod channel;
mod compact;
mod complete;
mod deliver;
mod demultiplexer;
mod device;
mod event;
mod failure;
mod fetch;
mod handshakes;
mod inbox;
mod inquiry;
mod lifetime;
mod lifetimes;
mod node;
mod only;
mod parting;
mod port_state;
mod receive;
mod relocation;
mod run;
mod rx_table;
mod senders;
mod spares;
mod suspects;
mod upkeep;
mod usage;

pub(super) use access::{Access, lock};
pub(super) use channel::Channel;
pub(super) use device::{Device, failed};
pub(super) use event::{Body, Event, Pools};
pub(super) use receive::is_farewell;
pub(super) use rx_table::{RxPacket, RxTable};
pub use upkeep::Incidents;
pub use usage::Usage;

use crate::rdma::group::{GroupId, Joined, Joiner};
use crate::rdma::ids::{ChannelId, ProcessId};
use crate::rdma::keys::ProcessKeys;
use crate::rdma::memory::{Memory, Registrations};
use crate::rdma::node::Bell;
use crate::rdma::rc::{ConnectionPool, MAX_PAUSE};
use crate::rdma::settings::Settings;
use crate::rdma::ud::UdPort;
use compact::Tagged;
use demultiplexer::Demultiplexer;
use lifetimes::Lifetimes;
use relocation::Announcement;
use senders::Senders;
use spares::Spares;
use std::time::Duration;
use suspects::Suspects;
use upkeep::Upkeep;
use verbcast_core::protocol::Depths;
use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::time::Instant;
use verbcast_core::transport::{Arrival, Reserved, TransportError};
use verbcast_core::wire::{Adapter, Fabric, Key, MacKey, ProcessAddress};
use verbcast_verbs::{Anchor, Told};

/// Longest sleep of a thread while others use the endpoint too.
const SLEEP_AMONG_OTHERS: Duration = Duration::from_millis(4);

/// The port and address that an endpoint uses.
#[derive(Clone, Debug)]
pub struct Site {
    pub device: String,
    pub port: u8,
    pub gid_index: u8,
    pub fabric: Fabric,
    pub adapter: Adapter,
    pub address: ProcessAddress,
    pub joiner: Joiner,
}

/// A device, the UD QP, the connections, and all memory that communicators share.
#[derive(Debug)]
pub struct Endpoint {
    pub datagrams: UdPort,
    pub connections: ConnectionPool,
    pub channels: Demultiplexer,
    /// Buffers for messages that stay registered.
    pub registrations: Registrations<Anchor>,
    pub device: Device,
    pub site: Site,
    pub settings: Settings,
    /// The keys of the messages of processes, where packets have authentication codes.
    pub keys: Option<ProcessKeys>,
    /// Of the connections' receives, those that are kept for what comes while nobody polls.
    pub reserved: Reserved<ChannelId>,
    /// Several communicators may use it.
    pub is_shared: bool,
    /// Somebody panicked while nobody else could have it.
    is_poisoned: bool,
    /// Until then nothing is due, unless something comes or somebody [changes](Self::disturb) something.
    quiet_until: Instant,
    /// The communicators that share nodes.
    seated: Vec<ChannelId>,
    /// Channels of these that wait.
    waiting: usize,
    /// Where what their mates published is copied to.
    spares: Spares,
    /// What their mates wake this process by, and it them.
    bell: Option<Bell>,
    lifetimes: Lifetimes,
    upkeep: Upkeep,
    suspects: Suspects,
    announcement: Announcement,
    /// Whose datagrams are known by where they come from.
    senders: Senders,
    tagged: Tagged,
}

impl Endpoint {
    /// An endpoint made of its parts.
    pub fn new(
        (device, datagrams, connections): (Device, UdPort, ConnectionPool),
        site: Site,
        settings: Settings,
        keys: Option<ProcessKeys>,
    ) -> Self {
        Endpoint {
            datagrams,
            connections,
            channels: Demultiplexer::default(),
            registrations: Registrations::new(settings.registration_cache),
            device,
            site,
            reserved: Reserved::new(settings.depths.absorbed()),
            settings,
            keys,
            is_shared: false,
            is_poisoned: false,
            quiet_until: Instant::ZERO,
            seated: Vec::new(),
            waiting: 0,
            spares: Spares::default(),
            bell: None,
            lifetimes: Lifetimes::default(),
            upkeep: Upkeep::default(),
            suspects: Suspects::default(),
            announcement: Announcement::default(),
            senders: Senders::default(),
            tagged: Tagged::default(),
        }
    }

    /// Makes a communicator known in which this process has a rank, with the processes of all ranks and memory of its
    /// own.
    pub fn open_channel(
        &mut self,
        (key, rank, mac): (Key, Rank, Option<MacKey>),
        processes: Vec<ProcessId>,
        memory: &Memory,
    ) -> Result<ChannelId, String> {
        // The ring may be deeper than the ranks agree on.
        let depths = Depths { ring: memory.ring_len(), ..self.settings.depths };
        let settings = Settings { depths, ..self.settings.clone() };
        let registered = settings.memory_of_channel(memory.slot_len(), processes.len() as u32);
        self.learn_addresses(&processes);
        let channel = Channel::new(key, rank, processes, registered).with_mac(mac);
        let channel = self.channels.open(channel);
        channel.ok_or_else(|| "has too many communicators".to_owned())
    }

    /// Nobody can use it any more, since somebody panicked while nobody else could have it.
    pub fn poison(&mut self) {
        self.is_poisoned = true;
        self.disturb();
    }

    /// Uses a Q_Key from now on, which datagrams of all groups must have.
    pub fn set_qkey(&mut self, qkey: u32) -> Result<(), String> {
        let is_needed = self.datagrams.groups().iter().next().is_some();
        match self.datagrams.qkey() {
            known if known == qkey => Ok(()),
            known if is_needed => {
                Err(format!("the Q_Key is {qkey:#x}, but that of other groups is {known:#x}"))
            }
            _ => self.datagrams.set_qkey(qkey).map_err(|error| error.to_string()),
        }
    }

    /// Takes in a group that the port has joined, to send to it.
    pub fn enter(&mut self, joined: Joined) -> Result<GroupId, String> {
        self.set_qkey(joined.qkey())?;
        self.connections.set_service(joined.service());
        let watched = joined.fd().map_or(Ok(()), |fd| self.device.watch(fd));
        watched.map_err(|error| error.to_string())?;
        self.datagrams.enter(joined)
    }

    /// The memory that packets are received into.
    pub fn pools(&self) -> Pools {
        Pools {
            datagrams: self.datagrams.pool().clone(),
            messages: self.connections.pool().clone(),
            reads: self.connections.read_pool().clone(),
        }
    }

    /// The endpoint for several communicators.
    pub fn into_shared(self) -> Self {
        Endpoint { is_shared: true, ..self }
    }

    /// Does what is due, and looks for what has come for all communicators, on behalf of one; whether there is anything, which
    /// is [taken](Self::next_packet) next.
    pub fn pump(&mut self, by: ChannelId, now: Instant) -> Result<bool, TransportError> {
        self.tend_in_turn(now)?;
        if self.is_poisoned {
            return Err(TransportError::Poisoned);
        }
        if self.is_shared {
            self.free_slots_of_others(by)?;
        }
        if self.lifetimes.has_inquiries() {
            self.send_inquiries()?;
        }
        if let Some(process) = self.lifetimes.take_departed(now) {
            self.retire(now, process)?;
        }
        self.drive_handshakes(now)?;
        self.connections.look_at_tails(now).map_err(failed)?;
        self.announce(now)?;
        let any = self.tend_nodes(by, now) | self.submit_and_poll();
        self.device.works()?;
        self.quiet_until = if any { Instant::ZERO } else { self.next_due() };
        Ok(any)
    }

    /// Something may be due at once.
    pub fn disturb(&mut self) {
        self.quiet_until = Instant::ZERO;
    }

    /// When there is something to do at the latest, whatever comes.
    fn next_due(&self) -> Instant {
        let is_waiting = self.connections.are_opening()
            || self.announcement.is_under_way()
            || self.lifetimes.has_inquiries()
            || (self.is_shared && self.channels.has_slots());
        if is_waiting {
            return Instant::ZERO;
        }
        let due = [self.lifetimes.next_departed(), self.connections.tails_due()];
        due.into_iter().flatten().fold(self.upkeep.due(), Instant::min)
    }

    /// Whether nothing is due, nothing waits for a channel, and nothing came.
    pub fn is_quiet(&mut self, by: ChannelId, now: Instant) -> bool {
        if now >= self.quiet_until || self.channels.get(by).is_none_or(|one| one.inbox.has_news()) {
            return false;
        }
        // Mates watch that this process polls, and what they publish completes nothing.
        if self.tend_nodes(by, now) {
            self.disturb();
            return false;
        }
        if !self.poll() {
            return !self.device.is_broken();
        }
        self.disturb();
        false
    }

    /// Whether a connection of a channel broke that it was not told of.
    pub fn has_broken(&self, channel: ChannelId) -> bool {
        self.channels.get(channel).is_some_and(|one| one.inbox.has_broken())
    }

    /// What a channel was told first of what it has not taken.
    pub fn next_event(&mut self, channel: ChannelId) -> Option<Event> {
        self.channels.get_mut(channel)?.inbox.next()
    }

    /// A connection of a channel that broke, and that it was not told of.
    pub fn next_broken(&mut self, channel: ChannelId) -> Option<Arrival> {
        let (peer, reason) = self.channels.get_mut(channel)?.inbox.next_broken()?;
        Some(Arrival::Broken { peer, reason })
    }

    /// Hands to the device what waits to be sent, and the receives that wait to be posted, and wakes those for whom something
    /// was published.
    pub fn submit(&mut self) -> Result<(), TransportError> {
        self.wake_mates();
        self.begin_looks()?;
        self.datagrams.submit().and_then(|()| self.connections.submit()).map_err(failed)
    }

    /// As [`submit`](Self::submit), but receives for datagrams may wait until completions are taken.
    pub fn submit_sends(&mut self) -> Result<(), TransportError> {
        self.wake_mates();
        self.begin_looks()?;
        self.datagrams.submit_sends().and_then(|()| self.connections.submit()).map_err(failed)
    }

    /// How long to sleep at most, of `at_most`: with handshakes under way, with something to look after, and where
    /// somebody else may take the completion that the sleeper waits for.
    pub fn longest_sleep(&self, now: Instant, at_most: Duration) -> Duration {
        let due =
            self.connections.tails_due().map_or(self.upkeep.due(), |at| at.min(self.upkeep.due()));
        let at_most = at_most.min(due - now);
        let others = if self.channels.open_count() > 1 { SLEEP_AMONG_OTHERS } else { at_most };
        match self.connections.are_opening() || self.announcement.is_under_way() {
            true => at_most.min(others).min(MAX_PAUSE / 16),
            false => at_most.min(others),
        }
    }

    /// Has the next completion that somebody may sleep for told by the descriptor of the device: any, while something that
    /// was asked for here is under way; else what others sent to wake whoever sleeps, not each of their packets.
    pub fn arm(&self) -> Result<(), TransportError> {
        let is_asking = self.datagrams.is_sending() || self.connections.are_busy();
        self.device.arm(if is_asking { Told::Any } else { Told::Solicited })
    }

    /// Whether a communicator may keep what has come for it in its buffers for a while. All together keep half of the
    /// receives for datagrams at most, so that the other half goes on serving whoever is active. Who is alone keeps to
    /// that by itself.
    pub fn can_spare_receives(&self) -> bool {
        let depths = &self.settings.depths;
        let kept = u64::from(depths.receive) - self.datagrams.posted_receives();
        !self.is_shared || kept <= u64::from(depths.max_held())
    }

    /// What it takes of its device.
    pub fn usage(&self) -> Usage {
        let packet_len = self.site.address.packet_len;
        let channels = self.channels.iter().map(Channel::registered_memory);
        Usage {
            communicators: self.channels.open_count(),
            left: self.channels.left_count(),
            queue_pairs: 1 + 2 * self.connections.count(),
            groups: self.datagrams.groups().iter().count(),
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
