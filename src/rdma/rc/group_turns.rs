//! When a handshake that nobody answers is sent to all groups too.
//!
//! Every process of a group takes such a message from its receives and reads its header, so what many who wait for one that
//! is late make of it must not grow with their number. Each waits for a random part of the time in which
//! [so many a second](RATE) are sent if all processes wait, and for twice as long before each further one.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::time::Duration;
use verbcast_core::time::Instant;

/// Messages to a group in a second at most, of all processes together, in the mean of the first turn. Each further turn has half
/// of it.
const RATE: u32 = 100;
/// The least time before the first turn. Who is there has answered by then.
const FIRST: Duration = Duration::from_millis(500);
/// The most time between two turns of one process, apart from what all processes take.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The turns of one handshake.
#[derive(Debug)]
pub struct GroupTurns {
    at: Instant,
    /// The least time to the next turn but one.
    pause: Duration,
    /// How much later than that it may be.
    spread: Duration,
    draw: ChaCha8Rng,
}

impl GroupTurns {
    /// The turns of one of so many processes, drawn from a seed.
    pub fn new(now: Instant, processes: usize, seed: u64) -> Self {
        let spread = Duration::from_secs(1) * u32::try_from(processes).unwrap_or(u32::MAX) / RATE;
        let draw = ChaCha8Rng::seed_from_u64(seed);
        let mut turns = GroupTurns { at: now, pause: FIRST, spread, draw };
        turns.pass(now);
        turns
    }

    /// Whether it is this process's turn, which is over then.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.at;
        if is_due {
            self.pass(now);
        }
        is_due
    }

    fn pass(&mut self, now: Instant) {
        let part = f64::from(self.draw.next_u32()) / f64::from(u32::MAX);
        self.at = now + self.pause + self.spread.mul_f64(part);
        self.pause = (2 * self.pause).min(MAX_PAUSE);
        self.spread = self.spread.saturating_mul(2).min(MAX_SPREAD);
    }
}

/// Beyond it nobody waits any more.
const MAX_SPREAD: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    /// In which second each message of so many processes goes to the groups, if all begin at once and nobody answers.
    fn seconds(processes: usize, seconds: usize) -> Vec<usize> {
        let mut count = vec![0; seconds];
        for seed in 0..processes {
            let mut turns = GroupTurns::new(Instant::ZERO, processes, seed as u64);
            for tick in 0..50 * seconds as u32 {
                let now = Instant::ZERO + Duration::from_millis(20) * tick;
                count[tick as usize / 50] += usize::from(turns.is_due(now));
            }
        }
        count
    }

    #[test]
    fn a_thousand_that_wait_are_no_more_work_than_a_hundred() {
        for processes in [100, 1000, 10_000] {
            let count = seconds(processes, 60);
            // The mean, the next turn of the first, and what chance adds.
            let bound = 2 * RATE as usize;
            assert!(count.iter().all(|one| *one <= bound), "{processes}: {count:?}");
        }
    }

    #[test]
    fn a_few_are_heard_soon_and_again_and_again() {
        let count = seconds(4, 300);
        assert!(count[..2].iter().sum::<usize>() >= 4, "{count:?}");
        for minute in count.chunks(120) {
            assert!(minute.iter().sum::<usize>() >= 3, "{count:?}");
        }
    }
}
