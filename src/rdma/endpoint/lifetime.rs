//! How long the memory of a communicator stays: until nobody uses it nor reaches into it.

use crate::rdma::ids::ProcessId;
use std::collections::HashSet;
use verbcast_verbs::Span;

/// Who uses the memory of one communicator, and who has left it.
#[derive(Debug, Default)]
pub struct Lifetime {
    /// Processes that have left it, so that nothing is owed to them.
    departed: HashSet<ProcessId>,
    /// Processes that reach into its memory no more: they have said their last, and their adapters
    /// have done everything that they asked for before.
    done: HashSet<ProcessId>,
    /// Processes that are to be told when this one reaches into their memory no more.
    inquirers: HashSet<ProcessId>,
    /// Requests under way that send from its memory.
    requests: usize,
    /// Its memory, once it is closed here.
    left: Option<Left>,
}

/// What is left of a communicator that is closed here.
#[derive(Debug)]
struct Left {
    /// Keeps the memory registered while requests use it.
    _memory: Vec<Span>,
    /// Processes that may still reach into it.
    awaited: HashSet<ProcessId>,
}

impl Lifetime {
    /// Whether the communicator is in use here.
    pub fn is_open(&self) -> bool {
        self.left.is_none()
    }

    /// The communicator is closed here. Its `memory` is kept while requests use it and `awaited` processes
    /// may reach into it.
    pub fn close(&mut self, memory: Vec<Span>, awaited: &HashSet<ProcessId>) {
        let awaited = awaited.difference(&self.done).copied().collect();
        self.left = Some(Left { _memory: memory, awaited });
    }

    /// Whether it is closed here and nobody uses its memory.
    pub fn is_over(&self) -> bool {
        self.requests == 0 && self.left.as_ref().is_some_and(|left| left.awaited.is_empty())
    }

    /// A request that sends from its memory begins.
    pub fn begin_request(&mut self) {
        self.requests += 1;
    }

    /// A request that sends from its memory has ended.
    pub fn end_request(&mut self) {
        self.requests -= 1;
    }

    /// A process has left it; whether that one is to be told when this one reaches into its memory no more.
    pub fn depart(&mut self, process: ProcessId) -> bool {
        self.departed.insert(process);
        self.inquirers.remove(&process)
    }

    /// Whether a process has left it.
    pub fn has_departed(&self, process: ProcessId) -> bool {
        self.departed.contains(&process)
    }

    /// A process reaches into its memory no more.
    pub fn set_done(&mut self, process: ProcessId) {
        self.done.insert(process);
        if let Some(left) = &mut self.left {
            left.awaited.remove(&process);
        }
    }

    /// A process is to be told when this one reaches into its memory no more.
    pub fn add_inquirer(&mut self, process: ProcessId) {
        self.inquirers.insert(process);
    }

    /// The processes that are to be told now.
    pub fn take_inquirers(&mut self) -> HashSet<ProcessId> {
        std::mem::take(&mut self.inquirers)
    }
}
