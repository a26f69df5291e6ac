//! Calls that are told together.

use super::{Broadcast, nanos};
use smallvec::SmallVec;
use std::time::Duration;
use verbcast_core::rank::Rank;
use verbcast_core::time::Instant;

/// How long calls are gathered at least to be told together.
pub(super) const TOGETHER: Duration = Duration::from_millis(20);

/// Calls that are told together, and the waits in them.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    calls: u64,
    operations: u64,
    /// Of the first.
    op: u32,
    /// If they have the same.
    root: Option<Rank>,
    bytes: u64,
    began: Instant,
    ended: Instant,
    /// In calls.
    within: Duration,
    /// For whom; nobody has those that were for no rank in particular.
    waits: SmallVec<[(Option<Rank>, Duration); 8]>,
    lost: u64,
}

impl Gathered {
    fn is_empty(&self) -> bool {
        self.calls + self.operations == 0
    }

    /// Whether what begins then is better told by itself.
    pub fn is_far_from(&self, began: Instant) -> bool {
        !self.is_empty() && began - self.ended > TOGETHER
    }

    pub fn is_due(&self, now: Instant) -> bool {
        !self.is_empty() && now - self.began >= TOGETHER
    }

    fn begin(&mut self, broadcast: &Broadcast, began: Instant) {
        if self.is_empty() {
            (self.op, self.root, self.began) = (broadcast.op.0, Some(broadcast.root), began);
        }
        self.root = self.root.filter(|root| broadcast.root == *root);
        self.ended = broadcast.ended;
        self.bytes += broadcast.len as u64;
        self.lost = broadcast.lost;
    }

    pub fn add_call(&mut self, call: &Broadcast) {
        self.begin(call, call.began);
        self.calls += 1;
        self.within += call.ended - call.began;
    }

    pub fn add_operation(&mut self, operation: &Broadcast) {
        self.begin(operation, operation.ended);
        self.operations += 1;
    }

    pub fn add_wait(&mut self, time: Duration, ranks: &[Rank]) {
        let time = time / ranks.len().max(1) as u32;
        if ranks.is_empty() {
            self.add_wait_for(None, time);
        }
        ranks.iter().for_each(|rank| self.add_wait_for(Some(*rank), time));
    }

    fn add_wait_for(&mut self, rank: Option<Rank>, time: Duration) {
        match self.waits.iter_mut().find(|(other, _)| *other == rank) {
            Some((_, sum)) => *sum += time,
            None => self.waits.push((rank, time)),
        }
    }

    /// Tells them, if there are any, and has none after that.
    pub fn tell(&mut self, communicator: u64, now: Instant) {
        if self.is_empty() {
            return;
        }
        let several = self.calls + self.operations > 1;
        let all = std::mem::take(self);
        let waited = (!all.waits.is_empty()).then(|| all.waits_of_ranks());
        tracing::debug!(
            nanos = nanos(all.ended - all.began),
            ago = nanos(now - all.ended),
            communicator,
            op = all.op,
            root = all.root.map(|root| root.0),
            len = all.bytes,
            lost = all.lost,
            calls = several.then_some(all.calls),
            operations = several.then_some(all.operations),
            within = several.then(|| nanos(all.within)),
            waited,
            "broadcast"
        );
    }

    /// `RANK:NANOSECONDS` of each rank that was waited for, and `:NANOSECONDS` of what was for none.
    fn waits_of_ranks(&self) -> String {
        let text = |(rank, time): &(Option<Rank>, Duration)| {
            let rank = rank.map(|rank| rank.0.to_string()).unwrap_or_default();
            format!("{rank}:{}", nanos(*time))
        };
        let waits: SmallVec<[String; 8]> = self.waits.iter().map(text).collect();
        waits.join(" ")
    }
}
