//! Who receives for a node.

use super::handover::Handover;
use crate::time::Instant;
use std::time::Duration;

/// The place of a process among those that share a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MateIndex(pub u16);

/// How long a receiver that does something else may leave its word as it is before a mate that polls takes its place: short
/// beside what a repair costs.
pub const PATIENCE: Duration = Duration::from_millis(2);
/// The same of a receiver that waits for messages itself, so that it lacks nothing but a core: longer than a process waits for
/// one that many use. Only one that was stopped in its wait has its mates wait as long.
pub const WAITER_PATIENCE: Duration = Duration::from_millis(50);
/// The same of a receiver that sleeps: it looks by itself after 4 ms at the latest, or is woken by its device, so that
/// only one that was stopped in its sleep takes longer.
pub const SLEEPER_PATIENCE: Duration = Duration::from_millis(12);
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
/// The beat has the lower bits of the word, whether the holder waits the next one.
const BEAT_BITS: u32 = 47;
const WAITS: u64 = 1 << BEAT_BITS;
const HOLDER_AT: u32 = BEAT_BITS + 1;

/// The word in the memory that a node shares: who receives, whether it waits for messages, and a number that it changes
/// whenever it polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// Who receives, if somebody does.
    pub holder: Option<MateIndex>,
    waits: bool,
    beat: u64,
}

impl Role {
    /// The role that a word tells.
    pub fn of(word: u64) -> Self {
        let holder = ((word >> HOLDER_AT) as u16).checked_sub(1).map(MateIndex);
        Role { holder, waits: word & WAITS != 0, beat: word & (WAITS - 1) }
    }

    /// The word when its holder, which waits or not, has polled once more.
    pub fn beaten(self, waits: bool) -> u64 {
        self.next(self.holder, waits).to
    }

    /// Whether its holder has polled once more with a later one.
    fn is_followed_by(self, later: Role) -> bool {
        self.holder.is_some() && self.holder == later.holder && self != later
    }

    fn word(self) -> u64 {
        let holder = self.holder.map_or(0, |MateIndex(index)| u64::from(index) + 1);
        let waits = if self.waits { WAITS } else { 0 };
        holder << HOLDER_AT | waits | (self.beat & (WAITS - 1))
    }

    fn next(self, holder: Option<MateIndex>, waits: bool) -> Change {
        Change { from: self.word(), to: Role { holder, waits, beat: self.beat + 1 }.word() }
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

/// A process's view of who receives, and its own part in it; `D` tells one datagram from another.
#[derive(Clone, Debug)]
pub struct Watch<D> {
    own: MateIndex,
    part: Part,
    /// It waits for messages, and does nothing else.
    waits: bool,
    handover: Handover<D>,
    /// Another receiver.
    standing: Option<Standing>,
    refused_until: Instant,
}

/// A process's part in receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// It takes what others publish.
    Mate,
    Receiver,
    /// It was the receiver, until another one took its place, with this word. None once that one has polled since.
    Former(Option<Role>),
}

/// What a process that polls sees besides the word.
#[derive(Clone, Copy, Debug, Default)]
pub struct Around {
    /// The receiver that the word names sleeps.
    pub receiver_sleeps: bool,
    /// Its last look at what came off the wire for it has left nothing.
    pub queue_is_empty: bool,
}

/// A receiver that changes nothing.
#[derive(Clone, Copy, Debug)]
struct Standing {
    word: u64,
    sleeps: bool,
    since: Instant,
    /// Turns of this process since.
    turns: u32,
}

impl Part {
    /// What it becomes while another process receives, or none.
    fn beside(self, role: Role, is_drained: bool) -> Part {
        match self {
            Part::Mate => Part::Mate,
            Part::Former(None) if is_drained => Part::Mate,
            Part::Former(None) => self,
            Part::Former(Some(taken)) if taken.is_followed_by(role) => Part::Former(None),
            Part::Receiver | Part::Former(Some(_)) => Part::Former(Some(role)),
        }
    }
}

impl<D: PartialEq> Watch<D> {
    /// The view of one of the processes that share a node. Of what comes off the wire its queue holds so many datagrams at most.
    pub fn new(own: MateIndex, queue: u32) -> Self {
        let (part, handover) = (Part::Mate, Handover::new(queue));
        let waits = false;
        Watch { own, part, waits, handover, standing: None, refused_until: Instant::ZERO }
    }

    /// Whether this process receives, as far as it knows.
    pub fn is_receiver(&self) -> bool {
        self.part == Part::Receiver
    }

    /// Whether it publishes a datagram that came for it off the wire: as the receiver, or as one that was when it came.
    pub fn hands_on(&mut self, datagram: &D) -> bool {
        match self.part {
            Part::Mate => false,
            Part::Receiver => true,
            Part::Former(_) => self.handover.hands_on(datagram),
        }
    }

    /// A mate has published a datagram that came off the wire.
    pub fn published(&mut self, datagram: impl FnOnce() -> D) {
        if let Part::Former(_) = self.part {
            self.handover.published(datagram);
        }
    }

    /// This process has missed what mates have published.
    pub fn overrun(&mut self) {
        self.handover.overrun();
    }

    /// Whether its QP is to be attached: it receives, or did until a mate took its place, and that one has not polled since, or
    /// something is left to hand on. A mate attaches its own before it polls again, so that one of the node is attached at any
    /// time.
    pub fn is_listening(&self) -> bool {
        self.part != Part::Mate
    }

    /// This process polls, and the word is this; the change that is to be tried, if there is one. The caller says with
    /// [`changed`](Self::changed) whether it was made. Afterwards [`is_receiver`](Self::is_receiver)
    /// and [`is_listening`](Self::is_listening) may answer otherwise.
    pub fn turn(&mut self, now: Instant, word: u64, around: Around) -> Option<Change> {
        let role = Role::of(word);
        if role.holder == Some(self.own) {
            self.part = Part::Receiver;
            return Some(role.next(Some(self.own), self.waits));
        }
        let is_drained = around.queue_is_empty || self.handover.is_done();
        self.part = self.part.beside(role, is_drained);
        if now < self.refused_until {
            return None;
        }
        let is_free = role.holder.is_none() || self.is_left(now, word, around.receiver_sleeps);
        is_free.then(|| role.next(Some(self.own), self.waits))
    }

    /// Whether another receiver has changed nothing for so long that this process takes its place.
    fn is_left(&mut self, now: Instant, word: u64, sleeps: bool) -> bool {
        let patience = match sleeps {
            true => SLEEPER_PATIENCE,
            false if Role::of(word).waits => WAITER_PATIENCE,
            false => PATIENCE,
        };
        match &mut self.standing {
            Some(standing) if (standing.word, standing.sleeps) == (word, sleeps) => {
                standing.turns += 1;
                standing.turns >= MIN_TURNS && now - standing.since >= patience
            }
            standing => {
                *standing = Some(Standing { word, sleeps, since: now, turns: 0 });
                false
            }
        }
    }

    /// Whether the change was made. If it was not, somebody else has changed the word: the next turn sees to what.
    pub fn changed(&mut self, is_made: bool) {
        if is_made {
            self.standing = None;
            self.part = Part::Receiver;
            self.handover.receive();
        }
    }

    /// This process begins to wait for messages, or goes on to something else; the change that tells mates for which it receives.
    pub fn wait(&mut self, word: u64, waits: bool) -> Option<Change> {
        self.waits = waits;
        let role = Role::of(word);
        (role.holder == Some(self.own)).then(|| role.next(Some(self.own), waits))
    }

    /// The change by which this process stops to receive, so that a mate need not wait before it does; none if it does not
    /// receive.
    pub fn resign(&mut self, word: u64) -> Option<Change> {
        self.part = Part::Mate;
        let role = Role::of(word);
        (role.holder == Some(self.own)).then(|| role.next(None, false))
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
