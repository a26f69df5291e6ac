//! The communicators of an endpoint, found by key or number.

use super::channel::Channel;
use super::event::Event;
use crate::rdma::ids::{ChannelId, ProcessId};
use std::collections::HashSet;
use verbcast_core::numbers::NumberMap;
use verbcast_core::protocol::Via;
use verbcast_core::wire::{Key, RawHeader};
use verbcast_verbs::Span;

/// All communicators of an endpoint, and what came for none of them.
#[derive(Debug, Default)]
pub struct Demultiplexer {
    by_id: Vec<Option<Channel>>,
    by_key: NumberMap<u64, ChannelId>,
    /// That of the last packet, which most often is that of the next one.
    last: ChannelId,
    /// Communicators in use here.
    open: usize,
    /// Packets of communicators that are not here, or of no verbcast at all.
    foreign: u64,
    /// Packets with a key of this process's, and a wrong authentication code.
    forged: u64,
    /// Packets wait for their communicator in buffers of the endpoint.
    has_slots: bool,
}

impl Demultiplexer {
    /// Adds a communicator; `None` where there are too many, or one of its key.
    pub fn open(&mut self, channel: Channel) -> Option<ChannelId> {
        if self.by_key.contains_key(&channel.key().0) {
            return None;
        }
        let free = self.by_id.iter().position(Option::is_none).unwrap_or(self.by_id.len());
        let id = ChannelId(u16::try_from(free).ok()?);
        if free == self.by_id.len() {
            self.by_id.push(None);
        }
        self.by_key.insert(channel.key().0, id);
        self.by_id[free] = Some(channel);
        self.open += 1;
        Some(id)
    }

    /// A communicator is closed here. Its `memory` is kept while requests use it and `awaited` processes may
    /// reach into it.
    pub fn close(&mut self, id: ChannelId, memory: Vec<Span>, awaited: &HashSet<ProcessId>) {
        let Some(channel) = self.get_mut(id) else { return };
        channel.lifetime.close(memory, awaited);
        self.open -= 1;
        self.forget(id);
    }

    /// Forgets a communicator that is closed here, once nobody uses its memory.
    pub fn forget(&mut self, id: ChannelId) {
        let place = self.by_id.get_mut(usize::from(id.0));
        if let Some(place) = place
            && let Some(channel) = place.take_if(|channel| channel.lifetime.is_over())
        {
            self.by_key.remove(&channel.key().0);
        }
    }

    pub fn get(&self, id: ChannelId) -> Option<&Channel> {
        self.by_id.get(usize::from(id.0))?.as_ref()
    }

    pub fn get_mut(&mut self, id: ChannelId) -> Option<&mut Channel> {
        self.by_id.get_mut(usize::from(id.0))?.as_mut()
    }

    /// The communicator of a key.
    pub fn of_key(&self, key: Key) -> Option<ChannelId> {
        self.by_key.get(&key.0).copied()
    }

    /// The communicator that a packet is for, if it may come to it so.
    pub fn receiver(&mut self, via: Via, header: &RawHeader) -> Option<ChannelId> {
        let header = header.unchecked();
        if self.get(self.last).is_none_or(|last| last.key() != header.key) {
            self.last = self.of_key(header.key)?;
        }
        self.get(self.last)?.admits(via, header).then_some(self.last)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Channel> {
        self.by_id.iter().flatten()
    }

    pub fn ids(&self) -> impl Iterator<Item = ChannelId> + use<> {
        (0..self.by_id.len() as u16).map(ChannelId)
    }

    /// Communicators in use here.
    pub fn open_count(&self) -> usize {
        self.open
    }

    /// Communicators that are closed here, and whose memory others may still use.
    pub fn left_count(&self) -> usize {
        self.iter().count() - self.open
    }

    /// Tells a communicator something, if it is still there.
    pub fn tell(&mut self, id: ChannelId, event: Event) {
        if let Some(channel) = self.get_mut(id) {
            channel.tell(event);
            if !channel.is_open() {
                self.forget(id);
            }
        }
    }

    /// A request that sends from a communicator's memory begins.
    pub fn begin(&mut self, id: ChannelId) {
        if let Some(channel) = self.get_mut(id) {
            channel.lifetime.begin_request();
        }
    }

    /// A process reaches into a communicator's memory no more.
    pub fn set_done(&mut self, id: ChannelId, process: ProcessId) {
        if let Some(channel) = self.get_mut(id) {
            channel.lifetime.set_done(process);
            self.forget(id);
        }
    }

    /// A packet came that is none of theirs.
    pub fn count_foreign(&mut self) {
        self.foreign += 1;
    }

    /// Packets that came and were none of theirs.
    pub fn foreign(&self) -> u64 {
        self.foreign
    }

    /// A packet came that nobody has written who may have.
    pub fn count_forged(&mut self) {
        self.forged += 1;
    }

    /// Packets that came with a wrong authentication code.
    pub fn forged(&self) -> u64 {
        self.forged
    }

    /// Packets wait for their communicator in buffers of the endpoint.
    pub fn set_slots(&mut self) {
        self.has_slots = true;
    }

    /// Whether packets may wait so.
    pub fn has_slots(&self) -> bool {
        self.has_slots
    }

    /// As [`has_slots`](Self::has_slots); from now on they do not.
    pub fn take_slots(&mut self) -> bool {
        std::mem::take(&mut self.has_slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbcast_core::rank::{Fragment, OpId, Rank};
    use verbcast_core::wire::{Header, Kind};

    const PROCESSES: [ProcessId; 3] = [ProcessId(0), ProcessId(1), ProcessId(2)];

    fn open(channels: &mut Demultiplexer, key: u64) -> Option<ChannelId> {
        channels.open(Channel::new(Key(key), Rank(0), PROCESSES.to_vec(), 0))
    }

    #[test]
    fn a_key_is_open_once_and_its_number_is_used_again() {
        let mut channels = Demultiplexer::default();
        let (first, second) = (open(&mut channels, 5).unwrap(), open(&mut channels, 6).unwrap());
        assert_eq!(open(&mut channels, 5), None);
        assert_eq!(channels.of_key(Key(6)), Some(second));
        channels.close(first, Vec::new(), &HashSet::new());
        assert_eq!((channels.of_key(Key(5)), channels.open_count()), (None, 1));
        assert_eq!(open(&mut channels, 7), Some(first));
    }

    #[test]
    fn what_no_rank_sends_so_is_for_nobody() {
        let mut channels = Demultiplexer::default();
        let id = open(&mut channels, 5);
        let mut receiver = |via, kind, source, key| {
            let (key, op, fragment) = (Key(key), OpId(0), Fragment(0));
            let source = Rank(source);
            let header =
                Header { kind, source, key, op, fragment, message_len: 0, report: 0, asks: false };
            channels.receiver(via, &RawHeader::parse(&header.emit(&[], true)).unwrap())
        };
        assert_eq!(receiver(Via::Multicast, Kind::Fragment, 2, 5), id);
        assert_eq!(receiver(Via::Reliable, Kind::Bye, 2, 5), id);
        assert_eq!(receiver(Via::Multicast, Kind::Fragment, 2, 6), None, "another key");
        for source in [3, u32::MAX] {
            assert_eq!(receiver(Via::Multicast, Kind::Fragment, source, 5), None);
            assert_eq!(receiver(Via::Reliable, Kind::Bye, source, 5), None);
        }
        assert_eq!(receiver(Via::Multicast, Kind::Bye, 2, 5), None);
        assert_eq!(receiver(Via::Reliable, Kind::Probe, 2, 5), None);
    }

    #[test]
    fn what_others_may_reach_stays_until_they_have_said_their_last() {
        let mut channels = Demultiplexer::default();
        let id = open(&mut channels, 5).unwrap();
        channels.begin(id);
        channels.set_done(id, PROCESSES[1]);
        channels.close(id, Vec::new(), &PROCESSES[1..].iter().copied().collect());
        assert_eq!((channels.open_count(), channels.left_count()), (0, 1));
        channels.set_done(id, PROCESSES[2]);
        assert_eq!(channels.left_count(), 1, "a send from its memory is under way");
        channels.tell(id, Event::RingSent { slot: 3, delivered: None });
        assert_eq!(channels.left_count(), 0);
    }
}
