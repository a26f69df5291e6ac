//! How many packets a rank has at each other one (Liu 2004, section 5.4, for reliable sends).
//!
//! A receiver that is behind keeps what comes for later operations, and every other rank may be ahead
//! of it. So a sender has only so many packets at a receiver that has not taken them; the receiver
//! reports how many it has taken so far, by a counter that costs the sender's CPU a look.

use crate::rank::Rank;
use std::collections::BTreeMap;

/// A report: the count, with a bit that makes zero say nothing.
const SAYS_SOMETHING: u64 = 1 << 32;

/// The counts between this rank and another.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Packets sent to it, which wraps.
    sent: u32,
    /// Packets that it has reported to have taken.
    taken: u32,
    /// Packets of its that were taken here.
    consumed: u32,
    /// As many of these as it was told of.
    told: u32,
    is_telling: bool,
}

/// The counts between this rank and all others.
#[derive(Clone, Debug)]
pub(super) struct Credits {
    eager: u32,
    others: BTreeMap<Rank, Counts>,
}

impl Credits {
    pub fn new(eager: u32) -> Self {
        Credits { eager, others: BTreeMap::new() }
    }

    /// Whether another packet may be sent to a rank.
    pub fn has_credit(&self, to: Rank) -> bool {
        self.others
            .get(&to)
            .is_none_or(|counts| counts.sent.wrapping_sub(counts.taken) < self.eager)
    }

    pub fn sent(&mut self, to: Rank) {
        let counts = self.others.entry(to).or_default();
        counts.sent = counts.sent.wrapping_add(1);
    }

    pub fn consumed(&mut self, from: Rank) {
        let counts = self.others.entry(from).or_default();
        counts.consumed = counts.consumed.wrapping_add(1);
    }

    /// Takes a report of how much a rank has taken of this one.
    pub fn learn(&mut self, from: Rank, value: u64) {
        let counts = self.others.entry(from).or_default();
        let taken = value as u32;
        let is_news = taken.wrapping_sub(counts.taken) <= counts.sent.wrapping_sub(counts.taken);
        if value & SAYS_SOMETHING != 0 && is_news {
            counts.taken = taken;
        }
    }

    /// A rank that is to be told, for whom there is room, and what.
    pub fn take_report(&mut self, room: impl Fn(Rank) -> usize) -> Option<(Rank, u64)> {
        let chunk = self.chunk();
        let mut due = self.others.iter_mut().filter(|(_, counts)| {
            !counts.is_telling && counts.consumed.wrapping_sub(counts.told) >= chunk
        });
        let (to, counts) = due.find(|(to, _)| room(**to) > 0)?;
        counts.told = counts.consumed;
        counts.is_telling = true;
        Some((*to, SAYS_SOMETHING | u64::from(counts.consumed)))
    }

    /// What goes along with a packet to a rank.
    pub fn along(&mut self, to: Rank) -> u64 {
        let counts = self.others.entry(to).or_default();
        counts.told = counts.consumed;
        SAYS_SOMETHING | u64::from(counts.consumed)
    }

    pub fn told(&mut self, to: Rank) {
        if let Some(counts) = self.others.get_mut(&to) {
            counts.is_telling = false;
        }
    }

    /// Nothing more can be told to a rank.
    pub fn forget(&mut self, rank: Rank) {
        if let Some(counts) = self.others.get_mut(&rank) {
            counts.is_telling = false;
            counts.told = counts.consumed;
            counts.taken = counts.sent;
        }
    }

    /// Whether no report is under way, neither from here nor, by what was sent, to here.
    pub fn is_clear(&self) -> bool {
        self.others.values().all(|counts| {
            !counts.is_telling && counts.sent.wrapping_sub(counts.taken) < self.chunk()
        })
    }

    /// Packets after which a receiver reports.
    fn chunk(&self) -> u32 {
        (self.eager / 2).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: Rank = Rank(3);

    #[test]
    fn a_sender_stops_until_it_hears_of_progress() {
        let mut sender = Credits::new(2);
        sender.sent(OTHER);
        assert!(sender.has_credit(OTHER));
        sender.sent(OTHER);
        assert!(!sender.has_credit(OTHER));
        sender.learn(OTHER, 0);
        assert!(!sender.has_credit(OTHER), "zero says nothing");
        sender.learn(OTHER, SAYS_SOMETHING | 5);
        assert!(!sender.has_credit(OTHER), "more than was sent is nonsense");
        sender.learn(OTHER, SAYS_SOMETHING | 1);
        assert!(sender.has_credit(OTHER));
    }

    #[test]
    fn a_receiver_reports_the_latest_count() {
        let mut receiver = Credits::new(4);
        receiver.consumed(OTHER);
        assert_eq!(receiver.take_report(|_| 1), None);
        receiver.consumed(OTHER);
        assert_eq!(receiver.take_report(|_| 0), None, "there is no room");
        assert_eq!(receiver.take_report(|_| 1), Some((OTHER, SAYS_SOMETHING | 2)));
        assert!(!receiver.is_clear());
        receiver.told(OTHER);
        assert!(receiver.is_clear());
    }
}
