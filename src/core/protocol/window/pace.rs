//! How much a root has on its way at most, by what is lost of it.
//!
//! A root may send its whole ring before it waits for an acknowledgement (Liu 2004, section 4.2). Where the wire buffers less
//! than that, bursts are dropped, and each datagram lost costs a read at each rank that lost it. So a root that learns of much
//! loss tries half as many slots, and then half of these, until the share that is lost has halved. If it
//! never does, the losses are not for want of buffers, and the root goes back to where it began. Where less is used than
//! there is and little is lost, it tries twice as much now and then.
//!
//! Neither paper has this: their switches drop nothing.

use super::ring::Ring;
use crate::protocol::SmallMap;
use crate::rank::Rank;
use std::ops::RangeInclusive;

/// Slots that a root uses at least, if its ring has so many.
pub(super) const LEAST: u32 = 16;
/// A root judges what was lost of so many fragments for each slot that it may use, within these bounds: the fewer slots, the longer
/// it takes to send as many. Reports count losses modulo 256.
const SAMPLE_PER_SLOT: u32 = 4;
const SAMPLE: RangeInclusive<u32> = 128..=u8::MAX as u32;
/// So many in a thousand are much, and little.
const MUCH: u32 = 32;
const LITTLE: u32 = 8;
/// After how many samples something is tried again that was of no use; twice as many each time.
const PAUSE: u32 = 16;
const LONGEST_PAUSE: u32 = 1024;

/// What is being tried.
#[derive(Clone, Copy, Debug)]
enum Trial {
    /// Nothing.
    None,
    /// Fewer slots, since this share was lost with so many.
    Fewer { share: u32, from: u32 },
    /// Twice as many.
    More,
}

/// The pace of a rank as root.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// Slots of the ring.
    most: u32,
    /// Slots that may be in use.
    limit: u32,
    trial: Trial,
    /// Samples until the next trial may begin, and how long the rest is after one that fails.
    rest: u32,
    pause: u32,
    /// Fragments that were sent since what was lost was judged last.
    sent: u32,
    /// What ranks had lost then.
    lost: SmallMap<Rank, u8>,
}

impl Pace {
    /// That of a root whose ring has `most` slots.
    pub fn new(most: u32) -> Self {
        Pace {
            most,
            limit: most,
            trial: Trial::None,
            rest: 0,
            pause: PAUSE,
            sent: 0,
            lost: SmallMap::default(),
        }
    }

    /// Slots that may be in use.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Judges the limit by so many fragments, of which the rank that lost most has lost `lost`.
    fn judge(&mut self, sent: u32, lost: u32) {
        let share = lost * 1000 / sent;
        self.rest = self.rest.saturating_sub(1);
        match self.trial {
            // Fewer still are tried at once, where much is lost of these too; more are not.
            Trial::Fewer { share: before, .. } if share * 2 <= before => {
                self.rest = if share < MUCH { self.pause } else { 0 };
                self.trial = Trial::None;
            }
            Trial::Fewer { from, .. } if self.limit <= LEAST => self.fail(from),
            Trial::Fewer { .. } => return self.limit /= 2,
            Trial::More if share >= MUCH => return self.fail(self.limit / 2),
            Trial::More => {
                self.pause = PAUSE;
                self.trial = Trial::None;
            }
            Trial::None => {}
        }
        if self.rest > 0 {
            return;
        }
        if share >= MUCH && self.limit > LEAST {
            self.trial = Trial::Fewer { share, from: self.limit };
            self.limit /= 2;
        } else if share < LITTLE && self.limit < self.most {
            self.trial = Trial::More;
            self.limit *= 2;
        }
    }

    /// The trial has failed: the limit is what it was.
    fn fail(&mut self, limit: u32) {
        self.limit = limit;
        self.trial = Trial::None;
        self.rest = self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    /// A fragment is multicast; whether it is time to [look](Self::look) at what is lost.
    pub fn sends(&mut self) -> bool {
        self.sent += 1;
        self.sent >= (SAMPLE_PER_SLOT * self.limit).clamp(*SAMPLE.start(), *SAMPLE.end())
    }

    /// Judges by what these ranks have lost, as the ring knows.
    pub fn look(&mut self, ring: &Ring, ranks: &[Rank]) {
        let mut most = 0;
        for rank in ranks.iter().copied() {
            let now = ring.known(rank).lost;
            let before = std::mem::replace(self.lost.get_or_insert(rank, 0), now);
            most = most.max(now.wrapping_sub(before).into());
        }
        self.judge(self.sent, most);
        self.sent = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limits after so many samples, of which as many in a thousand are lost as the limit has it.
    fn limits(pace: &mut Pace, samples: usize, lost: impl Fn(u32) -> u32) -> Vec<u32> {
        let step = |_| {
            pace.judge(1000, lost(pace.limit));
            pace.limit
        };
        (0..samples).map(step).collect()
    }

    #[test]
    fn a_root_uses_as_much_as_the_wire_buffers() {
        let mut pace = Pace::new(256);
        let burst = |limit: u32| if limit > 40 { 1000 - 40_000 / limit } else { 0 };
        let found = limits(&mut pace, 60, burst);
        assert_eq!(found[..3], [128, 64, 32]);
        let above = found[3..].iter().filter(|limit| **limit > 32).count();
        assert!(found[3..].iter().all(|limit| *limit <= 64) && above <= 3, "{found:?}");
    }

    #[test]
    fn what_is_lost_by_chance_holds_nobody_up_for_long() {
        let mut pace = Pace::new(256);
        let found = limits(&mut pace, 1000, |_| 100);
        assert_eq!(found[..5], [128, 64, 32, 16, 256]);
        let below = found.iter().filter(|limit| **limit < 256).count();
        assert!(below <= 4 * 6, "{below}");
    }

    #[test]
    fn a_wire_that_buffers_more_again_is_found_out() {
        let mut pace = Pace::new(64);
        assert_eq!(limits(&mut pace, 2, |limit| if limit > 16 { 300 } else { 0 }), [32, 16]);
        assert_eq!(limits(&mut pace, 100, |_| 0)[99], 64);
    }

    #[test]
    fn a_ring_of_few_slots_is_used_whole() {
        let mut pace = Pace::new(LEAST);
        assert_eq!(limits(&mut pace, 10, |_| 500), [LEAST; 10]);
    }

    /// A trial holds the root up, the more so the fewer slots it has.
    #[test]
    fn few_slots_are_judged_by_few_fragments_and_many_by_no_more_than_reports_count() {
        let sample = |slots| {
            let mut pace = Pace::new(slots);
            (1..).find(|_| pace.sends())
        };
        let samples = [1024, 256, 64, 32, 16].map(sample);
        assert_eq!(samples, [255, 255, 255, 128, 128].map(Some));
    }
}
