//! What must hold, apart from the machinery that runs the ranks.

use super::outcome::{Outcome, Violation};
use super::plan::Plan;
use verbcast_core::rank::Rank;

/// A rank has exactly the root's bytes.
pub fn same_bytes(plan: &Plan, rank: Rank, step: usize, bytes: &[u8]) -> Result<(), Violation> {
    if plan.is_message(step, bytes) {
        return Ok(());
    }
    let sent = plan.message(step);
    let at = bytes.iter().zip(&sent).position(|(a, b)| a != b).unwrap_or(0);
    Err(Violation(format!(
        "{rank} has wrong bytes of broadcast {step}: {} of them, the first wrong one at {at}",
        bytes.len()
    )))
}

/// Broadcasts end in the order of their calls, each once.
pub fn in_order(rank: Rank, expected: usize, step: usize) -> Result<(), Violation> {
    if step == expected {
        return Ok(());
    }
    Err(Violation(format!("{rank} ended broadcast {step} where {expected} was next")))
}

/// No rank holds more packets than there are buffers, nor keeps more than it may.
pub fn bounded(plan: &Plan, rank: Rank, out: usize, kept: usize) -> Result<(), Violation> {
    let depths = &plan.depths;
    let buffers = depths.receive + depths.reliable_receive + depths.fetch;
    let copies = depths.max_copied(plan.size) + depths.max_held() + depths.reliable_receive;
    if out > buffers as usize || kept > copies as usize {
        let what = format!("{rank} held {out} of {buffers} buffers and kept {kept} packets");
        return Err(Violation(what));
    }
    Ok(())
}

/// Every rank that lives has ended every broadcast, or knows which rank died; and nobody was given up
/// that lives.
pub fn all_ended(plan: &Plan, outcome: &Outcome) -> Result<(), Violation> {
    let dead = plan.crash.map(|(rank, _)| rank);
    for (rank, failure) in (0..).map(Rank).zip(&outcome.failures) {
        if Some(rank) == dead {
            continue;
        }
        match failure {
            Some((named, _)) if Some(*named) == dead => {}
            // Who notices names whose packet it was, the mistaken rank's or another's.
            Some((_, why))
                if plan.mistaken.is_some() && why.contains("where this rank expects") => {}
            Some((named, why)) => {
                return Err(Violation(format!("{rank} gave up {named}, which lives: {why}")));
            }
            None => {
                let open = outcome.calls.iter().position(|calls| calls[rank.index()].ended == 0);
                if let Some(step) = open.filter(|_| outcome.ended > 0) {
                    return Err(Violation(format!("{rank} never ended broadcast {step}")));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::outcome::Call;
    use super::super::plan::Step;
    use super::*;
    use verbcast_core::driver::Statistics;

    fn plan() -> Plan {
        Plan::new(2, vec![Step { root: Rank(0), len: 100 }])
    }

    #[test]
    fn a_wrong_byte_is_noticed() {
        let mut bytes = plan().message(0);
        same_bytes(&plan(), Rank(1), 0, &bytes).unwrap();
        bytes[70] ^= 1;
        let violation = same_bytes(&plan(), Rank(1), 0, &bytes).unwrap_err();
        assert!(violation.to_string().contains("wrong one at 70"), "{violation}");
        assert!(same_bytes(&plan(), Rank(1), 0, &bytes[..9]).is_err());
    }

    #[test]
    fn a_skipped_or_repeated_broadcast_is_noticed() {
        in_order(Rank(1), 3, 3).unwrap();
        assert!(in_order(Rank(1), 3, 2).is_err() && in_order(Rank(1), 3, 4).is_err());
    }

    #[test]
    fn too_many_buffers_are_noticed() {
        let mut plan = plan();
        (plan.depths.receive, plan.depths.reliable_receive, plan.depths.fetch) = (64, 32, 8);
        bounded(&plan, Rank(1), 104, 0).unwrap();
        assert!(bounded(&plan, Rank(1), 105, 0).is_err());
        assert!(bounded(&plan, Rank(1), 0, 1000).is_err());
    }

    #[test]
    fn an_open_broadcast_and_a_rank_given_up_are_noticed() {
        let ended = Call { began: 1, ended: 2 };
        let mut outcome = Outcome {
            calls: vec![vec![ended, ended]],
            statistics: vec![Statistics::default(); 2],
            failures: vec![None, None],
            overflowed: 0,
            events: 1,
            ended: 9,
            trace: 0,
        };
        all_ended(&plan(), &outcome).unwrap();
        outcome.calls[0][1].ended = 0;
        assert!(all_ended(&plan(), &outcome).is_err());
        outcome.failures[1] = Some((Rank(0), "gone".to_owned()));
        assert!(all_ended(&plan(), &outcome).is_err());
        let crash = Plan { crash: Some((Rank(0), 5)), ..plan() };
        all_ended(&crash, &outcome).unwrap();
    }
}
