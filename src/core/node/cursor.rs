//! The ring of datagrams that node mates share: what the number of a slot says, and how a reader goes on.
//!
//! A writer claims the next position by adding one to a number that all share, and takes the slot of that position: by
//! compare and exchange, and only while no other writer has it. A writer that is stopped in the middle of a datagram keeps its
//! slot until it goes on, so that it never writes into the datagram of another; if it dies there, nobody gets the slot again. A
//! writer that does not get its slot tries the next position.

use crate::time::Instant;
use std::time::Duration;

/// How long a reader waits for the writer of a position while there are later ones.
pub const WRITER_PATIENCE: Duration = Duration::from_millis(1);

/// What the number of a slot says: that nothing is there, or a position and whether it is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SlotState(pub u64);

impl SlotState {
    /// Someone is writing the datagram of a position.
    pub fn written(position: u64) -> Self {
        SlotState(position.wrapping_mul(2).wrapping_add(1))
    }

    /// The datagram of a position is there.
    pub fn published(position: u64) -> Self {
        SlotState(position.wrapping_mul(2).wrapping_add(2))
    }

    /// Whether a writer may take the slot for a position: nobody has it, and nobody had it for a later one.
    pub fn is_free_for(self, position: u64) -> bool {
        !self.is_being_written() && self < SlotState::written(position)
    }

    fn is_being_written(self) -> bool {
        self.0 % 2 == 1
    }
}

/// What a reader does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Nothing.
    Rest,
    /// It copies the datagram at its position, looks at the slot's number again, and says which it was:
    /// [`advance`](Cursor::advance).
    Read,
    /// It looks at its position again, which is another one now.
    Again,
}

/// Where a reader is in a ring.
#[derive(Clone, Debug)]
pub struct Cursor {
    slots: u64,
    position: u64,
    /// Since when the writer of the position is waited for.
    waits_since: Option<Instant>,
    lost: u64,
}

impl Cursor {
    /// At the beginning of a ring of so many slots.
    pub fn new(slots: u64) -> Self {
        Cursor { slots, position: 0, waits_since: None, lost: 0 }
    }

    /// The position that is read next.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Positions that were passed by unread.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The slot at the position has this number, and so many positions are claimed.
    pub fn look(&mut self, now: Instant, state: SlotState, claimed: u64) -> Look {
        if state == SlotState::published(self.position) {
            return Look::Read;
        }
        if state > SlotState::published(self.position) {
            self.jump(claimed);
            return Look::Again;
        }
        let is_last = claimed <= self.position.saturating_add(1);
        if is_last {
            return Look::Rest;
        }
        // The writer that claimed this position has found the slot taken.
        let is_left = state.is_being_written() && state < SlotState::written(self.position);
        let since = *self.waits_since.get_or_insert(now);
        if !is_left && now - since < WRITER_PATIENCE {
            return Look::Rest;
        }
        self.lost += 1;
        self.go_to(self.position.saturating_add(1));
        Look::Again
    }

    /// The datagram was read; whether it was whole to the end. If not, it was overrun meanwhile, and is lost.
    pub fn advance(&mut self, is_whole: bool) {
        self.lost += u64::from(!is_whole);
        self.go_to(self.position.saturating_add(1));
    }

    /// It was overrun: it goes on with what is there still, without the oldest, which will be gone next.
    fn jump(&mut self, claimed: u64) {
        let oldest = claimed.saturating_sub(self.slots - self.slots / 8);
        let next = self.position.saturating_add(1);
        // A process that can write there could send the reader anywhere.
        let to = oldest.clamp(next, next.saturating_add(1 << 32));
        self.lost += to - self.position;
        self.go_to(to);
    }

    fn go_to(&mut self, position: u64) {
        self.position = position;
        self.waits_since = None;
    }
}
