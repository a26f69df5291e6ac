//! What comes by the memory of a node, and whether this process is the one that receives for it.

use super::event::{Body, Event};
use super::rx_table::{RxPacket, RxTable};
use super::{Endpoint, failed};
use crate::rdma::group::GroupId;
use crate::rdma::ids::ChannelId;
use crate::rdma::node::{Bell, NodeSeat};
use crate::rdma::ud::Extent;
use std::time::Duration;
use verbcast_core::protocol::{Counter, Run, Via};
use verbcast_core::rank::Rank;
use verbcast_core::time::Instant;
use verbcast_core::transport::{Buffer, TransportError};
use verbcast_core::wire::{Checks, HEADER_LEN, Kind, RawHeader};
use verbcast_verbs::Slot;

impl Endpoint {
    /// A channel shares a node with others.
    pub fn seat(&mut self, id: ChannelId, mut seat: NodeSeat) {
        if self.bell.is_none() {
            self.bell = self.new_bell();
        }
        seat.hang(self.bell.as_ref());
        if let Some(channel) = self.channels.get_mut(id) {
            channel.node = Some(seat);
            self.seated.push(id);
        }
    }

    /// What this process is woken by, and wakes others by; none where there can be none, and all of its nodes have to look now and
    /// then.
    fn new_bell(&self) -> Option<Bell> {
        let bell = Bell::new().map_err(|error| error.to_string());
        let watched = bell.and_then(|bell| match self.device.wake_by(&bell) {
            Ok(()) => Ok(bell),
            Err(error) => Err(error.to_string()),
        });
        watched
            .map_err(|error| {
                tracing::warn!("the ranks of this host cannot wake this one, nor it them: {error}")
            })
            .ok()
    }

    /// Wakes the mates that sleep while there is something for them.
    pub(super) fn wake_mates(&mut self) {
        let Endpoint { bell: Some(bell), seated, channels, .. } = self else { return };
        for id in seated {
            if let Some(seat) = channels.get_mut(*id).and_then(|channel| channel.node.as_mut()) {
                seat.wake_mates(bell);
            }
        }
    }

    /// A channel is about to sleep; how long at most, if its node says so.
    pub fn fall_asleep(&mut self, id: ChannelId) -> Option<Duration> {
        let seat = self.channels.get_mut(id)?.node.as_mut()?;
        let at_most = seat.longest_sleep();
        seat.fall_asleep();
        at_most
    }

    /// One more channel waits, which matters to the mates for which this process receives. All channels tell it, as this one
    /// may be newer than a wait that others have begun.
    pub fn begin_wait(&mut self) {
        self.waiting += 1;
        self.tell_mates(true);
    }

    /// A channel waits no longer. Others of this process may, in other threads.
    pub fn end_wait(&mut self) {
        self.waiting -= 1;
        if self.waiting == 0 {
            self.tell_mates(false);
        }
    }

    fn tell_mates(&mut self, waits: bool) {
        let Endpoint { seated, channels, .. } = self;
        for id in seated {
            if let Some(seat) = channels.get_mut(*id).and_then(|channel| channel.node.as_mut()) {
                seat.wait(waits);
            }
        }
    }

    /// Whatever has woken this process has done so.
    pub fn still_bell(&self) {
        if let Some(bell) = &self.bell {
            bell.still();
        }
    }

    /// A channel's part in its node.
    pub fn node(&self, id: ChannelId) -> Option<&NodeSeat> {
        self.channels.get(id)?.node.as_ref()
    }

    /// A channel receives what is sent to a group, itself or by one of its node.
    pub fn listen(
        &mut self,
        id: ChannelId,
        group: GroupId,
        now: Instant,
    ) -> Result<(), TransportError> {
        match self.channels.get_mut(id).and_then(|channel| channel.node.as_mut()) {
            None => self.datagrams.listen(group).map_err(failed),
            Some(seat) => {
                seat.group = Some(group);
                self.tend_role(id, true, now);
                Ok(())
            }
        }
    }

    /// A channel receives it no more.
    pub fn unlisten(&mut self, id: ChannelId, group: GroupId) {
        let Endpoint { channels, datagrams, .. } = self;
        match channels.get_mut(id).and_then(|channel| channel.node.as_mut()) {
            None => datagrams.unlisten(group),
            Some(seat) => {
                seat.group = None;
                // Before a mate attaches its own.
                if std::mem::take(&mut seat.is_attached) {
                    datagrams.unlisten(group);
                }
                seat.resign();
            }
        }
    }

    /// Whether a channel shares a node.
    pub(super) fn is_seated(&self, id: ChannelId) -> bool {
        !self.seated.is_empty() && self.node(id).is_some()
    }

    /// Whether what a rank multicasts comes to a channel by the memory of a node.
    pub(super) fn is_published_for(&self, id: ChannelId, source: Rank) -> bool {
        !self.seated.is_empty() && self.node(id).is_some_and(|seat| !seat.receives_of(source))
    }

    /// Does what is due for nodes; whether mates have published something for a channel, which is [taken](Self::next_packet)
    /// next.
    #[inline]
    pub fn tend_nodes(&mut self, by: ChannelId, now: Instant) -> bool {
        !self.seated.is_empty() && self.tend_seats(by, now)
    }

    fn tend_seats(&mut self, by: ChannelId, now: Instant) -> bool {
        for at in 0..self.seated.len() {
            let id = self.seated[at];
            self.tend_role(id, id == by, now);
        }
        let Some(seat) = self.channels.get_mut(by).and_then(|channel| channel.node.as_mut()) else {
            return false;
        };
        seat.get_up();
        seat.has_news()
    }

    /// Attaches or detaches the UD QP as the process becomes the receiver, or is it no more.
    fn tend_role(&mut self, id: ChannelId, by: bool, now: Instant) {
        let Endpoint { channels, datagrams, device, .. } = self;
        let Some(seat) = channels.get_mut(id).and_then(|channel| channel.node.as_mut()) else {
            return;
        };
        seat.beat(now, by, device.is_empty());
        let is_listening = seat.is_listening();
        let Some(group) = seat.group.filter(|_| is_listening != seat.is_attached) else { return };
        if !is_listening {
            seat.is_attached = false;
            return datagrams.unlisten(group);
        }
        tracing::debug!("this process receives for its node");
        match datagrams.listen(group) {
            Ok(()) => seat.is_attached = true,
            Err(error) => {
                tracing::warn!("cannot receive for this node, so another process has to: {error}");
                seat.refuse(now);
            }
        }
    }

    /// Takes what mates have published for a channel, until there is a packet that it needs nothing but to have: into its table,
    /// and all else into its inbox.
    pub(super) fn next_published(
        &mut self,
        by: ChannelId,
        now: Instant,
        table: &mut RxTable,
    ) -> Option<Buffer> {
        loop {
            let Endpoint { channels, spares, .. } = self;
            let channel = channels.get_mut(by).filter(|channel| channel.inbox.is_empty())?;
            let seat = channel.node.as_mut()?;
            let bytes = seat.take(now, |len| spares.take(len))?;
            let via = Via::Multicast;
            let header = RawHeader::parse(&bytes);
            let own = header.filter(|header| self.channels.receiver(via, header) == Some(by));
            let Some(header) = own else {
                self.channels.count_foreign();
                self.spares.put(bytes);
                continue;
            };
            let is_intact = self.is_right_of_mate(by, &header, &bytes);
            // As off the wire: with codes, nothing is believed without the right one.
            if self.keys.is_some() && !is_intact {
                self.channels.count_forged();
                self.spares.put(bytes);
                continue;
            }
            let body = Body::Copy(bytes);
            if is_intact && header.unchecked().kind == Kind::Fragment {
                let header = Some(header);
                return Some(table.put(RxPacket { header, checks: None, body, in_place: None }));
            }
            self.channels.tell(by, Event::Packet { via, header, is_intact, body, place: None });
            return None;
        }
    }

    /// Whether fragments of mates are looked at for more than where they belong: for their codes, or their payloads' CRCs.
    pub(super) fn checks_fragments(&self) -> bool {
        self.keys.is_some() || self.settings.checks() == Checks::Whole
    }

    /// Whether a datagram that a mate has published is whole. The memory of a node damages nothing, and mates hand on no fragment
    /// that is damaged; so of fragments only what was asked for is looked at, the code or the payload's CRC.
    fn is_right_of_mate(&self, by: ChannelId, header: &RawHeader, bytes: &[u8]) -> bool {
        if header.unchecked().kind == Kind::Fragment && !self.checks_fragments() {
            return bytes.len() == HEADER_LEN + header.payload_len();
        }
        bytes.split_first_chunk().is_some_and(|(head, rest)| self.is_right(by, header, head, rest))
    }

    /// Takes fragments of a run that mates have published for a channel, as long as they publish nothing else between; how many
    /// they were.
    pub(super) fn take_published_run(
        &mut self,
        by: ChannelId,
        now: Instant,
        run: &Run,
        into: &mut [u8],
    ) -> u32 {
        if self.checks_fragments() {
            return 0;
        }
        let Some(channel) = self.channels.get_mut(by) else { return 0 };
        let (key, is_next) = (channel.key(), channel.is_open() && channel.inbox.is_empty());
        match &mut channel.node {
            Some(seat) if is_next => seat.take_run(now, key, run, into),
            _ => 0,
        }
    }

    /// Takes the only fragment of a message, if that is what mates have published next for a channel; whether it was.
    pub(super) fn take_only_published(
        &mut self,
        by: ChannelId,
        now: Instant,
        run: &Run,
        into: &mut [u8],
    ) -> bool {
        let is_plain = !self.checks_fragments();
        let Some(channel) = self.channels.get_mut(by) else { return false };
        let (key, is_next) = (channel.key(), channel.is_open() && channel.inbox.is_empty());
        let seat = channel.node.as_mut().filter(|_| is_plain && is_next);
        seat.is_some_and(|seat| seat.take_only(now, key, run, into))
    }

    /// Writes a number for a rank of a channel to read, as [`NodeSeat::report`].
    pub fn report(&mut self, id: ChannelId, to: Rank, counter: Counter, value: u64) -> bool {
        let seat = self.channels.get_mut(id).and_then(|channel| channel.node.as_mut());
        seat.is_some_and(|seat| seat.report(to, counter, value))
    }

    /// Tells what mates of a channel have reported.
    pub fn take_reports(&mut self, id: ChannelId, tell: impl FnMut(Rank, Counter, u64)) {
        let seat = self.channels.get_mut(id).and_then(|channel| channel.node.as_mut());
        if let Some(seat) = seat {
            seat.take_reports(tell);
        }
    }

    /// Publishes what a channel multicasts; whether nobody else is to get it, as all ranks share the node.
    pub fn publish(&mut self, id: ChannelId, header: &[u8; HEADER_LEN], payload: &[u8]) -> bool {
        let seat = self.channels.get_mut(id).and_then(|channel| channel.node.as_mut());
        seat.is_some_and(|seat| {
            seat.publish(header, payload);
            seat.is_all()
        })
    }

    /// Publishes a datagram that came for a channel, if this process does so for its node.
    pub(super) fn hand_on(&mut self, id: ChannelId, header: &[u8; HEADER_LEN], payload: &[u8]) {
        let seat = self.channels.get_mut(id).and_then(|channel| channel.node.as_mut());
        if let Some(seat) = seat {
            seat.hand_on(header, payload);
        }
    }

    /// As [`hand_on`](Self::hand_on), of a datagram in a slot. One that came with a compact header gets a whole one.
    pub(super) fn hand_on_from(
        &mut self,
        id: ChannelId,
        (slot, extent): (&Slot, Extent),
        header: &RawHeader,
    ) {
        let Endpoint { channels, datagrams, .. } = self;
        let seat = channels.get_mut(id).and_then(|channel| channel.node.as_mut());
        if let Some(seat) = seat
            && let Some((head, payload)) = datagrams.bytes(slot, extent).split_first_chunk()
        {
            match extent.is_compact() {
                true => seat.hand_on(&header.unchecked().emit(payload, false), payload),
                false => seat.hand_on(head, payload),
            }
        }
    }

    /// A channel shares its node no more: a mate may receive at once.
    pub fn unseat(&mut self, id: ChannelId) {
        self.seated.retain(|other| *other != id);
        if let Some(mut seat) = self.channels.get_mut(id).and_then(|channel| channel.node.take()) {
            seat.resign();
        }
    }
}
