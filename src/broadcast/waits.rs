//! How long a rank waits in its calls, and for whom.

use super::wait::Idle;
use std::collections::BTreeMap;
use std::time::Duration;
use verbcast_core::rank::Rank;
use verbcast_core::time::Instant;

/// Shorter waits do not count: they are the pauses between packets.
pub(super) const SHORTEST: Duration = Duration::from_micros(50);

/// The time in calls, and how much of it was waiting for which ranks. What it costs is paid by waits that are long enough to
/// count, once for each.
#[derive(Debug, Default)]
pub(super) struct Waits {
    in_calls: Duration,
    waited: Duration,
    by_rank: BTreeMap<Rank, WaitedFor>,
    /// For whom this rank waits now.
    awaited: Vec<Rank>,
    /// What had been received when the call began.
    before: u64,
    /// Whether nothing had come since when it began to wait.
    is_first: bool,
}

/// How long a rank waited for another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitedFor {
    /// In all.
    pub time: Duration,
    /// Of that, before anything of a broadcast had come: as where the other has not called yet.
    pub first: Duration,
}

impl Waits {
    /// A call begins, when so many packets have been received.
    pub fn begin_call(&mut self, received: u64) {
        self.before = received;
    }

    /// A wait has become long enough to count, and it is asked once for whom it is; so many packets have been received.
    pub fn begin(&mut self, idle: &mut Idle, received: u64, awaited: impl FnOnce(&mut Vec<Rank>)) {
        if !idle.is_noted {
            idle.is_noted = true;
            self.is_first = received == self.before;
            self.awaited.clear();
            awaited(&mut self.awaited);
        }
    }

    /// There is something to do again, if there was nothing; how long that was, if it counts. A wait for several ranks is
    /// shared evenly by them. One that was not asked about, as the thread slept through it, was for the `root`.
    pub fn end(&mut self, idle: &mut Idle, now: Instant, root: Option<Rank>) -> Option<Duration> {
        let time = idle.time(now).filter(|time| *time >= SHORTEST)?;
        if !idle.is_noted {
            self.awaited.clear();
            self.awaited.extend(root);
            self.is_first = false;
        }
        *idle = Idle::default();
        self.waited += time;
        for rank in &self.awaited {
            let waited = self.by_rank.entry(*rank).or_default();
            let time = time / self.awaited.len() as u32;
            waited.time += time;
            waited.first += if self.is_first { time } else { Duration::ZERO };
        }
        Some(time)
    }

    /// For whom the last wait was.
    pub fn awaited(&self) -> &[Rank] {
        &self.awaited
    }

    /// A call that waits for a broadcast has ended.
    pub fn add_call(&mut self, time: Duration) {
        self.in_calls += time;
    }

    pub fn in_calls(&self) -> Duration {
        self.in_calls
    }

    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// How long this rank waited for which others, without those that it did not wait for.
    pub fn by_rank(&self) -> impl Iterator<Item = (Rank, WaitedFor)> {
        self.by_rank.iter().map(|(rank, waited)| (*rank, *waited))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn a_wait_is_shared_by_those_it_is_for_and_asked_about_once() {
        let (mut waits, mut idle) = (Waits::default(), Idle::default());
        idle.update(at(100), false);
        waits.begin_call(7);
        waits.begin(&mut idle, 7, |ranks| ranks.extend([Rank(1), Rank(3)]));
        waits.begin(&mut idle, 7, |_| panic!("it is known"));
        waits.end(&mut idle, at(500), Some(Rank(0)));
        waits.end(&mut idle, at(900), Some(Rank(0)));
        assert_eq!(waits.waited(), Duration::from_micros(400));
        let time = Duration::from_micros(200);
        let half = WaitedFor { time, first: time };
        assert_eq!(waits.by_rank().collect::<Vec<_>>(), [(Rank(1), half), (Rank(3), half)]);
    }

    #[test]
    fn a_wait_for_the_rest_is_none_for_a_call() {
        let (mut waits, mut idle) = (Waits::default(), Idle::default());
        idle.update(at(100), false);
        waits.begin_call(7);
        waits.begin(&mut idle, 8, |ranks| ranks.push(Rank(1)));
        waits.end(&mut idle, at(500), None);
        let expected = WaitedFor { time: Duration::from_micros(400), first: Duration::ZERO };
        assert_eq!(waits.by_rank().collect::<Vec<_>>(), [(Rank(1), expected)]);
    }

    #[test]
    fn a_wait_that_was_slept_through_is_for_the_root() {
        let (mut waits, mut idle) = (Waits::default(), Idle::default());
        idle.update(at(100), false);
        waits.end(&mut idle, at(1100), Some(Rank(2)));
        let [(rank, waited)] = waits.by_rank().collect::<Vec<_>>()[..] else { panic!("one") };
        assert_eq!((rank, waited.time), (Rank(2), Duration::from_millis(1)));
    }

    #[test]
    fn pauses_between_packets_are_no_waits() {
        let (mut waits, mut idle) = (Waits::default(), Idle::default());
        idle.update(at(100), false);
        waits.end(&mut idle, at(120), Some(Rank(0)));
        assert_eq!((waits.waited(), waits.by_rank().count()), (Duration::ZERO, 0));
    }
}
