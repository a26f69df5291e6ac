//! Which rank of the job each rank of a communicator is.

use super::digest::rank_of;
use super::read::Timeline;
use std::collections::{BTreeMap, BTreeSet};

/// The ranks of all communicators.
#[derive(Debug, Default)]
pub struct Members {
    /// By communicator and rank there, the timeline.
    known: BTreeMap<(u64, u32), u32>,
    /// Communicators of all ranks of the job, in the job's order as far as is known.
    whole: BTreeSet<u64>,
}

impl Members {
    /// What all timelines say at the beginning and the end of communicators.
    pub fn new(timelines: &[Timeline]) -> Members {
        let mut members = Members::default();
        let mut others = BTreeSet::new();
        for timeline in timelines {
            let events = timeline.events.iter();
            for event in events.filter(|event| ["set_up", "left"].contains(&event.name.as_str())) {
                let rank = event.args.get("rank").and_then(rank_of);
                let Some((communicator, rank)) = event.number("communicator").zip(rank) else {
                    continue;
                };
                members.known.insert((communicator, rank), timeline.id);
                let is_whole = timeline.size.is_some()
                    && event.number("size") == timeline.size.map(u64::from)
                    && rank == timeline.id;
                match is_whole {
                    true => members.whole.insert(communicator),
                    false => others.insert(communicator),
                };
            }
        }
        members.whole.retain(|communicator| !others.contains(communicator));
        members
    }

    /// The job's rank of a communicator's; none where no timeline tells.
    pub fn job_rank(&self, communicator: Option<u64>, rank: u32) -> Option<u32> {
        let communicator = communicator?;
        let known = self.known.get(&(communicator, rank)).copied();
        known.or_else(|| self.whole.contains(&communicator).then_some(rank))
    }
}
