//! Stage 2 at one rank: forward every fragment once to the successor on the virtual ring, in the
//! order in which they came to be owned (Hoefler 2007, section 2.2).

use crate::rank::Fragment;
use smallvec::SmallVec;

/// Fragments of a message whose order needs no memory of its own.
const INLINE: usize = 20;

/// A rank's progress in forwarding one operation.
#[derive(Clone, Debug)]
pub struct ChainStage {
    /// Fragments in the order in which they came to be owned.
    owned: SmallVec<[Fragment; INLINE]>,
    /// As many of these were taken.
    taken: usize,
    /// Fragments that were not handed to the transport yet, owned or not.
    to_forward: u32,
    /// Fragments that the successor's adapter has not acknowledged.
    to_deliver: u32,
}

impl ChainStage {
    pub fn new(count: u32) -> Self {
        ChainStage { owned: SmallVec::new(), taken: 0, to_forward: count, to_deliver: count }
    }

    /// A fragment is owned and can be forwarded.
    pub fn push(&mut self, fragment: Fragment) {
        self.owned.push(fragment);
    }

    pub fn take(&mut self) -> Option<Fragment> {
        let fragment = *self.owned.get(self.taken)?;
        self.taken += 1;
        self.to_forward -= 1;
        Some(fragment)
    }

    /// Counts one acknowledgement.
    pub fn delivered(&mut self) -> bool {
        let due = self.to_deliver > self.to_forward;
        self.to_deliver -= u32::from(due);
        due
    }

    pub fn is_forwarded(&self) -> bool {
        self.to_forward == 0
    }

    pub fn is_delivered(&self) -> bool {
        self.to_deliver == 0
    }

    /// The successor needs nothing more; returns how many fragments were taken but not
    /// acknowledged, or waited.
    pub fn release(&mut self) -> u32 {
        let waiting = (self.owned.len() - self.taken) as u32;
        let released = self.to_deliver - self.to_forward + waiting;
        *self = ChainStage::new(0);
        released
    }
}
