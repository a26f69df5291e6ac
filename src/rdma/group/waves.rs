//! Which ranks probe a group in a round of its proof, and when.
//!
//! If all of n ranks probed at once, n² probes would meet queues of so many receives. So a few ranks begin,
//! at equal distances from rank 0 on, as roots and co-roots are: no more than every receive queue has room for. Once
//! all ranks have heard these, the fabric's tables are written, and the others follow one after the other, with
//! time for the receivers between them. Whom all have heard probes no more.

use std::time::Duration;
use verbcast_core::rank::Rank;

/// Datagrams that a rank sends for one probe: a whole and a short one.
pub const PROBE: usize = 2;
/// Probes of a rank in a round at most.
const MAX_REPEATS: usize = 4;
/// Between the ranks that probe in one round, beyond as many as there is room for at once.
const STAGGER: Duration = Duration::from_micros(250);

/// The waves in which ranks probe: a few first, then all others.
#[derive(Clone, Debug)]
pub struct Waves {
    size: usize,
    /// Ranks that can probe at once.
    at_once: usize,
    is_first: bool,
}

/// What a rank does in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// How long after the round's begin it probes.
    pub after: Duration,
    /// How often.
    pub repeats: usize,
}

impl Waves {
    /// For so many ranks, each of which has so many receives posted.
    pub fn new(size: usize, receive_depth: u32) -> Self {
        // Half of them, as other packets may come too.
        let at_once = (receive_depth as usize / 2 / PROBE).max(1);
        Waves { size, at_once, is_first: true }
    }

    /// Whether a rank probes in this wave.
    pub fn has(&self, rank: usize) -> bool {
        let first = self.at_once.min(self.size);
        // The rank is the least that is at or above a multiple of the distance.
        let before = (rank * first).div_ceil(self.size);
        let is_head = before < first && before * self.size / first == rank;
        is_head == self.is_first
    }

    /// All of this wave have been heard by all; false if there is no further one.
    pub fn advance(&mut self) -> bool {
        std::mem::take(&mut self.is_first) && self.at_once < self.size
    }

    /// All begin anew.
    pub fn restart(&mut self) {
        self.is_first = true;
    }

    /// What `rank` does in a round in which these ranks have not been heard by all; and the time that the last one
    /// begins. None if it is silent.
    pub fn turn(&self, rank: Rank, unheard: &[bool]) -> (Option<Turn>, Duration) {
        let is_due = |other: &usize| self.has(*other) && unheard[*other];
        let due = (0..self.size).filter(is_due).count();
        let before = (0..rank.index()).filter(is_due).count();
        let repeats = (self.at_once / due.max(1)).clamp(1, MAX_REPEATS);
        let after = |place: usize| {
            let late = (place + 1).saturating_sub(self.at_once);
            STAGGER * u32::try_from(late).unwrap_or(u32::MAX)
        };
        let own = is_due(&rank.index()).then(|| Turn { after: after(before), repeats });
        (own, after(due.saturating_sub(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_ranks_at_equal_distances_begin() {
        let mut waves = Waves::new(100, 16);
        let in_wave = |waves: &Waves| (0..100).filter(|rank| waves.has(*rank)).collect::<Vec<_>>();
        assert_eq!(in_wave(&waves), [0, 25, 50, 75]);
        assert!(waves.advance());
        assert_eq!(in_wave(&waves).len(), 96);
        assert!(!waves.has(0) && !waves.advance());
        let mut few = Waves::new(3, 64);
        assert!((0..3).all(|rank| few.has(rank)) && !few.advance());
    }

    #[test]
    fn every_rank_probes_in_one_wave() {
        for size in 1..70 {
            for depth in [1, 8, 64, 100] {
                let mut waves = Waves::new(size, depth);
                let firsts: Vec<_> = (0..size).map(|rank| waves.has(rank)).collect();
                let count = firsts.iter().filter(|is_first| **is_first).count();
                assert!(firsts[0] && count <= waves.at_once, "{size} ranks, depth {depth}");
                let others = waves.advance();
                assert!(others || count == size, "{size} ranks, depth {depth}");
                assert!(!others || (0..size).all(|rank| waves.has(rank) != firsts[rank]));
            }
        }
    }

    #[test]
    fn no_round_overruns_the_receives() {
        let (size, depth) = (1000, 64);
        let mut waves = Waves::new(size, depth);
        for _ in 0..2 {
            let mut unheard = vec![true; size];
            for _ in 0..2 {
                let turns = |rank| waves.turn(Rank(rank), &unheard).0;
                let turns: Vec<_> = (0..size as u32).filter_map(turns).collect();
                let at_once = turns.iter().filter(|turn| turn.after.is_zero());
                let sent: usize = at_once.map(|turn| turn.repeats * PROBE).sum();
                assert!(sent <= depth as usize, "{sent}");
                let later = turns.iter().filter(|turn| !turn.after.is_zero());
                assert!(later.clone().all(|turn| turn.repeats == 1));
                assert!(later.map(|turn| turn.after).is_sorted_by(|a, b| a < b));
                // Nearly all have been heard.
                unheard = (0..size).map(|rank| rank % 250 < 2).collect();
            }
            waves.advance();
        }
    }

    #[test]
    fn who_has_been_heard_is_silent_and_the_others_repeat() {
        let waves = Waves::new(4, 64);
        let unheard = [false, true, false, true];
        let repeated = Some(Turn { after: Duration::ZERO, repeats: MAX_REPEATS });
        for (rank, turn) in [(0, None), (1, repeated), (2, None), (3, repeated)] {
            assert_eq!(waves.turn(Rank(rank), &unheard).0, turn);
        }
    }
}
