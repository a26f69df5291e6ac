//! Draws programs of processes with several communicators each.

use super::{Draw, draw_steps};
use crate::plan::Plan;
use crate::programs::{Act, Communicator, Programs};
use verbcast_core::protocol::Depths;
use verbcast_core::rank::{OpId, Rank};

/// A rank that waits for a word pushes nothing, and its queue takes neither all acknowledgements by message nor all
/// that co-roots are sent without credits.
pub(super) const NEEDED: [(&str, &str); 3] =
    [("repair", "pull"), ("acknowledge-by", "write"), ("credits", "on")];

/// Draws programs over the adapters and faults of a plan.
pub(super) fn draw(draw: &mut Draw, mut plan: Plan) -> Programs {
    (plan.crash, plan.leaves, plan.departs) = (None, false, false);
    plan.mistaken = None;
    plan.computing.clear();
    let communicators: Vec<_> =
        (0..2 + draw.below(5)).map(|_| draw_communicator(draw, plan.size)).collect();
    plan.steps = (0..3).flat_map(|_| draw_steps(draw, plan.size)).collect();
    plan.depths.reliable_receive = Depths::DEFAULT.reliable_receive;
    let (batch, waits_for_all) = (draw.pick(&[1, 4, 16]), draw.one_in(2));
    let mut acts = Vec::new();
    for step in 0..plan.steps.len() {
        let communicator = draw.below(communicators.len() as u32) as usize;
        let members = communicators[communicator].members.len() as u32;
        plan.steps[step].root.0 %= members;
        acts.push(Act::Start { communicator, step });
        if draw.one_in(3) && step + 1 < plan.steps.len() {
            continue;
        }
        acts.push(Act::Wait);
        for _ in 0..draw.below(4) {
            let process = Rank(draw.below(plan.size));
            acts.push(match draw.one_in(4) {
                true => Act::Compute { process, nanos: u64::from(draw.below(3_000_000)) },
                false => {
                    let to = Rank((process.0 + 1 + draw.below(plan.size - 1)) % plan.size);
                    Act::Word { from: process, to }
                }
            });
        }
    }
    Programs { plan, communicators, acts, batch, waits_for_all }
}

/// Some of the processes, at least one, in whatever order.
fn draw_communicator(draw: &mut Draw, processes: u32) -> Communicator {
    let mut members: Vec<_> = (0..processes).map(Rank).collect();
    if !draw.one_in(3) {
        for at in (1..members.len()).rev() {
            members.swap(at, draw.below(at as u32 + 1) as usize);
        }
    }
    if draw.one_in(2) {
        members.truncate(1 + draw.below(processes) as usize);
    }
    let first_op = OpId(draw.pick(&[0, 1 << 20, u32::MAX, u32::MAX - 5]));
    Communicator { members, first_op, passed: draw.pick(&super::PASSED) }
}
