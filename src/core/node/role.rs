//! Who receives for a node.

use crate::time::Instant;
use std::time::Duration;

/// The place of a process among those that share a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MateIndex(pub u16);

/// How long a receiver may leave its word as it is before a mate that polls takes its place: longer than a process waits for
/// a core that others use too, and short beside what a repair costs.
pub const PATIENCE: Duration = Duration::from_micros(500);
/// The least turns of the mate in that time. A mate that has had none itself cannot blame the receiver: perhaps no process
/// has had any.
const MIN_TURNS: u32 = 8;
/// After a device has refused to attach its QP, a mate leaves the place to others for so long.
pub(super) const REFUSAL: Duration = Duration::from_secs(1);
/// How long a mate sleeps at most that nobody would wake: no wait of a rank shall be longer by more than this for it.
const MAX_SLEEP_UNWOKEN: Duration = Duration::from_millis(1);
/// How long one sleeps at most that is woken when something is published. It looks nevertheless, as the receiver may have been
/// stopped in its sleep.
const MAX_SLEEP: Duration = Duration::from_millis(4);
/// The beat has the lower bits of the word.
const BEAT_BITS: u32 = 48;

/// The word in the memory that a node shares: who receives, and a number that it changes whenever it polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// Who receives, if somebody does.
    pub holder: Option<MateIndex>,
    beat: u64,
}

impl Role {
    /// The role that a word tells.
    pub fn of(word: u64) -> Self {
        let holder = ((word >> BEAT_BITS) as u16).checked_sub(1).map(MateIndex);
        Role { holder, beat: word & ((1 << BEAT_BITS) - 1) }
    }

    /// The word when its holder has polled once more.
    pub fn beaten(self) -> u64 {
        self.next(self.holder).to
    }

    fn word(self) -> u64 {
        let holder = self.holder.map_or(0, |MateIndex(index)| u64::from(index) + 1);
        holder << BEAT_BITS | (self.beat & ((1 << BEAT_BITS) - 1))
    }

    fn next(self, holder: Option<MateIndex>) -> Change {
        Change { from: self.word(), to: Role { holder, beat: self.beat + 1 }.word() }
    }
}

/// How long a mate that waits sleeps at most: whether it is woken when something is published, and whether there is somebody
/// to publish what comes, because a receiver that sleeps is woken by its device.
pub fn longest_sleep(is_woken: bool, is_received_for: bool) -> Duration {
    if is_woken && is_received_for { MAX_SLEEP } else { MAX_SLEEP_UNWOKEN }
}

/// A change of the word, by compare and exchange: it is made only if the word is still the one that it was decided on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// What the word must be.
    pub from: u64,
    /// What it is to become.
    pub to: u64,
}

/// A process's view of who receives.
#[derive(Clone, Debug)]
pub struct Watch {
    own: MateIndex,
    /// The word, since when it has stood so, and turns of this process since.
    seen: Option<(u64, Instant, u32)>,
    is_receiver: bool,
    refused_until: Instant,
}

impl Watch {
    /// The view of one of the processes that share a node.
    pub fn new(own: MateIndex) -> Self {
        Watch { own, seen: None, is_receiver: false, refused_until: Instant::ZERO }
    }

    /// Whether this process receives, as far as it knows.
    pub fn is_receiver(&self) -> bool {
        self.is_receiver
    }

    /// This process polls, and the word is this; the change that is to be tried, if there is one. The caller says with
    /// [`changed`](Self::changed) whether it was made. Afterwards [`is_receiver`](Self::is_receiver) may answer otherwise.
    pub fn turn(&mut self, now: Instant, word: u64) -> Option<Change> {
        let role = Role::of(word);
        if role.holder == Some(self.own) {
            self.is_receiver = true;
            return Some(role.next(Some(self.own)));
        }
        self.is_receiver = false;
        if now < self.refused_until {
            return None;
        }
        let take = role.next(Some(self.own));
        if role.holder.is_none() {
            return Some(take);
        }
        match &mut self.seen {
            Some((seen, since, turns)) if *seen == word => {
                *turns += 1;
                (*turns >= MIN_TURNS && now - *since >= PATIENCE).then_some(take)
            }
            seen => {
                *seen = Some((word, now, 0));
                None
            }
        }
    }

    /// Whether a change was made. If it was not, somebody else has changed the word: the next turn sees to what.
    pub fn changed(&mut self, change: Change, is_made: bool) {
        if is_made {
            self.seen = None;
            self.is_receiver = Role::of(change.to).holder == Some(self.own);
        }
    }

    /// The change by which this process stops to receive, so that a mate need not wait before it does; none if it does not
    /// receive.
    pub fn resign(&mut self, word: u64) -> Option<Change> {
        self.is_receiver = false;
        let role = Role::of(word);
        (role.holder == Some(self.own)).then(|| role.next(None))
    }

    /// This process cannot receive now; it leaves the place to its mates for a while.
    pub fn refuse(&mut self, now: Instant) {
        self.refused_until = now + REFUSAL;
    }

    /// When to take the next turn at the latest, for a process that waits.
    pub fn due(&self, now: Instant) -> Instant {
        now + PATIENCE / MIN_TURNS
    }
}
