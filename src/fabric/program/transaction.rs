//! Writes changes, and puts back what was there.

use super::change::Task;
use super::task_error::TaskError;
use crate::smp::{Agent, MftBlock};
use std::collections::BTreeSet;

/// Writing has stopped too early.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}; {touched} blocks may have been written")]
pub struct Stopped {
    /// Tasks, from the first, whose switch may have been changed.
    pub touched: usize,
    /// Why.
    #[source]
    pub error: TaskError,
}

/// What became of blocks that were to be as before.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PutBack {
    /// Number of blocks that had to be written.
    pub written: usize,
    /// Number of blocks that were as before.
    pub unchanged: usize,
    /// What could not be done, and why.
    pub failed: Vec<TaskError>,
}

/// Writing has stopped too early, and what was written was put back, as far as possible.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{stopped}; {} of them are as before again", self.as_before())]
pub struct Undone {
    /// Where and why it stopped.
    #[source]
    pub stopped: Stopped,
    /// What became of the blocks that may have been written.
    pub put_back: PutBack,
}

impl Undone {
    /// Blocks that may have been written and are as before again.
    pub fn as_before(&self) -> usize {
        self.stopped.touched - self.put_back.failed.len()
    }
}

pub(super) fn read(agent: &mut impl Agent, task: &Task) -> Result<MftBlock, TaskError> {
    let data = agent.get(&task.route, task.change.attribute());
    let block = task.change.to_string();
    data.map(|data| MftBlock::from(&data)).map_err(|error| TaskError::Unanswered { block, error })
}

/// Writes a block and reads it back.
fn put(agent: &mut impl Agent, task: &Task, block: &MftBlock) -> Result<(), TaskError> {
    let answer = agent.set(&task.route, task.change.attribute(), &block.to_data());
    let name = task.change.to_string();
    answer.map_err(|error| TaskError::Unanswered { block: name, error })?;
    expect(agent, task, block, |block| TaskError::ReadsBackDifferently { block })
}

fn expect(
    agent: &mut impl Agent,
    task: &Task,
    block: &MftBlock,
    complaint: fn(String) -> TaskError,
) -> Result<(), TaskError> {
    match read(agent, task)? == *block {
        true => Ok(()),
        false => Err(complaint(task.change.to_string())),
    }
}

/// Writes all blocks; if that fails, calls `insist` and puts back those that may have been written. `insist` may lift
/// limits of time that the agent has, for which there is no point in stopping half-way.
///
/// # Errors
/// If a switch did not do what it should, or somebody else has changed a block meanwhile; the error says what became
/// of the blocks that may have been written.
pub fn commit<A: Agent>(
    agent: &mut A,
    tasks: &[Task],
    insist: impl FnOnce(&mut A),
) -> Result<(), Undone> {
    write(agent, tasks).map_err(|stopped| {
        insist(agent);
        let put_back = put_back(agent, &tasks[..stopped.touched], false);
        Undone { stopped, put_back }
    })
}

/// Writes all blocks, each after a look whether it is still as it was, reads each back, and at the end all
/// of them.
///
/// # Errors
/// At the first that fails; what was written stays.
pub fn write(agent: &mut impl Agent, tasks: &[Task]) -> Result<(), Stopped> {
    let meanwhile = |block| TaskError::ChangedMeanwhile { block };
    for (at, task) in tasks.iter().enumerate() {
        expect(agent, task, &task.change.before(), meanwhile)
            .map_err(|error| Stopped { touched: at, error })?;
        put(agent, task, &task.change.after())
            .map_err(|error| Stopped { touched: at + 1, error })?;
    }
    for task in tasks {
        expect(agent, task, &task.change.after(), meanwhile)
            .map_err(|error| Stopped { touched: tasks.len(), error })?;
    }
    Ok(())
}

/// Puts back what was there, the last first; what is neither that nor what was written there is somebody
/// else's and left alone. With `is_dry`, only looks. Goes on after a failure, but not at the same switch.
pub fn put_back(agent: &mut impl Agent, tasks: &[Task], is_dry: bool) -> PutBack {
    let mut outcome = PutBack::default();
    let mut lost = BTreeSet::new();
    for task in tasks.iter().rev() {
        let change = &task.change;
        if lost.contains(&change.guid) {
            outcome.failed.push(TaskError::NotTried { block: change.to_string() });
            continue;
        }
        let mut put_one_back = || match read(agent, task)? {
            now if now == change.before() => Ok(false),
            now if now != change.after() => Err(TaskError::Foreign { block: change.to_string() }),
            _ if is_dry => Ok(true),
            _ => put(agent, task, &change.before()).map(|()| true),
        };
        match put_one_back() {
            Ok(true) => outcome.written += 1,
            Ok(false) => outcome.unchanged += 1,
            Err(error) => {
                outcome.failed.push(error);
                lost.insert(change.guid);
            }
        }
    }
    outcome
}
