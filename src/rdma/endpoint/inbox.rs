//! What a communicator was told, and has not taken yet.

use super::event::Event;
use std::collections::VecDeque;
use verbcast_core::protocol::Via;
use verbcast_core::rank::Rank;

/// The events of one communicator, and the connections that broke.
#[derive(Debug, Default)]
pub struct Inbox {
    events: VecDeque<Event>,
    /// Datagrams among the events.
    datagrams: usize,
    /// Broken connections, to be reported when everything received before is.
    broken: VecDeque<(Rank, String)>,
    /// Datagrams that were dropped while others polled.
    overflowed: u64,
    /// Times that no receives were posted for datagrams of others.
    ran_out: u64,
}

impl Inbox {
    /// Adds an event.
    pub fn push(&mut self, event: Event) {
        self.datagrams += usize::from(is_datagram(&event));
        self.events.push_back(event);
    }

    /// The next event.
    pub fn next(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        self.datagrams -= usize::from(is_datagram(&event));
        Some(event)
    }

    /// Takes all events out.
    pub fn take(&mut self) -> VecDeque<Event> {
        self.datagrams = 0;
        std::mem::take(&mut self.events)
    }

    /// Puts events back that were taken out, before what has come since.
    pub fn put_back(&mut self, mut events: VecDeque<Event>) {
        events.append(&mut self.events);
        self.datagrams = events.iter().filter(|event| is_datagram(event)).count();
        self.events = events;
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Whether there is an event or a broken connection.
    pub fn has_news(&self) -> bool {
        !self.events.is_empty() || !self.broken.is_empty()
    }

    /// Whether there is a broken connection.
    pub fn has_broken(&self) -> bool {
        !self.broken.is_empty()
    }

    /// Datagrams among the events.
    pub fn datagrams(&self) -> usize {
        self.datagrams
    }

    /// The connection with a rank is broken.
    pub fn push_broken(&mut self, rank: Rank, reason: &str) {
        self.broken.push_back((rank, reason.to_owned()));
    }

    /// The next broken connection.
    pub fn next_broken(&mut self) -> Option<(Rank, String)> {
        self.broken.pop_front()
    }

    /// A datagram was dropped.
    pub fn overflow(&mut self) {
        self.overflowed += 1;
    }

    /// Datagrams that were dropped while others polled.
    pub fn overflowed(&self) -> u64 {
        self.overflowed
    }

    /// There had been no receive for datagrams of others.
    pub fn run_out(&mut self) {
        self.ran_out += 1;
    }

    /// How often that was so.
    pub fn ran_out(&self) -> u64 {
        self.ran_out
    }
}

/// Whether an event brings a datagram.
fn is_datagram(event: &Event) -> bool {
    matches!(event, Event::Packet { via: Via::Multicast, .. })
}
