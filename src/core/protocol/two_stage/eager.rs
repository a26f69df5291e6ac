//! How much a rank forwards to a successor that may not have begun a broadcast.
//!
//! While a rank is elsewhere, its queue takes only as many messages as it has receives. Some of these are kept for
//! broadcasts that it has left, and what is forwarded for broadcasts that it has not begun must not take them. So a rank
//! forwards only a few messages more than its successor has begun to wait for. The successor tells how many these are by
//! a counter in its predecessor's memory (as the credits of Liu 2004, section 5.4).

/// The counts between a rank and its neighbours on the ring; messages from the first operation on.
#[derive(Clone, Debug)]
pub(super) struct Eager {
    most: u64,
    /// Forwarded to the successor.
    forwarded: u64,
    /// The successor waits for these, as far as it has told.
    begun_there: u64,
    /// This rank waits for these, of its predecessor.
    begun: u64,
    /// As many of these as the predecessor was told of.
    told: u64,
    is_telling: bool,
}

impl Eager {
    /// At most so many messages, at least one.
    pub fn new(most: u32) -> Self {
        let most = u64::from(most.max(1));
        Eager { most, forwarded: 0, begun_there: 0, begun: 0, told: 0, is_telling: false }
    }

    /// Whether another message may be forwarded.
    pub fn has_room(&self) -> bool {
        self.forwarded < self.begun_there.saturating_add(self.most)
    }

    pub fn forwarded(&mut self) {
        self.forwarded += 1;
    }

    /// An operation has begun here of which the predecessor forwards so many messages.
    pub fn begin(&mut self, count: u32) {
        self.begun += u64::from(count);
    }

    /// The successor has told how many it waits for.
    pub fn learn(&mut self, begun: u64) {
        self.begun_there = self.begun_there.max(begun);
    }

    /// Whether the predecessor is to be told. Until it is, it may be unable to forward what this rank has begun.
    pub fn owes_report(&self) -> bool {
        self.begun.saturating_sub(self.told) >= self.chunk()
    }

    /// What the predecessor is told now, if anything, for which there is room.
    pub fn take_report(&mut self, has_room: impl FnOnce() -> bool) -> Option<u64> {
        if self.is_telling || !self.owes_report() || !has_room() {
            return None;
        }
        self.told = self.begun;
        self.is_telling = true;
        Some(self.begun)
    }

    /// What the predecessor was told last has arrived.
    pub fn arrived(&mut self) {
        self.is_telling = false;
    }

    /// The successor needs nothing more.
    pub fn forget_successor(&mut self) {
        self.begun_there = u64::MAX;
    }

    /// The predecessor can be told nothing more.
    pub fn forget_predecessor(&mut self) {
        self.told = u64::MAX;
        self.is_telling = false;
    }

    /// Whether no report is under way, neither from here nor, by what was forwarded, to here.
    pub fn is_clear(&self) -> bool {
        !self.is_telling && self.forwarded.saturating_sub(self.begun_there) < self.chunk()
    }

    /// Messages after which the predecessor is told.
    fn chunk(&self) -> u64 {
        (self.most / 2).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_forwards_little_before_its_successor_has_begun() {
        let mut eager = Eager::new(2);
        let forward = |eager: &mut Eager| {
            (0..9).take_while(|_| eager.has_room().then(|| eager.forwarded()).is_some()).count()
        };
        assert_eq!((forward(&mut eager), eager.is_clear()), (2, false));
        eager.learn(5);
        eager.learn(4);
        assert_eq!((forward(&mut eager), eager.is_clear()), (5, false));
        eager.learn(7);
        assert!(eager.is_clear());
        eager.forget_successor();
        assert_eq!(forward(&mut eager), 9);
    }

    #[test]
    fn the_predecessor_is_told_in_chunks_and_once_at_a_time() {
        let mut eager = Eager::new(4);
        eager.begin(1);
        assert_eq!(eager.take_report(|| true), None);
        eager.begin(1);
        assert_eq!(eager.take_report(|| false), None);
        assert_eq!(eager.take_report(|| true), Some(2));
        eager.begin(1000);
        assert_eq!((eager.take_report(|| true), eager.is_clear()), (None, false));
        assert!(eager.owes_report());
        eager.arrived();
        assert_eq!(eager.take_report(|| true), Some(1002));
        assert!(!eager.owes_report());
        eager.forget_predecessor();
        eager.begin(1000);
        assert_eq!((eager.take_report(|| true), eager.is_clear()), (None, true));
    }
}
