//! How far the clocks of hosts are apart.
//!
//! Nobody leaves a round of the set-up of a communicator, in which every rank of it hears from every other, before the last one
//! has entered it. So for any two of its ranks, and in each round, the first one's entry is before the second one's exit, which
//! bounds the difference of their clocks from both sides; the middle of what all rounds leave is taken.

use super::read::{Event, Timeline};
use std::collections::BTreeMap;

/// How the clock of a host is set right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offset {
    /// Microseconds to add.
    pub add: f64,
    /// How wrong that may be, at most; none where the hosts' times of day had to be taken.
    pub error: Option<f64>,
}

/// The rounds of each communicator's set-up, when each began and ended.
type Rounds = BTreeMap<u64, Vec<[f64; 2]>>;

/// What to add to the times of each timeline to put all on the clock of the first one's host.
pub fn offsets(timelines: &[Timeline]) -> Vec<Offset> {
    let rounds: Vec<_> = timelines.iter().map(rounds).collect();
    let Some(first) = timelines.first() else { return Vec::new() };
    let mut hosts: BTreeMap<&str, Offset> = BTreeMap::new();
    hosts.insert(&first.boot, Offset { add: 0.0, error: Some(0.0) });
    for timeline in timelines {
        if hosts.contains_key(timeline.boot.as_str()) {
            continue;
        }
        let of = |boot: &str| {
            let same = timelines.iter().zip(&rounds).filter(move |(one, _)| one.boot == boot);
            same.map(|(_, rounds)| rounds).collect::<Vec<_>>()
        };
        let (here, there) = (of(&first.boot), of(&timeline.boot));
        // Added to theirs, their entries are before our exits, and their exits after our entries.
        let (most, least) = (slack(&there, &here), -slack(&here, &there));
        let offset = match most >= least && most.is_finite() && least.is_finite() {
            true => Offset { add: f64::midpoint(most, least), error: Some((most - least) / 2.0) },
            false => Offset { add: timeline.to_wall - first.to_wall, error: None },
        };
        hosts.insert(&timeline.boot, offset);
    }
    timelines.iter().map(|timeline| hosts[timeline.boot.as_str()]).collect()
}

/// The least time from an entry of one of the first to an exit of one of the others in the same round.
fn slack(entering: &[&Rounds], leaving: &[&Rounds]) -> f64 {
    let pairs = entering.iter().flat_map(|one| leaving.iter().map(move |other| (one, other)));
    let common = pairs.flat_map(|(one, other)| {
        one.iter().filter_map(|(communicator, rounds)| Some((rounds, other.get(communicator)?)))
    });
    let rounds = common.flat_map(|(one, other)| one.iter().zip(other));
    rounds.map(|([entry, _], [_, exit])| exit - entry).fold(f64::INFINITY, f64::min)
}

fn rounds(timeline: &Timeline) -> Rounds {
    let named = |name: &'static str| {
        timeline.events.iter().filter(move |event| event.name == name && event.ph == "X")
    };
    let of = |set_up: &Event| {
        let within = |at: f64| (set_up.began()..=set_up.ended()).contains(&at);
        let mut rounds: Vec<_> = named("round")
            .filter(|round| round.tid == set_up.tid)
            .map(|round| [round.began(), round.ended()])
            .filter(|[began, ended]| within(*began) && within(*ended))
            .collect();
        rounds.sort_by(|one, other| one[0].total_cmp(&other[0]));
        rounds
    };
    named("set_up")
        .filter_map(|set_up| Some((set_up.number("communicator")?, of(set_up))))
        .collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// The set-up of a communicator from 0 to 1000 with these rounds, all so much later, on the clock of a timeline.
    fn set_up(
        communicator: Option<u64>,
        rank: u32,
        later: f64,
        rounds: &[[f64; 2]],
    ) -> impl Iterator<Item = Event> {
        let event = |name: &str, [began, ended]: [f64; 2]| Event {
            name: name.to_owned(),
            ph: "X".to_owned(),
            ts: Some(began + later),
            dur: Some(ended - began),
            ..Event::default()
        };
        let mut whole = event("set_up", [0.0, 1000.0]);
        whole.args.insert("rank".to_owned(), format!("rank {rank}").into());
        whole.args.insert("size".to_owned(), 4.into());
        if let Some(communicator) = communicator {
            whole.args.insert("communicator".to_owned(), communicator.into());
        }
        let rounds: Vec<_> = rounds.iter().map(|round| event("round", *round)).collect();
        rounds.into_iter().chain([whole])
    }

    /// A timeline whose clock is behind by so much, with a set-up of these rounds in true time.
    pub fn timeline(id: u32, boot: &str, behind: f64, rounds: &[[f64; 2]]) -> Timeline {
        let events = set_up(Some(1), id, -behind, rounds).collect();
        Timeline {
            id,
            name: format!("rank {id} on {boot}"),
            host: boot.to_owned(),
            boot: boot.to_owned(),
            to_wall: behind + 7.0 * f64::from(id),
            size: Some(4),
            events,
        }
    }

    #[test]
    fn clocks_are_compared_by_the_tightest_rounds() {
        let here = timeline(0, "a", 0.0, &[[10.0, 30.0], [100.0, 104.0], [200.0, 290.0]]);
        let there = timeline(1, "b", 5000.0, &[[12.0, 31.0], [101.0, 105.0], [210.0, 280.0]]);
        let offsets = offsets(&[here, there]);
        assert_eq!(offsets[0], Offset { add: 0.0, error: Some(0.0) });
        // From 104 - 101 above and 105 - 100 below.
        assert_eq!(offsets[1], Offset { add: 5000.0 - 1.0, error: Some(4.0) });
    }

    #[test]
    fn rounds_of_different_communicators_are_not_compared() {
        // Each host's ranks are first in a communicator of their own, at different times.
        let made = |id, boot, behind, communicators: [(Option<u64>, f64); 2]| {
            let mut timeline = timeline(id, boot, behind, &[]);
            let round = [[100.0, 200.0]];
            let set_ups = communicators.into_iter();
            timeline.events = set_ups
                .flat_map(|(communicator, at)| set_up(communicator, id, at - behind, &round))
                .collect();
            timeline
        };
        let of = |[one, other, all]: [Option<u64>; 3]| {
            let here = made(0, "a", 0.0, [(one, 10e6), (all, 20e6)]);
            let there = made(2, "b", 5e6, [(other, 12e6), (all, 20e6)]);
            offsets(&[here, there])[1]
        };
        let common = of([Some(1), Some(2), Some(3)]);
        assert_eq!(common, Offset { add: 5e6, error: Some(100.0) });
        let wall = Offset { add: 5e6 + 14.0, error: None };
        assert_eq!(of([None; 3]), wall, "who does not say which communicator it is");
    }

    #[test]
    fn a_host_has_one_clock() {
        let round = [[10.0, 20.0]];
        let all = [
            timeline(0, "a", 0.0, &round),
            timeline(1, "b", 9.0, &round),
            timeline(2, "b", 9.0, &round),
        ];
        let offsets = offsets(&all);
        assert_eq!(offsets[1], offsets[2]);
    }

    #[test]
    fn without_common_rounds_the_walls_clock_is_believed() {
        let (here, there) = (timeline(0, "a", 0.0, &[]), timeline(1, "b", 50.0, &[[1.0, 2.0]]));
        assert_eq!(offsets(&[here, there])[1], Offset { add: 57.0, error: None });
    }
}
