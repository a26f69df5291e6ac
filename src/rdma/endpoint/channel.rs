//! What an endpoint knows of the communicators that use it.

use super::event::{Body, Event};
use crate::rdma::ids::{ChannelId, ProcessId};
use std::collections::{HashMap, HashSet, VecDeque};
use verbcast_core::protocol::Via;
use verbcast_core::rank::Rank;
use verbcast_core::wire::Key;
use verbcast_verbs::Span;

/// One communicator at its endpoint.
#[derive(Debug)]
pub struct Channel {
    pub key: Key,
    /// This process's rank.
    pub rank: Rank,
    /// The process of each rank, and the other way round.
    pub processes: Vec<ProcessId>,
    ranks: HashMap<ProcessId, Rank>,
    /// What has happened, and was not taken yet.
    pub events: VecDeque<Event>,
    /// Broken connections, to be reported when everything received before is.
    pub broken: VecDeque<(Rank, String)>,
    /// Processes that have left it, so that nothing is owed to them.
    pub departed: HashSet<ProcessId>,
    /// Processes that reach into its memory no more: they have said their last, and their adapters
    /// have done everything that they asked for before.
    pub done: HashSet<ProcessId>,
    /// Processes that are to be told when this one reaches into their memory no more.
    pub inquirers: HashSet<ProcessId>,
    /// Requests under way that send from its memory.
    pub requests: usize,
    /// Datagrams among the events that are copies.
    copies: usize,
    /// Datagrams that were dropped while others polled.
    pub overflowed: u64,
    /// Its memory, once it is closed here.
    left: Option<Left>,
}

/// What is left of a communicator that is closed here.
#[derive(Debug)]
struct Left {
    /// Keeps the memory registered while requests use it.
    _memory: Vec<Span>,
    /// Processes that may still reach into it.
    awaited: HashSet<ProcessId>,
}

impl Channel {
    pub fn new(key: Key, rank: Rank, processes: Vec<ProcessId>) -> Self {
        let ranks = processes.iter().copied().zip((0..).map(Rank)).collect();
        Channel {
            key,
            rank,
            processes,
            ranks,
            events: VecDeque::new(),
            broken: VecDeque::new(),
            departed: HashSet::new(),
            done: HashSet::new(),
            inquirers: HashSet::new(),
            requests: 0,
            copies: 0,
            overflowed: 0,
            left: None,
        }
    }

    /// The rank of a process, if it has one.
    pub fn rank_of(&self, process: ProcessId) -> Option<Rank> {
        self.ranks.get(&process).copied()
    }

    /// Whether it is in use here.
    pub fn is_open(&self) -> bool {
        self.left.is_none()
    }

    /// Whether it is in use here with a process.
    pub fn has(&self, process: ProcessId) -> bool {
        self.is_open() && self.ranks.contains_key(&process) && !self.departed.contains(&process)
    }

    /// The next event.
    pub fn next(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        self.copies -= usize::from(is_copy(&event));
        Some(event)
    }

    /// Datagrams among the events that are copies.
    pub fn copies(&self) -> usize {
        self.copies
    }

    fn tell(&mut self, event: Event) {
        // What uses its memory ends with one of these.
        let has_ended = matches!(event, Event::RingSent { .. } | Event::Reported { .. });
        self.requests -= usize::from(has_ended);
        if self.is_open() {
            self.copies += usize::from(is_copy(&event));
            self.events.push_back(event);
        }
    }

    /// Puts an event back that was taken.
    pub fn restore(&mut self, event: Event) {
        self.copies += usize::from(is_copy(&event));
        self.events.push_back(event);
    }

    /// Replaces all events.
    pub fn set_events(&mut self, events: VecDeque<Event>) {
        self.copies = events.iter().filter(|event| is_copy(event)).count();
        self.events = events;
    }

    /// A process reaches into its memory no more.
    pub fn is_done(&mut self, process: ProcessId) {
        self.done.insert(process);
        if let Some(left) = &mut self.left {
            left.awaited.remove(&process);
        }
    }

    fn is_over(&self) -> bool {
        self.requests == 0 && self.left.as_ref().is_some_and(|left| left.awaited.is_empty())
    }
}

/// Whether an event brings a copy of a datagram.
fn is_copy(event: &Event) -> bool {
    matches!(event, Event::Packet { via: Via::Multicast, body: Body::Copy(_), .. })
}

/// All communicators of an endpoint.
#[derive(Debug, Default)]
pub struct Channels {
    by_id: Vec<Option<Channel>>,
    by_key: HashMap<u64, ChannelId>,
    open: usize,
}

impl Channels {
    /// Adds a communicator; `None` where there are too many, or one of its key.
    pub fn open(&mut self, channel: Channel) -> Option<ChannelId> {
        if self.by_key.contains_key(&channel.key.0) {
            return None;
        }
        let free = self.by_id.iter().position(Option::is_none).unwrap_or(self.by_id.len());
        let id = ChannelId(u16::try_from(free).ok()?);
        if free == self.by_id.len() {
            self.by_id.push(None);
        }
        self.by_key.insert(channel.key.0, id);
        self.by_id[free] = Some(channel);
        self.open += 1;
        Some(id)
    }

    /// A communicator is closed here. Its `memory` is kept while requests use it and `awaited` processes may
    /// reach into it.
    pub fn leave(&mut self, id: ChannelId, memory: Vec<Span>, awaited: HashSet<ProcessId>) {
        let Some(channel) = self.get_mut(id) else { return };
        let awaited = awaited.difference(&channel.done).copied().collect();
        channel.left = Some(Left { _memory: memory, awaited });
        self.open -= 1;
        self.forget(id);
    }

    /// Forgets a communicator that is closed here, once nobody uses its memory.
    pub fn forget(&mut self, id: ChannelId) {
        let place = self.by_id.get_mut(usize::from(id.0));
        if let Some(place) = place
            && let Some(channel) = place.take_if(|channel| channel.is_over())
        {
            self.by_key.remove(&channel.key.0);
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
            channel.requests += 1;
        }
    }

    /// A process reaches into a communicator's memory no more.
    pub fn is_done(&mut self, id: ChannelId, process: ProcessId) {
        if let Some(channel) = self.get_mut(id) {
            channel.is_done(process);
            self.forget(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROCESSES: [ProcessId; 3] = [ProcessId(0), ProcessId(1), ProcessId(2)];

    fn open(channels: &mut Channels, key: u64) -> Option<ChannelId> {
        channels.open(Channel::new(Key(key), Rank(0), PROCESSES.to_vec()))
    }

    #[test]
    fn a_key_is_open_once_and_its_number_is_used_again() {
        let mut channels = Channels::default();
        let (first, second) = (open(&mut channels, 5).unwrap(), open(&mut channels, 6).unwrap());
        assert_eq!(open(&mut channels, 5), None);
        assert_eq!(channels.of_key(Key(6)), Some(second));
        channels.leave(first, Vec::new(), HashSet::new());
        assert_eq!((channels.of_key(Key(5)), channels.open_count()), (None, 1));
        assert_eq!(open(&mut channels, 7), Some(first));
    }

    #[test]
    fn what_others_may_reach_stays_until_they_have_said_their_last() {
        let mut channels = Channels::default();
        let id = open(&mut channels, 5).unwrap();
        channels.begin(id);
        channels.is_done(id, PROCESSES[1]);
        channels.leave(id, Vec::new(), PROCESSES[1..].iter().copied().collect());
        assert_eq!((channels.open_count(), channels.left_count()), (0, 1));
        channels.is_done(id, PROCESSES[2]);
        assert_eq!(channels.left_count(), 1, "a send from its memory is under way");
        channels.tell(id, Event::RingSent { slot: 3, delivered: None });
        assert_eq!(channels.left_count(), 0);
    }
}
