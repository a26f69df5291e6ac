//! Turns that have nothing to do, which are most turns of a rank that waits.
//!
//! What a core wants to send, its events and its timers follow from what it was handed, and from the room that there was.
//! A turn sends until the core wants nothing. So after one in which it was refused nothing, and if nothing else waits, there
//! is nothing to ask until something comes, somebody calls, or a time has come.

use crate::protocol::Room;
use crate::rank::Rank;
use crate::time::Instant;
use std::cell::Cell;

/// Whether the next turn may end when nothing has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Rest {
    /// It may not: something has changed, or waits for what is not told.
    #[default]
    Disturbed,
    /// It may until a time, if there is one.
    Until(Option<Instant>),
}

impl Rest {
    /// Whether nothing has changed, and it is not time to do anything.
    pub fn lasts(self, now: Instant) -> bool {
        match self {
            Rest::Disturbed => false,
            Rest::Until(until) => until.is_none_or(|until| now < until),
        }
    }
}

/// Broadcasts that a root sends one behind the other without a look at what has come, at most.
const UNSEEN: u32 = 16;

/// When a rank looked last at what has come, and what it has sent since.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looked {
    pub at: Instant,
    sent: u32,
}

impl Looked {
    /// This rank looks.
    pub fn now(now: Instant) -> Self {
        Looked { at: now, sent: 0 }
    }

    /// It sends something without a look.
    pub fn sent(&mut self) {
        self.sent += 1;
    }

    /// Whether it may send more before it looks.
    pub fn is_recent(self) -> bool {
        self.sent < UNSEEN
    }
}

/// The room of a transport, which notes whether there was none for something.
#[derive(Debug)]
pub(super) struct NotedRoom<'a, R> {
    room: &'a R,
    is_refused: Cell<bool>,
}

impl<'a, R: Room> NotedRoom<'a, R> {
    pub fn new(room: &'a R) -> Self {
        NotedRoom { room, is_refused: Cell::new(false) }
    }

    /// Whether somebody asked for room that there was not.
    pub fn is_refused(&self) -> bool {
        self.is_refused.get()
    }

    fn note(&self, room: usize) -> usize {
        if room == 0 {
            self.is_refused.set(true);
        }
        room
    }
}

impl<R: Room> Room for NotedRoom<'_, R> {
    fn multicast_room(&self) -> usize {
        self.note(self.room.multicast_room())
    }

    fn reliable_room(&self, to: Rank) -> usize {
        self.note(self.room.reliable_room(to))
    }

    fn report_room(&self, to: Rank) -> usize {
        self.note(self.room.report_room(to))
    }

    fn fetch_room(&self, from: Rank) -> usize {
        self.note(self.room.fetch_room(from))
    }

    fn is_in_reach(&self, from: Rank) -> bool {
        self.room.is_in_reach(from)
    }

    fn is_idle(&self, slot: u32) -> bool {
        let is_idle = self.room.is_idle(slot);
        self.note(is_idle.into()) > 0
    }
}
