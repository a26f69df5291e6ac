//! When a receiver reads what it misses from its repairer's ring, and how much at once.
//!
//! The ring says nothing of what is to come, so a receiver learns of a loss from a later fragment (a
//! gap), or from silence. Nothing is lost while fragments keep coming in order, however long they take. In a gap it soon
//! reads everything that is missing; into silence it reads late, one fragment, and on from there only if that was there.
//! A root that is late costs its receivers a read now and then, with doubling pauses, and itself nothing.

use super::arrivals::Arrivals;
use super::patience::Bounds;
use crate::rank::{Fragment, OpId};
use crate::time::Instant;
use std::time::Duration;

/// Reads under way at most.
const AT_ONCE: usize = 4;

/// A fragment that is read.
pub(super) type Wanted = (OpId, Fragment);

/// A receiver's reading.
#[derive(Clone, Debug)]
pub(super) struct Pull {
    under_way: Vec<Wanted>,
    /// Fragments beyond what is known to have been sent that may be read.
    reach: u32,
    is_active: bool,
    due_at: Option<Instant>,
    arrivals: Arrivals,
    /// Since when a fragment is waited for.
    since: Instant,
    /// One was read since then, so that the pause until the next one comes says nothing of the way.
    was_repaired: bool,
    pause: Duration,
    bounds: Bounds,
}

impl Pull {
    pub fn new(bounds: Bounds) -> Self {
        Pull {
            under_way: Vec::new(),
            reach: 1,
            is_active: false,
            due_at: None,
            arrivals: Arrivals::new(bounds),
            since: Instant::ZERO,
            was_repaired: false,
            pause: Duration::ZERO,
            bounds,
        }
    }

    /// After how long of silence a fragment may be lost.
    pub fn silence(&self) -> Duration {
        self.arrivals.silence()
    }

    /// Something is missing from now on.
    pub fn begin(&mut self, now: Instant) {
        if self.due_at.is_none() && !self.is_active {
            self.since = now;
            self.was_repaired = false;
            self.wait_for_more(now);
        }
    }

    /// A fragment came by itself that was missing.
    pub fn arrived(&mut self, now: Instant) {
        if !self.was_repaired {
            self.arrivals.paused(now, now - self.since);
        }
        self.since = now;
        self.was_repaired = false;
    }

    /// Others are missing after a fragment came by itself. One that came in order ends what was read into silence; behind
    /// a gap, what is missing is due soon, and stays due when it was.
    pub fn heard(&mut self, now: Instant, is_gap: bool) {
        if !is_gap {
            self.is_active = false;
            self.reach = 1;
            self.wait_for_more(now);
        } else if !self.is_active {
            self.pause = self.arrivals.overtaken();
            let soon = now + self.pause;
            self.due_at = Some(self.due_at.map_or(soon, |at| at.min(soon)));
        }
    }

    fn wait_for_more(&mut self, now: Instant) {
        self.pause = self.arrivals.longest();
        self.due_at = Some(now + self.arrivals.silence());
    }

    /// A fragment is here, whatever a read of it will find.
    pub fn came(&mut self, wanted: Wanted) {
        self.ended(wanted);
    }

    /// Nothing is missing any more.
    pub fn rest(&mut self) {
        self.is_active = false;
        self.due_at = None;
        self.reach = 1;
    }

    pub fn due_at(&self) -> Option<Instant> {
        self.due_at
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        if self.due_at.is_some_and(|at| at <= now) {
            self.due_at = None;
            self.is_active = true;
        }
    }

    /// How many fragments may be read now beyond what is known to have been sent; `None` where nothing
    /// may be read.
    pub fn reach(&self) -> Option<u32> {
        (self.is_active && self.under_way.len() < AT_ONCE).then_some(self.reach)
    }

    pub fn is_under_way(&self, wanted: Wanted) -> bool {
        self.under_way.contains(&wanted)
    }

    pub fn started(&mut self, wanted: Wanted) {
        self.under_way.push(wanted);
    }

    /// Nothing that may be read now is missing: wait for more.
    pub fn pause(&mut self, now: Instant) {
        if self.is_active && self.under_way.is_empty() {
            self.is_active = false;
            self.due_at = Some(now + self.pause.max(self.bounds.least));
        }
    }

    /// A read found its fragment, so what follows it may be there too.
    pub fn found(&mut self, wanted: Wanted) {
        self.ended(wanted);
        self.was_repaired = true;
        if self.is_active {
            self.reach = AT_ONCE as u32;
        }
    }

    /// A read found nothing yet.
    pub fn missed(&mut self, now: Instant, wanted: Wanted) {
        self.ended(wanted);
        self.reach = 1;
        if self.is_active {
            self.is_active = false;
            self.pause = (self.pause * 2).clamp(self.bounds.least, self.bounds.most);
            self.due_at = Some(now + self.pause);
        }
    }

    /// The repairer cannot be read any more.
    pub fn forget(&mut self) {
        self.under_way.clear();
    }

    fn ended(&mut self, wanted: Wanted) {
        self.under_way.retain(|known| *known != wanted);
    }
}
