//! Bursts against the number of posted receives: how much is lost, and whether order is kept.

use super::{Circle, Part};
use crate::doctor::bounded::step;
use crate::doctor::finding::{Finding, Tried};
use crate::doctor::lab::{Arrival, GRH, Mailbox};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Posted receives.
const DEPTHS: [u32; 3] = [16, 64, 256];
/// Datagrams, back to back.
const SENT: u32 = 1000;
/// Their bytes, at most.
const SIZE: usize = 1024;
const QUIET: Duration = Duration::from_millis(500);

/// What a rank has seen of a burst.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Seen {
    count: u32,
    late: u32,
}

pub const PART: Part = Part {
    tries: [
        (25, "bursts lose what finds no receive, and nothing else stops"),
        (26, "datagrams of one sender arrive in their order"),
    ],
    attempt,
};

fn attempt(circle: &mut Circle<'_>) -> Vec<Finding> {
    step("bursts of datagrams");
    let all: Result<Vec<_>, String> = DEPTHS
        .iter()
        .map(|depth| {
            let seen = burst(circle, *depth)?;
            // Without the sender, which is rank 0.
            Ok((*depth, seen[1..].to_vec()))
        })
        .collect();
    let (loss, order) = match all {
        Ok(all) => (judge_loss(&all), judge_order(&all)),
        Err(what) => (Tried::broken(what, "see the message"), Tried::not_tried("the above first")),
    };
    PART.findings([loss, order])
}

fn burst(circle: &mut Circle<'_>, depth: u32) -> Result<Vec<Seen>, String> {
    let (mut mailbox, _attachment) = circle.member(depth)?;
    let seen = match circle.me().0 {
        0 => send(circle, &mut mailbox).map(|()| Seen::default()),
        _ => watch(&mut mailbox),
    };
    circle.gather(seen)
}

fn send(circle: &Circle<'_>, mailbox: &mut Mailbox) -> Result<(), String> {
    let mut payload = vec![0x77; SIZE.min(circle.mtu)];
    for number in 0..SENT {
        payload[..4].copy_from_slice(&number.to_be_bytes());
        mailbox.send(&circle.joined, &payload)?;
    }
    mailbox.settle()
}

fn watch(mailbox: &mut Mailbox) -> Result<Seen, String> {
    let (mut seen, mut last) = (Seen::default(), None);
    let mut patience = 4 * QUIET;
    while let Some(arrival) = mailbox.receive(patience)? {
        patience = QUIET;
        let Arrival::Datagram(bytes) = arrival else { continue };
        let Some(&[a, b, c, d]) = bytes.get(GRH..GRH + 4) else { continue };
        let number = u32::from_be_bytes([a, b, c, d]);
        seen.count += 1;
        seen.late += u32::from(last.is_some_and(|last| number < last));
        last = last.max(Some(number));
    }
    Ok(seen)
}

fn judge_loss(all: &[(u32, Vec<Seen>)]) -> Tried {
    let percent = |seen: &[Seen]| {
        let least = seen.iter().map(|seen| seen.count.min(SENT)).min().unwrap_or(0);
        100.0 * f64::from(SENT - least) / f64::from(SENT)
    };
    let said: Vec<_> = all
        .iter()
        .map(|(depth, seen)| format!("{:.1} % with {depth} receives", percent(seen)))
        .collect();
    let came = format!("lost at the worst rank: {}", said.join(", "));
    match all.iter().any(|(_, seen)| seen.iter().any(|seen| seen.count == 0)) {
        true => Tried::broken(came, "a rank got nothing of a burst: is the network overloaded?"),
        false => Tried::holds(came),
    }
}

fn judge_order(all: &[(u32, Vec<Seen>)]) -> Tried {
    let seen = || all.iter().flat_map(|(_, seen)| seen);
    let (late, count): (u32, u32) =
        (seen().map(|seen| seen.late).sum(), seen().map(|seen| seen.count).sum());
    let came = format!("{late} of {count} late");
    match late {
        0 => Tried::holds(came),
        _ => Tried::broken(
            came,
            "adaptive routing, or links that are bonded? Broadcasts are right, and slower by repairs",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::finding::Outcome;
    use super::*;

    #[test]
    fn the_worst_rank_counts() {
        let few = vec![Seen { count: 990, late: 0 }, Seen { count: 500, late: 0 }];
        let all = [(16, few), (64, vec![Seen { count: 1000, late: 0 }])];
        let tried = judge_loss(&all);
        let expected = "lost at the worst rank: 50.0 % with 16 receives, 0.0 % with 64 receives";
        assert_eq!((tried.came.as_str(), tried.outcome), (expected, Outcome::Holds));
        assert_eq!(judge_order(&all).outcome, Outcome::Holds);
        let none = [(16, vec![Seen::default()])];
        assert_eq!(judge_loss(&none).outcome, Outcome::Broken);
        let late = [(16, vec![Seen { count: 9, late: 1 }])];
        assert_eq!(judge_order(&late).outcome, Outcome::Broken);
    }
}
