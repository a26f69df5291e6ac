//! How far the clocks of hosts are apart.
//!
//! Nobody leaves a round of the set-up, in which every rank hears from every other, before the last one has entered it. So
//! for any two ranks, and in each round, the first one's entry is before the second one's exit, which bounds the difference
//! of their clocks from both sides; the middle of what all rounds leave is taken.

use super::read::Timeline;
use std::collections::BTreeMap;

/// How the clock of a host is set right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offset {
    /// Microseconds to add.
    pub add: f64,
    /// How wrong that may be, at most; none where the hosts' times of day had to be taken.
    pub error: Option<f64>,
}

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
            same.map(|(_, rounds)| rounds.as_slice()).collect::<Vec<_>>()
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
fn slack(entering: &[&[[f64; 2]]], leaving: &[&[[f64; 2]]]) -> f64 {
    let pairs = entering.iter().flat_map(|one| leaving.iter().map(move |other| (one, other)));
    let rounds = pairs.flat_map(|(one, other)| one.iter().zip(other.iter()));
    rounds.map(|([entry, _], [_, exit])| exit - entry).fold(f64::INFINITY, f64::min)
}

/// The rounds of the first set-up, which all ranks have in common.
fn rounds(timeline: &Timeline) -> Vec<[f64; 2]> {
    let named = |name: &'static str| {
        timeline.events.iter().filter(move |event| event.name == name && event.ph == "X")
    };
    let first = named("set_up").min_by(|one, other| one.began().total_cmp(&other.began()));
    let Some(first) = first else { return Vec::new() };
    let within = |at: f64| (first.began()..=first.ended()).contains(&at);
    let mut rounds: Vec<_> = named("round")
        .map(|event| [event.began(), event.ended()])
        .filter(|[began, ended]| within(*began) && within(*ended))
        .collect();
    rounds.sort_by(|one, other| one[0].total_cmp(&other[0]));
    rounds
}

#[cfg(test)]
pub mod tests {
    use super::super::read::Event;
    use super::*;

    /// A timeline whose clock is behind by so much, with a set-up of these rounds in true time.
    pub fn timeline(id: u32, boot: &str, behind: f64, rounds: &[[f64; 2]]) -> Timeline {
        let event = |name: &str, [began, ended]: [f64; 2]| Event {
            name: name.to_owned(),
            ph: "X".to_owned(),
            ts: Some(began - behind),
            dur: Some(ended - began),
            pid: id,
            ..Event::default()
        };
        let mut events = vec![event("set_up", [0.0, 1000.0])];
        events.extend(rounds.iter().map(|round| event("round", *round)));
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
