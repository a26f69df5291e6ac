//! Programs of processes that have several communicators each, and that also wait for one another by other means than
//! broadcasts.

use super::communicator::Channel;
use super::plan::Plan;
use verbcast_core::driver::Parameters;
use verbcast_core::order::RankOrder;
use verbcast_core::protocol::options::SuiteParameters;
use verbcast_core::rank::{OpId, Rank};

/// A communicator of some processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Communicator {
    /// Its processes by rank.
    pub members: Vec<Rank>,
    /// The id of its first broadcast.
    pub first_op: OpId,
    /// Fragments that had gone by before.
    pub passed: u64,
}

/// What programs do. Each process does, in this order, what concerns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// The ranks of a communicator begin a broadcast, a step of the plan.
    Start {
        /// Which communicator.
        communicator: usize,
        /// Which step.
        step: usize,
    },
    /// Every process waits for the broadcasts that it has begun.
    Wait,
    /// A process sends another word, which waits for it and does nothing else meanwhile (`MPI_Send`, `MPI_Recv`).
    Word {
        /// Who sends.
        from: Rank,
        /// Who waits.
        to: Rank,
    },
    /// A process is elsewhere for a while.
    Compute {
        /// Which process.
        process: Rank,
        /// For how long, in nanoseconds.
        nanos: u64,
    },
}

/// Programs, and the endpoints that they run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// Costs, depths, faults, and the broadcasts as steps whose roots are ranks of their communicators. Its ranks are
    /// the processes. What it says of calls is left aside, and nobody crashes.
    pub plan: Plan,
    /// The communicators.
    pub communicators: Vec<Communicator>,
    /// What is done.
    pub acts: Vec<Act>,
    /// Completions that a process takes at a time.
    pub batch: u32,
    /// Whether who waits turns to all communicators with something in flight, rather than to the first only.
    pub waits_for_all: bool,
}

impl Programs {
    /// The order of a communicator's ranks.
    pub(super) fn order(&self, channel: Channel) -> RankOrder {
        let Communicator { members, .. } = &self.communicators[usize::from(channel.0)];
        let places: Vec<_> = members.iter().map(|member| self.plan.order.place(*member)).collect();
        let told: Vec<_> = places
            .iter()
            .map(|place| place.split_last().map(|(host, switches)| (switches, host)))
            .collect();
        RankOrder::by_place(&told)
    }

    /// Runtime parameters of a process's driver of a communicator, whose ranks have this order, if it is in it.
    pub(super) fn parameters(
        &self,
        channel: Channel,
        process: Rank,
        order: &RankOrder,
    ) -> Option<Parameters> {
        let Communicator { members, first_op, .. } = &self.communicators[usize::from(channel.0)];
        let rank = members.iter().position(|member| *member == process)?;
        let whole = self.plan.parameters(process);
        let suite = SuiteParameters {
            rank: Rank(rank as u32),
            order: order.clone(),
            first_op: *first_op,
            ..whole.suite
        };
        Some(Parameters { suite, key: channel.key(), shares_buffers: true, ..whole })
    }

    /// The communicators.
    pub(super) fn channels(&self) -> impl Iterator<Item = Channel> + use<> {
        (0..self.communicators.len() as u16).map(Channel)
    }
}
