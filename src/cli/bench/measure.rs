//! The measurements: a slice of broadcasts by one contender.

use super::contender::Contender;
use super::cpu::cpu_time;
use super::lab::Lab;
use super::log::Log;
use super::plan::Series;
use super::word::Word;
use crate::launch::decide::blame;
use crate::results::{CpuTime, Test};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::ops::Range;
use verbcast_core::rank::Rank;
use verbcast_core::wire::checksummed;

/// A contender at work: what it is measured with, and where that is noted.
pub struct Bench<'a, 'b> {
    pub lab: &'a mut Lab<'b>,
    pub contender: &'a mut dyn Contender,
    pub message: &'a mut [u8],
    pub log: &'a mut Log,
}

impl Bench<'_, '_> {
    /// Does the broadcasts `slice` of a run, and returns when all ranks have done them and owe nothing.
    /// Collective.
    pub fn measure(&mut self, series: Series, slice: Range<u64>) -> Result<(), String> {
        let before = self.contender.counters();
        self.barrier()?;
        let (used, covered) = (self.cpu_time()?, checksummed());
        self.log.iterations += slice.end - slice.start;
        match series {
            (Test::Acknowledge, _) => self.acknowledge(slice),
            (Test::Osu, _) => self.osu(slice),
            (Test::Clock, _) => self.clock(slice),
            (Test::Throughput, _) => self.throughput(slice),
            (Test::Skew, skew) => self.late(slice, skew.unwrap_or(0)),
        }?;
        self.contender.settle()?;
        self.log.cpu += self.cpu_time()? - used;
        self.log.checksummed += checksummed() - covered;
        self.barrier()?;
        self.log.counters += self.contender.counters().since(before);
        Ok(())
    }

    /// Liu 2004, section 6.2: after each broadcast, one receiver after the other acknowledges it to the
    /// root, which counts the time up to then, less the latency of the acknowledgement.
    fn acknowledge(&mut self, slice: Range<u64>) -> Result<(), String> {
        for broadcast in slice {
            let (root, ranks) = (self.root(broadcast), self.lab.ranks);
            let turn = (broadcast % u64::from(ranks - 1)) as u32;
            let receiver = Rank((root.0 + 1 + turn) % ranks);
            let began = self.lab.control.now();
            let is_here = self.broadcast(root)?;
            if self.lab.me() == root {
                let came = self.lab.hear(receiver, Word::Acknowledge, self.contender)?;
                let taken = self.lab.control.now() - began;
                if came == 1 {
                    self.log.histogram.record(taken.saturating_sub(self.lab.clock.latency));
                }
            } else if self.lab.me() == receiver {
                self.lab.tell(root, Word::Acknowledge, u64::from(is_here), self.contender)?;
            }
        }
        Ok(())
    }

    /// As `osu_bcast`: each rank counts its own time in each broadcast, and a barrier follows.
    fn osu(&mut self, slice: Range<u64>) -> Result<(), String> {
        for broadcast in slice {
            self.timed(broadcast)?;
            self.barrier()?;
        }
        Ok(())
    }

    /// Hoefler 2007, section 4.3: the time from the root's call to each rank's return. The ranks learn
    /// after the broadcast when it began.
    fn clock(&mut self, slice: Range<u64>) -> Result<(), String> {
        for broadcast in slice {
            let root = self.root(broadcast);
            self.barrier()?;
            let mut began = self.lab.now();
            let is_here = self.broadcast(root)?;
            let ended = self.lab.now();
            if self.lab.me() == root {
                for other in (0..self.lab.ranks).map(Rank).filter(|rank| *rank != root) {
                    self.lab.tell(other, Word::Began, began, self.contender)?;
                }
            } else {
                began = self.lab.hear(root, Word::Began, self.contender)?;
            }
            if is_here {
                // Clocks that disagree by more than the broadcast took make it look like none.
                let taken = ended.wrapping_sub(began).cast_signed().max(0).cast_unsigned();
                self.log.histogram.record(taken);
            }
        }
        Ok(())
    }

    /// Liu 2004, section 6.3: as many broadcasts as the ranks can do, up to the last that came here.
    fn throughput(&mut self, slice: Range<u64>) -> Result<(), String> {
        let count = slice.end - slice.start;
        let began = self.lab.control.now();
        let mut ended = began;
        for broadcast in slice {
            if self.broadcast(self.root(broadcast))? {
                ended = self.lab.control.now();
            }
        }
        self.log.nanos += ended - began;
        if count > 0 && ended > began {
            self.log.histogram.record((ended - began) / count);
        }
        Ok(())
    }

    /// Liu 2004, section 6.4: after a barrier the receivers delay, each at random, and every rank counts
    /// its time in the broadcast. `skew` is the mean delay in nanoseconds.
    fn late(&mut self, slice: Range<u64>, skew: u64) -> Result<(), String> {
        for broadcast in slice {
            self.barrier()?;
            if self.lab.me() != self.root(broadcast) {
                delay(self.lab, draw(self.lab.seed, self.lab.me(), broadcast, skew));
            }
            self.timed(broadcast)?;
        }
        Ok(())
    }

    /// Counts this rank's own time in a broadcast.
    fn timed(&mut self, broadcast: u64) -> Result<(), String> {
        let began = self.lab.control.now();
        if self.broadcast(self.root(broadcast))? {
            self.log.histogram.record(self.lab.control.now() - began);
        }
        Ok(())
    }

    fn root(&self, broadcast: u64) -> Rank {
        self.lab.root.of(broadcast, self.lab.ranks)
    }

    /// Broadcasts, and counts it if it was lost here; whether it came whole.
    fn broadcast(&mut self, root: Rank) -> Result<bool, String> {
        let is_here = self.contender.broadcast(root, self.message)?;
        self.log.lost_messages += u64::from(!is_here);
        Ok(is_here)
    }

    fn cpu_time(&self) -> Result<CpuTime, String> {
        cpu_time().map_err(|what| blame(self.lab.me(), what))
    }

    fn barrier(&mut self) -> Result<(), String> {
        self.lab.barrier(self.contender)
    }
}

/// Computes, as a program would, without keeping others from it that have to share a core.
fn delay(lab: &Lab<'_>, nanos: u64) {
    let until = lab.control.now() + nanos;
    while lab.control.now() < until {
        std::thread::yield_now();
    }
}

/// The delay of a rank before a broadcast: the same for every contender, even from none to twice the mean.
fn draw(seed: u64, rank: Rank, broadcast: u64, mean: u64) -> u64 {
    let mut generator = ChaCha8Rng::seed_from_u64(seed.wrapping_add(broadcast));
    generator.set_stream(u64::from(rank.0));
    let share = f64::from(generator.next_u32()) / f64::from(u32::MAX);
    (2.0 * share * mean as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_repeat_and_have_their_mean() {
        let all: Vec<u64> = (0..10_000).map(|at| draw(7, Rank(3), at, 400_000)).collect();
        let mean = all.iter().sum::<u64>() / 10_000;
        assert!((390_000..410_000).contains(&mean), "{mean}");
        assert!(all.iter().all(|nanos| *nanos <= 800_000));
        assert_eq!(draw(7, Rank(3), 5, 400_000), all[5]);
        assert_ne!(draw(7, Rank(4), 5, 400_000), all[5]);
        assert_eq!(draw(7, Rank(3), 5, 0), 0);
    }
}
