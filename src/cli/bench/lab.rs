//! Where contenders are measured: the ranks that take part, and how their clocks differ.

use super::clock::{Estimate, Exchange, estimate};
use super::contender::Contender;
use super::control::Control;
use super::word::Word;
use crate::results::Clocks;
use crate::root::Root;
use verbcast_core::rank::Rank;

/// Messages to and fro with each rank, before its clock is known.
const EXCHANGES: usize = 10;

/// The first `ranks` of a job.
pub struct Lab<'a> {
    pub control: &'a mut Control,
    pub ranks: u32,
    pub root: Root,
    pub seed: u64,
    /// This rank's clock beside rank 0's; the error and the latency are the job's.
    pub clock: Estimate,
}

impl Lab<'_> {
    pub fn me(&self) -> Rank {
        self.control.rank()
    }

    /// Nanoseconds on rank 0's clock.
    pub fn now(&self) -> u64 {
        self.control.now().wrapping_sub(self.clock.offset.cast_unsigned())
    }

    pub fn barrier(&mut self, contender: &mut dyn Contender) -> Result<(), String> {
        self.control.barrier(self.ranks, &mut || contender.progress())
    }

    pub fn tell(
        &mut self,
        to: Rank,
        word: Word,
        value: u64,
        contender: &mut dyn Contender,
    ) -> Result<(), String> {
        self.control.tell(to, word, value, &mut || contender.progress())
    }

    pub fn hear(
        &mut self,
        from: Rank,
        word: Word,
        contender: &mut dyn Contender,
    ) -> Result<u64, String> {
        self.control.hear(from, word, &mut || contender.progress())
    }

    /// Ends a piece of work: nothing is owed any more, at any rank.
    pub fn settle(&mut self, contender: &mut dyn Contender) -> Result<(), String> {
        contender.settle()?;
        self.barrier(contender)
    }

    /// Compares the clocks, and measures the latency of a message. Collective; rank 0 has what was found.
    pub fn synchronise(&mut self) -> Result<Option<Clocks>, String> {
        let nothing = &mut || Ok(());
        let control = &mut *self.control;
        if control.rank() != Rank(0) {
            for _ in 0..EXCHANGES {
                control.hear(Rank(0), Word::Ping, nothing)?;
                let now = control.now();
                control.tell(Rank(0), Word::Pong, now, nothing)?;
            }
            let mut next = || control.hear(Rank(0), Word::Estimate, nothing);
            self.clock =
                Estimate { offset: next()?.cast_signed(), error: next()?, latency: next()? };
            return Ok(None);
        }
        let mut estimates = Vec::new();
        for rank in (1..self.ranks).map(Rank) {
            let mut exchanges = Vec::with_capacity(EXCHANGES);
            for _ in 0..EXCHANGES {
                let sent = control.now();
                control.tell(rank, Word::Ping, 0, nothing)?;
                let answered = control.hear(rank, Word::Pong, nothing)?;
                exchanges.push(Exchange { sent, answered, received: control.now() });
            }
            estimates.extend(estimate(&exchanges));
        }
        self.clock = job_wide(&estimates);
        let offsets = std::iter::once(0).chain(estimates.iter().map(|one| one.offset)).collect();
        let clocks = Clocks { at: control.now(), offsets, error: self.clock.error };
        for (rank, estimate) in (1..).map(Rank).zip(estimates) {
            let Estimate { error, latency, .. } = self.clock;
            for value in [estimate.offset.cast_unsigned(), error, latency] {
                control.tell(rank, Word::Estimate, value, nothing)?;
            }
        }
        Ok(Some(clocks))
    }
}

/// The largest error and the median latency, with rank 0's own offset.
fn job_wide(estimates: &[Estimate]) -> Estimate {
    let mut latencies: Vec<u64> = estimates.iter().map(|estimate| estimate.latency).collect();
    latencies.sort_unstable();
    Estimate {
        offset: 0,
        error: estimates.iter().map(|estimate| estimate.error).max().unwrap_or(0),
        latency: latencies.get(latencies.len() / 2).copied().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_job_has_the_largest_error_and_the_median_latency() {
        let one = |offset, error, latency| Estimate { offset, error, latency };
        let all = [one(5, 2, 30), one(-7, 9, 10), one(0, 4, 20)];
        assert_eq!(job_wide(&all), one(0, 9, 20));
        assert_eq!(job_wide(&[]), one(0, 0, 0));
    }
}
