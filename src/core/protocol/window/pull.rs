//! When a receiver reads what it misses from its repairer's ring, and how much at once.
//!
//! The ring says nothing of what is to come, so a receiver learns of a loss from a later fragment (a
//! gap), or from silence. Nothing is lost while fragments keep coming in order, however long they take. In a gap it
//! reads everything that was overtaken for longer than others have been that came by themselves (RFC 8985, section 6.2), and
//! not what follows; into silence it reads late, one fragment, and on from there only if that was there: in
//! the same broadcast at once, and soon in the next.
//! A root that is late costs its receivers a read now and then, with doubling pauses, and itself nothing.
//!
//! A repairer may be late itself. Who has not found there what it misses for as long as a silence is borne, and as a few reads of
//! its own would take it, goes on at each further look to those above it up to the root, until the repairer has something again.
//! Most often the repairer has lost the same and reads it as soon as it has its CPU, so that others read from afar only what it
//! does not get. So one that was late has the time of a read, too, before others go on: it may be late no more, and only due
//! after them.
//!
//! Those above may leave, with the memory that is read, as soon as the repairer has everything. So only those are read with whom there
//! was a connection, on which they would say so, when the repairer was looked at; and it is looked at again before each of them.

use super::arrivals::Arrivals;
use super::patience::{Bounds, Patience};
use crate::rank::{Fragment, OpId, Rank};
use crate::time::Instant;
use std::time::Duration;

/// Packets that are looked for at once, at most.
const AT_ONCE: usize = 16;
/// Reads, one after the other, in which a repairer that is not late comes by what it has lost itself.
const READS: u32 = 2;

/// A fragment that is read.
pub(super) type Wanted = (OpId, Fragment);

/// Looks at a repairer's ring that had nothing, since it had something.
#[derive(Clone, Copy, Debug)]
struct InVain {
    repairer: Rank,
    since: Instant,
    is_late: bool,
    /// It is late, and has until then for what is looked for now.
    until: Option<Instant>,
}

/// A read under way.
#[derive(Clone, Copy, Debug)]
struct Read {
    wanted: Wanted,
    /// How far above the repairer.
    up: usize,
    since: Instant,
}

/// A receiver's reading.
#[derive(Clone, Debug)]
pub(super) struct Pull {
    under_way: Vec<Read>,
    /// How long reads take.
    trips: Patience,
    /// How far above the repairer is read now.
    up: usize,
    /// How far above it this look goes next.
    next: usize,
    /// For an operation, those above its repairer who could be read when this look began, the nearest first.
    ladder: Option<(OpId, Vec<Rank>)>,
    in_vain: Option<InVain>,
    /// Fragments beyond what is known to have been sent that may be read.
    reach: u32,
    is_active: bool,
    due_at: Option<Instant>,
    arrivals: Arrivals,
    /// Since when a fragment is waited for.
    since: Instant,
    /// One was read since then, so that the pause until the next one comes says nothing of the way.
    was_repaired: bool,
    /// What is missing was sent for certain, as far as was heard of the last that came by itself.
    is_gap: bool,
    /// The last one that came was read into silence, so that what is missing next is there too, most likely.
    is_behind: bool,
    pause: Duration,
    bounds: Bounds,
}

impl Pull {
    pub fn new(bounds: Bounds) -> Self {
        Pull {
            under_way: Vec::new(),
            trips: Patience::new(bounds),
            up: 0,
            next: 1,
            ladder: None,
            in_vain: None,
            reach: 1,
            is_active: false,
            due_at: None,
            arrivals: Arrivals::new(bounds),
            since: Instant::ZERO,
            was_repaired: false,
            is_gap: false,
            is_behind: false,
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
            self.is_gap = false;
            self.wait_for_more(now);
            if self.is_behind {
                self.due_at = Some(now + self.lateness(now));
            }
        }
    }

    /// A fragment came by itself that was missing.
    pub fn arrived(&mut self, now: Instant) {
        if !self.was_repaired {
            self.arrivals.paused(now, now - self.since);
        }
        self.since = now;
        self.was_repaired = false;
        self.is_behind = false;
    }

    /// Others are missing after a fragment came by itself. One that came in order ends what was read into silence; behind
    /// a gap, what is missing is due soon, and stays due when it was.
    pub fn heard(&mut self, now: Instant, is_gap: bool) {
        self.is_gap = is_gap;
        if !is_gap {
            self.wait_for_more(now);
            self.forgive();
        } else if !self.is_active {
            self.pause = self.lateness(now);
            self.fall_due(now + self.pause);
        }
    }

    /// What a gap was has been read, and others are missing of which nothing tells that they were sent: they may be on their way,
    /// or lost as well.
    pub fn filled(&mut self, now: Instant) {
        if self.is_gap {
            self.is_gap = false;
            self.wait_for_more(now);
            self.fall_due(now + self.pause);
        }
    }

    /// What is missing now had been overtaken since then already, before its broadcast began here.
    pub fn overtaken(&mut self, now: Instant, since: Instant) {
        self.is_gap = true;
        if !self.is_active {
            self.pause = self.lateness(now);
            self.fall_due(now.max(since + self.pause));
        }
    }

    /// What came now by itself had been overtaken since then.
    pub fn came_late(&mut self, now: Instant, since: Instant) {
        self.arrivals.late(now, now - since);
    }

    /// For how long a fragment that was overtaken may still come by itself; if longer than a read takes, it is not waited for.
    pub fn late(&self, now: Instant) -> Duration {
        self.arrivals.latest(now).min(self.trips.timeout())
    }

    /// How long after it was overtaken a fragment is read.
    fn lateness(&self, now: Instant) -> Duration {
        self.arrivals.usual().max(self.late(now))
    }

    fn fall_due(&mut self, at: Instant) {
        self.due_at = Some(self.due_at.map_or(at, |sooner| sooner.min(at)));
    }

    /// What is missing now may be on its way.
    fn wait_for_more(&mut self, now: Instant) {
        self.is_active = false;
        self.reach = 1;
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
        self.is_gap = false;
        self.due_at = None;
        self.reach = 1;
        self.forgive();
    }

    /// What is missing from now on says nothing of what was looked for before, but of a repairer that is late.
    fn forgive(&mut self) {
        self.in_vain = self.in_vain.filter(|in_vain| in_vain.is_late);
    }

    pub fn due_at(&self) -> Option<Instant> {
        self.due_at
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        if self.due_at.is_some_and(|at| at <= now) {
            self.due_at = None;
            self.is_active = true;
            self.up = 0;
            self.next = 1;
            self.ladder = None;
        }
    }

    /// How many fragments may be read now beyond what is known to have been sent; `None` where nothing
    /// may be read.
    pub fn reach(&self) -> Option<u32> {
        (self.is_active && self.under_way.len() < AT_ONCE).then_some(self.reach)
    }

    /// Whether nothing is read, or to be read now.
    pub fn is_idle(&self) -> bool {
        !self.is_active && self.under_way.is_empty()
    }

    pub fn is_under_way(&self, wanted: Wanted) -> bool {
        self.under_way.iter().any(|read| read.wanted == wanted)
    }

    /// How far above the repairer is read.
    pub fn up(&self) -> usize {
        self.up
    }

    /// Whether a look at a repairer goes on above it if there is nothing.
    pub fn is_late(&mut self, now: Instant, repairer: Rank) -> bool {
        let borne = self.silence().max(self.trips.timeout() * READS);
        let Some(in_vain) = self.in_vain.as_mut().filter(|known| known.repairer == repairer) else {
            return false;
        };
        if !in_vain.is_late && now - in_vain.since >= borne {
            in_vain.is_late = true;
            in_vain.until = Some(now);
        }
        in_vain.is_late
    }

    /// Those above the repairer who could be read when this look began; none are known for another operation.
    pub fn ladder(&self, op: OpId) -> Option<&[Rank]> {
        let (of, ladder) = self.ladder.as_ref()?;
        (*of == op).then_some(ladder)
    }

    /// Who can be read above the repairer of an operation, the nearest first; in this look it stays so.
    pub fn climb(&mut self, op: OpId, ladder: Vec<Rank>) {
        self.ladder = Some((op, ladder));
    }

    pub fn started(&mut self, now: Instant, wanted: Wanted) {
        self.under_way.push(Read { wanted, up: self.up, since: now });
    }

    /// Nothing that may be read now is missing: wait for more.
    pub fn pause(&mut self, now: Instant) {
        if self.is_active && self.under_way.is_empty() {
            self.is_active = false;
            self.due_at = Some(now + self.pause.max(self.bounds.least));
        }
    }

    /// A read found its fragment, so what follows it may be there too.
    pub fn found(&mut self, now: Instant, wanted: Wanted) {
        match (self.answered(now, wanted), &mut self.in_vain) {
            (Some(0), in_vain) => {
                *in_vain = None;
                self.ladder = None;
            }
            (Some(_), Some(in_vain)) => in_vain.until = None,
            _ => {}
        }
        self.was_repaired = true;
        self.is_behind = !self.is_gap;
        if self.is_active {
            self.reach = AT_ONCE as u32;
        }
    }

    /// A read of a rank's ring found nothing yet.
    pub fn missed(&mut self, now: Instant, from: Rank, wanted: Wanted) {
        let up = self.answered(now, wanted);
        self.reach = 1;
        self.is_behind = false;
        // Others of the same look may have sent it on already.
        if !self.is_active || up != Some(self.up) {
            return;
        }
        let rungs = self.ladder(wanted.0).map_or(0, <[Rank]>::len);
        if self.up == 0 {
            let known = self.in_vain.filter(|known| known.repairer == from);
            let first = InVain { repairer: from, since: now, is_late: false, until: None };
            let in_vain = self.in_vain.insert(known.unwrap_or(first));
            if in_vain.is_late && self.next == 1 {
                // What comes meanwhile has it looked at sooner, but others no sooner.
                let until = *in_vain.until.get_or_insert(now + self.trips.timeout());
                if now < until {
                    self.is_active = false;
                    self.due_at = Some(until);
                    return;
                }
            }
            if self.next <= rungs {
                self.up = self.next;
                return;
            }
        } else if self.up < rungs {
            self.next = self.up + 1;
            self.up = 0;
            return;
        }
        self.give_up(now);
    }

    /// A look has found nothing, wherever it could.
    pub fn give_up(&mut self, now: Instant) {
        self.is_active = false;
        self.pause = (self.pause * 2).clamp(self.bounds.least, self.bounds.most);
        self.due_at = Some(now + self.pause);
    }

    /// The repairer cannot be read any more.
    pub fn forget(&mut self) {
        self.under_way.clear();
    }

    /// The answer of a read is here; how far above the repairer it was.
    fn answered(&mut self, now: Instant, wanted: Wanted) -> Option<usize> {
        let read = self.ended(wanted)?;
        self.trips.measured(now - read.since);
        Some(read.up)
    }

    fn ended(&mut self, wanted: Wanted) -> Option<Read> {
        let at = self.under_way.iter().position(|read| read.wanted == wanted)?;
        Some(self.under_way.swap_remove(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const REPAIRER: Rank = Rank(1);

    /// A look at a repairer, by a read that takes so long, that finds nothing; when it is over.
    fn look_in_vain(pull: &mut Pull, now: Instant, wanted: Wanted, read: Duration) -> Instant {
        let now = now.max(pull.due_at().expect("a look is due"));
        pull.handle_timeout(now);
        pull.started(now, wanted);
        pull.missed(now + read, REPAIRER, wanted);
        now + read
    }

    /// Looks at a repairer that has nothing, each a read that takes so long, until it is late; how long after the first answer
    /// that was, and when.
    fn until_late(pull: &mut Pull, wanted: Wanted, read: Duration) -> (Duration, Instant) {
        let mut now = Instant::ZERO;
        pull.begin(now);
        let mut first_answer = None;
        while !pull.is_late(now, REPAIRER) {
            now = look_in_vain(pull, now, wanted, read);
            first_answer.get_or_insert(now);
            assert!(now < Instant::ZERO + 1_000 * MS, "it is late in the end");
        }
        (now - first_answer.expect("a look was in vain"), now)
    }

    #[test]
    fn a_repairer_has_the_time_of_a_few_reads_of_its_own() {
        let wanted = (OpId(0), Fragment(0));
        let late_after = |read| until_late(&mut Pull::new(Bounds::default()), wanted, read).0;
        assert!(late_after(MS / 100) < 20 * MS, "silence alone counts where reads are short");
        assert!(late_after(40 * MS) >= 80 * MS, "it had to read once, and to find nothing once");
    }

    #[test]
    fn what_may_still_come_is_not_waited_for_longer_than_a_read_takes() {
        let mut pull = Pull::new(Bounds::default());
        let (since, now) = (Instant::ZERO, Instant::ZERO + 50 * MS);
        pull.came_late(now, since);
        pull.started(now, (OpId(0), Fragment(0)));
        pull.found(now + MS, (OpId(0), Fragment(0)));
        assert!(pull.late(now) >= MS && pull.late(now) < 5 * MS, "{:?}", pull.late(now));
    }

    #[test]
    fn a_repairer_that_was_late_has_the_time_of_a_read_for_each_further_loss() {
        let mut pull = Pull::new(Bounds::default());
        let [first, second, third] = [0, 1, 2].map(|op| (OpId(op), Fragment(0)));
        let (_, now) = until_late(&mut pull, first, MS);
        let above = |pull: &mut Pull, op| pull.climb(op, vec![Rank(0)]);

        // It has had its time, so that the look goes on above it.
        let now = now.max(pull.due_at().unwrap());
        pull.handle_timeout(now);
        above(&mut pull, first.0);
        pull.started(now, first);
        pull.missed(now, REPAIRER, first);
        assert_eq!((pull.reach(), pull.up()), (Some(1), 1));
        pull.started(now, first);
        pull.found(now + MS, first);
        pull.rest();

        // The next loss it may have read when it is looked at again, and is late no more.
        pull.begin(now);
        let now = now.max(pull.due_at().unwrap());
        pull.handle_timeout(now);
        above(&mut pull, second.0);
        assert!(pull.is_late(now, REPAIRER));
        pull.started(now, second);
        pull.missed(now, REPAIRER, second);
        assert_eq!(pull.reach(), None, "it has the time of a read");
        let again = pull.due_at().unwrap();

        // Others that come meanwhile do not shorten it.
        pull.heard(now, true);
        let sooner = pull.due_at().unwrap();
        assert!(sooner < again);
        pull.handle_timeout(sooner);
        above(&mut pull, second.0);
        pull.started(sooner, second);
        pull.missed(sooner, REPAIRER, second);
        assert_eq!((pull.reach(), pull.due_at()), (None, Some(again)));
        assert!(again > now && again <= now + 10 * MS, "{:?}", again - now);
        pull.handle_timeout(again);
        pull.started(again, second);
        pull.found(again, second);
        assert!(!pull.is_late(again, REPAIRER));
        pull.rest();

        pull.begin(again);
        look_in_vain(&mut pull, again, third, MS);
        assert!(!pull.is_late(again + MS, REPAIRER));
    }
}
