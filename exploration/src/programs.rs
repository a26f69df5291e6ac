//! Processes that have several communicators on one endpoint.
//!
//! A process polls the communicator of its broadcast alone, and none while it waits for another's word; whoever polls takes
//! completions for all. What comes for a communicator that is not polled waits for it. While a process polls nothing, its
//! queue takes so many reliable messages and no more.

use verbcast_core::transport::Reserved;

/// What processes do, each in this order what concerns it. Without anything, there is one communicator, whose ranks poll
/// whenever something comes.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// What is done.
    pub acts: Vec<Act>,
    /// Reliable messages that a process's queue takes.
    pub receives: u32,
    /// How many of them take what comes of broadcasts that are over for this process, or that it has not begun.
    pub reserved: u32,
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// All take part in the next broadcast of the setup, in this communicator.
    Broadcast(u32),
    /// The first process sends word to the second, which waits for it.
    Word(usize, usize),
}

/// Where a process is in its program.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    /// The next act.
    pub next: usize,
    /// It takes part in the broadcast of that act.
    pub is_in: bool,
    /// Messages in its queue, while it polls nothing.
    pub queued: u32,
    /// Words that came for it.
    pub words: Vec<usize>,
    pub reserved: Reserved<u32>,
}

impl Program {
    /// Communicators; one at least.
    pub fn communicators(&self) -> u32 {
        let named = self.acts.iter().filter_map(|act| match act {
            Act::Broadcast(communicator) => Some(communicator + 1),
            Act::Word(..) => None,
        });
        named.max().unwrap_or(1)
    }

    /// Which of the setup's broadcasts, `steps` in number, are a communicator's, by index.
    pub(crate) fn steps_of(&self, communicator: u32, steps: usize) -> Vec<usize> {
        if self.acts.is_empty() {
            return (0..steps).collect();
        }
        let broadcasts = self.acts.iter().filter(|act| matches!(act, Act::Broadcast(_)));
        let of_it = broadcasts.enumerate().filter(|(_, act)| **act == Act::Broadcast(communicator));
        of_it.map(|(step, _)| step).collect()
    }

    /// Which step of the setup the broadcast of an act is.
    pub(crate) fn step(&self, act: usize) -> usize {
        let before = self.acts[..act].iter();
        before.filter(|act| matches!(act, Act::Broadcast(_))).count()
    }

    /// The processes, before anything is done; none without a program.
    pub(crate) fn processes(&self, size: u32, eager: u64) -> Vec<Process> {
        let mut reserved = Reserved::new(self.reserved);
        (0..self.communicators()).for_each(|communicator| reserved.open(communicator, eager));
        let count = if self.acts.is_empty() { 0 } else { size };
        let process = || Process {
            next: 0,
            is_in: false,
            queued: 0,
            words: Vec::new(),
            reserved: reserved.clone(),
        };
        (0..count).map(|_| process()).collect()
    }

    /// What a process does next, if it has not ended.
    pub(crate) fn next(&self, process: &Process) -> Option<Act> {
        self.acts.get(process.next).copied()
    }

    /// Whether a process polls a communicator.
    pub(crate) fn polls(&self, process: &Process, communicator: u32) -> bool {
        match self.next(process) {
            Some(Act::Broadcast(polled)) => process.is_in && polled == communicator,
            Some(Act::Word(..)) => false,
            None => true,
        }
    }

    /// Whether a process polls any communicator.
    pub(crate) fn polls_any(&self, process: &Process) -> bool {
        process.is_in || self.next(process).is_none()
    }
}
