//! Requests that nothing follows.
//!
//! An adapter learns of a packet that was lost from a later one: it is out of sequence, or its acknowledgement comes without
//! the answers before it (InfiniBand Architecture, volume 1, sections 9.7.3 and 9.7.5). Behind the last request there is none, so
//! that the adapter waits for its timer, which is for ending connections: an eighth of `VERBCAST_ACK_TIMEOUT` or more. Here
//! something small is sent behind a request that takes long: a tail loss probe (RFC 8985, section 7, has them for TCP).

use crate::rdma::ids::ProcessId;
use std::time::Duration;
use verbcast_core::time::Instant;

/// Between two looks, and the least time that is long.
const LOOK: Duration = Duration::from_millis(5);
/// How many times as long as usual is long.
const MARGIN: u32 = 3;
/// Most that is usual: of an adapter that is so slow, the timer is soon enough.
const MOST: Duration = Duration::from_millis(100);

/// The first request of a connection that had not ended.
#[derive(Clone, Copy, Debug)]
struct Seen {
    number: u32,
    since: Instant,
    probes: u32,
}

/// What was seen of one connection at the last look.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastSeen(Option<Seen>);

/// The connections with requests under way, and how long those usually take.
#[derive(Debug, Default)]
pub struct Tails {
    watched: Vec<ProcessId>,
    looked_at: Instant,
    usual: Duration,
}

impl Tails {
    /// A connection, which is not watched, has a request under way.
    pub fn watch(&mut self, process: ProcessId) {
        self.watched.push(process);
    }

    /// When to look next, if there is anything to see.
    pub fn due(&self) -> Option<Instant> {
        (!self.watched.is_empty()).then(|| self.looked_at + LOOK)
    }

    /// The connections to look at now; those that are watched from now on are to be given back.
    pub fn take(&mut self) -> Vec<ProcessId> {
        std::mem::take(&mut self.watched)
    }

    /// All were looked at.
    pub fn looked(&mut self, now: Instant, watched: Vec<ProcessId>) {
        (self.looked_at, self.watched) = (now, watched);
    }

    /// Looks at the end of a connection's queue, whose first request that has not ended has a number; whether to probe.
    pub fn look(&mut self, now: Instant, last: &mut LastSeen, first: Option<u32>) -> bool {
        match (&mut last.0, first) {
            (Some(seen), Some(number)) if seen.number == number => {
                let long = (self.usual * MARGIN).max(LOOK) * (1 << seen.probes.min(16));
                let is_long = now - seen.since >= long;
                if is_long {
                    (seen.since, seen.probes) = (now, seen.probes + 1);
                }
                is_long
            }
            (known, _) => {
                // Who was away for long between two looks has seen when nothing ended.
                if let Some(Seen { since, probes: 0, .. }) = known
                    && now - self.looked_at < 2 * LOOK
                {
                    self.usual = (self.usual * 7 / 8).max(now - *since).min(MOST);
                }
                last.0 = first.map(|number| Seen { number, since: now, probes: 0 });
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks as often as may be from a time on; when it is to be probed.
    fn probes(tails: &mut Tails, from: Instant, looks: u32, first: u32) -> Vec<u32> {
        let mut last = LastSeen::default();
        let mut probed = Vec::new();
        for look in 0..looks {
            let now = from + LOOK * look;
            if tails.look(now, &mut last, Some(first)) {
                probed.push(look);
            }
            tails.looked(now, Vec::new());
        }
        tails.look(from + LOOK * looks, &mut last, None);
        tails.looked(from + LOOK * looks, Vec::new());
        probed
    }

    #[test]
    fn what_takes_longer_than_usual_is_probed_more_and_more_seldom() {
        let mut tails = Tails::default();
        assert_eq!(probes(&mut tails, Instant::ZERO, 16, 7), [1, 3, 7, 15]);
        let later = Instant::ZERO + LOOK * 16;
        assert!(probes(&mut tails, later, 1, 8).is_empty(), "it has ended in time");
        let later = later + LOOK;
        assert_eq!(probes(&mut tails, later, 12, 9), [3, 9], "three times as long as that is long");
    }

    #[test]
    fn what_ends_while_nobody_looks_is_not_usual() {
        let mut tails = Tails::default();
        let mut last = LastSeen::default();
        tails.look(Instant::ZERO, &mut last, Some(1));
        tails.looked(Instant::ZERO, vec![ProcessId(3)]);
        assert_eq!(tails.due(), Some(Instant::ZERO + LOOK));
        let back = Instant::ZERO + 100 * LOOK;
        assert!(!tails.look(back, &mut last, Some(2)));
        assert_eq!(tails.usual, Duration::ZERO);
        assert_eq!(tails.take(), [ProcessId(3)]);
        assert_eq!(tails.due(), None, "nothing is under way");
    }
}
