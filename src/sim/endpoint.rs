//! A process's endpoint: one queue of completions for all its communicators.
//!
//! As on a device, whoever polls takes completions for all. What comes for another is copied out of the buffers that it
//! came in: datagrams where receives get short, and up to a bound, as they may be lost; reliable messages and what was read
//! always.

use super::communicator::{Channel, Group};
use super::event::{Bytes, Completion};
use super::inbox::{Body, Inbox, Received, Told};
use super::network::Network;
use std::rc::Rc;
use verbcast_core::protocol::{Depths, Via};
use verbcast_core::rank::Rank;
use verbcast_core::transport::{Arrival, Reserved};
use verbcast_core::wire::{HEADER_LEN, Header, Kind, RawHeader};

/// What a process's communicators share besides its adapter.
#[derive(Debug)]
pub(super) struct Endpoint {
    /// By communicator, where the process is in it.
    inboxes: Vec<Option<Inbox>>,
    open: usize,
    /// Of the receives for reliable messages, those that are kept for what comes while nobody polls.
    pub reserved: Reserved<Channel>,
}

impl Endpoint {
    pub fn new(depths: &Depths) -> Endpoint {
        let reserved = Reserved::new(depths.absorbed());
        Endpoint { inboxes: Vec::new(), open: 0, reserved }
    }

    /// Several communicators use it.
    pub fn is_shared(&self) -> bool {
        self.open > 1
    }

    fn open(&mut self, channel: Channel) {
        let at = usize::from(channel.0);
        if self.inboxes.len() <= at {
            self.inboxes.resize_with(at + 1, || None);
        }
        self.inboxes[at] = Some(Inbox::default());
        self.open += 1;
    }

    /// The inbox of a communicator that the process has opened.
    pub fn inbox(&mut self, channel: Channel) -> &mut Inbox {
        let inbox = self.inboxes.get_mut(usize::from(channel.0));
        inbox.and_then(Option::as_mut).expect("the process is in the communicator")
    }
}

impl Network {
    /// Whether a look does more for a process than to take completions: for its node, or for other communicators.
    pub fn is_tended(&self, process: Rank) -> bool {
        !self.nodes.is_empty() || self.endpoints[process.index()].is_shared()
    }

    /// Takes completions of a process on behalf of one of its communicators; whether there were any.
    pub fn pull(&mut self, process: Rank, by: Channel) -> bool {
        if self.endpoint(process).is_shared() {
            self.free_buffers_of_others(process, by);
        }
        // First, so that it knows what its mates have when it hands on.
        let mut any = self.tend_node(process, by);
        for _ in 0..self.batch {
            let Some(completion) = self.port(process).completions.pop_front() else { break };
            any = true;
            self.complete(process, by, completion);
        }
        any
    }

    /// Whether something has come to a process that has not been taken, of all or of one of these communicators.
    pub fn has_news(&self, process: Rank, channels: &[Channel]) -> bool {
        let (port, endpoint) = (&self.ports[process.index()], &self.endpoints[process.index()]);
        let is_told = |channel: &Channel| {
            let inbox = endpoint.inboxes.get(usize::from(channel.0)).and_then(Option::as_ref);
            inbox.is_some_and(|inbox| {
                !inbox.is_empty() || (!inbox.ignores_reports && port.has_reports(*channel))
            })
        };
        !port.completions.is_empty()
            || channels.iter().any(is_told)
            || (!self.nodes.is_empty() && self.has_node_news(process, channels))
    }

    fn complete(&mut self, process: Rank, by: Channel, completion: Completion) {
        let groups = &self.groups;
        let rank_in = |channel: Channel, peer| groups[usize::from(channel.0)].rank_of(peer);
        let (channel, told) = match completion {
            Completion::Packet(via, bytes) => return self.received(process, by, via, bytes),
            Completion::Fetched(channel, from, token, bytes) => {
                let header = RawHeader::parse(&bytes);
                let received = Received { via: Via::Fetched, header, bytes, body: Body::Read };
                (channel, rank_in(channel, from).map(|from| Told::Fetched(from, token, received)))
            }
            Completion::Sent(channel, to, token, _) => {
                let to = rank_in(channel, to);
                (channel, to.map(|to| Told::Other(Arrival::Delivered { to, token })))
            }
            Completion::WriteAcked(channel, to, counter) => {
                let to = rank_in(channel, to);
                (channel, to.map(|to| Told::Other(Arrival::WriteAcked { to, counter })))
            }
            Completion::Alive(channel, peer) => {
                let peer = rank_in(channel, peer);
                (channel, peer.map(|peer| Told::Other(Arrival::Alive { peer })))
            }
            Completion::Broken(peer) => {
                let ranks = self.groups.iter().map(|group| group.rank_of(peer));
                let ranks: Vec<_> = ranks.collect();
                for (inbox, rank) in self.endpoint(process).inboxes.iter_mut().zip(ranks) {
                    if let (Some(inbox), Some(rank)) = (inbox, rank) {
                        inbox.push_broken(rank);
                    }
                }
                return;
            }
        };
        self.deliver_to(process, by, channel, told.expect("a rank of the communicator"));
    }

    /// A packet came; its communicator is the one whose key it has.
    fn received(&mut self, process: Rank, by: Channel, via: Via, bytes: Bytes) {
        let body = if via == Via::Reliable { Body::Message } else { Body::Datagram };
        let header = RawHeader::parse(&bytes);
        let channel = header.and_then(|header| self.receiver(process, via, header.unchecked()));
        let (Some(header), Some(channel)) = (header, channel) else {
            return self.free(process, body);
        };
        let Header { kind, op, source, .. } = *header.unchecked();
        if via == Via::Multicast {
            // Mates have published it themselves.
            if self.is_mate(process, channel, source) {
                return self.free(process, body);
            }
            if self.hands_on(process, channel, &bytes) {
                self.spend(process, self.costs.copying(bytes.len()));
                self.publish(process, channel, &bytes);
            }
        }
        if via == Via::Reliable && kind == Kind::Fragment {
            self.endpoint(process).reserved.arrived(channel, op);
        }
        let received = Received { via, header: Some(header), bytes, body };
        self.deliver_to(process, by, channel, Told::Packet(received));
    }

    /// The communicator of a process that a packet is for, if it may come to it so.
    pub fn receiver(&self, process: Rank, via: Via, header: &Header) -> Option<Channel> {
        let channel = Channel::of_key(header.key)?;
        let group = self.groups.get(usize::from(channel.0))?;
        let is_admitted = group.rank_of(process).is_some() && via.admits(header, group.size());
        is_admitted.then_some(channel)
    }

    fn deliver_to(&mut self, process: Rank, by: Channel, to: Channel, told: Told) {
        let told = if by == to { Some(told) } else { self.kept(process, to, told) };
        if let Some(told) = told {
            self.endpoint(process).inbox(to).push(told);
        }
    }

    /// Makes others than `by` keep what they have not taken as if it came now.
    fn free_buffers_of_others(&mut self, process: Rank, by: Channel) {
        let most = self.depths.max_held();
        for channel in (0..self.groups.len() as u16).map(Channel).filter(|other| *other != by) {
            let Network { endpoints, ports, told, .. } = self;
            let inboxes = &mut endpoints[process.index()].inboxes;
            let Some(Some(inbox)) = inboxes.get_mut(usize::from(channel.0)) else { continue };
            let has_room = ports[process.index()].datagrams_used <= most;
            // Mostly nothing has to move.
            if has_room && inbox.may_stay(most as usize) {
                continue;
            }
            inbox.take_into(told);
            while let Some(told) = self.told.pop_front() {
                self.deliver_to(process, by, channel, told);
            }
        }
    }

    /// What a communicator is told, where it can wait for that; none if it is dropped.
    fn kept(&mut self, process: Rank, to: Channel, mut told: Told) -> Option<Told> {
        let most = self.depths.max_held() as usize;
        let Some(received) = told.received() else { return Some(told) };
        if received.body == Body::Copy {
            return Some(told);
        }
        let (via, len) = (received.via, received.bytes.len());
        let is_full = via == Via::Multicast && self.endpoint(process).inbox(to).datagrams() >= most;
        if via == Via::Multicast && !is_full && self.port(process).datagrams_used <= most as u32 {
            return Some(told);
        }
        let body = std::mem::replace(&mut received.body, Body::Copy);
        self.port(process).overflowed += u64::from(is_full);
        if !is_full {
            self.spend(process, self.costs.copying(len.saturating_sub(HEADER_LEN)));
        }
        self.free(process, body);
        (!is_full).then_some(told)
    }

    /// Makes the buffer of a body free again.
    pub fn free(&mut self, process: Rank, body: Body) {
        let port = self.port(process);
        match body {
            Body::Datagram => port.datagrams_used -= 1,
            Body::Read => port.fetching -= 1,
            Body::Message => {
                port.messages_used -= 1;
                let now = port.cpu;
                self.admit(now, process);
            }
            Body::Copy => {}
        }
    }

    /// A process uses a communicator from now on; who is in it.
    pub fn open(&mut self, process: Rank, channel: Channel) -> Rc<Group> {
        self.endpoint(process).open(channel);
        Rc::clone(&self.groups[usize::from(channel.0)])
    }
}
