//! What each rank did: broadcasts, waits and for whom, losses and repairs, on one clock.

use super::clocks::Offset;
use super::members::Members;
use super::read::{Event, Timeline};
use serde_json::Value;
use std::collections::BTreeMap;

/// From when to when, in seconds since the first event of all.
pub type Span = [f64; 2];

/// What one rank did.
#[derive(Clone, Debug, Default)]
pub struct Digest {
    pub id: u32,
    pub name: String,
    pub host: String,
    /// Making communicators.
    pub set_ups: Vec<Span>,
    /// Calls that waited for broadcasts.
    pub calls: Vec<Span>,
    /// Waits in calls, and for which ranks of the job; none for those of whom no timeline tells which they are.
    pub waits: Vec<(Span, Vec<Option<u32>>)>,
    /// When this rank noticed that fragments had been lost, and how many.
    pub losses: Vec<(f64, u64)>,
    /// Reads of what was missing.
    pub repairs: Vec<Span>,
    /// What the log told as a warning or as news.
    pub news: Vec<(f64, String)>,
    /// Datagrams that were received and fragments that were lost, in communicators that have ended.
    pub received: u64,
    pub lost: u64,
    pub operations: u64,
}

impl Digest {
    /// Seconds in spans.
    pub fn waiting(&self) -> f64 {
        self.waits.iter().map(|([began, ended], _)| ended - began).sum()
    }

    /// Of the datagrams for it the share that was lost.
    pub fn share_lost(&self) -> f64 {
        self.lost as f64 / self.lost.saturating_add(self.received).max(1) as f64
    }

    /// Seconds for which it waited for each rank, each wait shared evenly by those it was for.
    pub fn waiting_for(&self) -> BTreeMap<u32, f64> {
        let mut seconds = BTreeMap::new();
        for ([began, ended], ranks) in &self.waits {
            for rank in ranks.iter().flatten() {
                *seconds.entry(*rank).or_default() += (ended - began) / ranks.len() as f64;
            }
        }
        seconds
    }
}

/// What all ranks did, and the seconds from the first event to the last.
pub fn digests(timelines: &[Timeline], offsets: &[Offset]) -> (Vec<Digest>, f64) {
    let shifted = timelines.iter().zip(offsets).flat_map(|(timeline, offset)| {
        let events = timeline.events.iter().filter(|event| event.ts.is_some());
        events.map(|event| [event.began() + offset.add, event.ended() + offset.add])
    });
    let (first, last) = shifted
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(first, last), [a, b]| {
            (first.min(a), last.max(b))
        });
    let length = if last > first { (last - first) / 1e6 } else { 0.0 };
    let members = Members::new(timelines);
    let digest = |(timeline, offset): (&Timeline, &Offset)| {
        let seconds = |micros: f64| (micros + offset.add - first) / 1e6;
        digest(timeline, &members, seconds)
    };
    (timelines.iter().zip(offsets).map(digest).collect(), length)
}

fn digest(timeline: &Timeline, members: &Members, seconds: impl Fn(f64) -> f64) -> Digest {
    let Timeline { id, name, host, .. } = timeline;
    let mut digest =
        Digest { id: *id, name: name.clone(), host: host.clone(), ..Digest::default() };
    let mut open: BTreeMap<u64, &Event> = BTreeMap::new();
    // It counts from the start of each communicator.
    let mut known_lost: BTreeMap<u64, u64> = BTreeMap::new();
    let mut note_lost = |digest: &mut Digest, at: f64, event: &Event| {
        let (communicator, lost) = (event.number("communicator"), event.number("lost"));
        let Some((communicator, lost)) = communicator.zip(lost) else { return };
        let known = known_lost.entry(communicator).or_default();
        if lost > *known {
            digest.losses.push((at, lost - *known));
            *known = lost;
        }
    };
    for event in &timeline.events {
        let span = [seconds(event.began()), seconds(event.ended())];
        match (event.ph.as_str(), event.name.as_str()) {
            ("X", "set_up") => digest.set_ups.push(span),
            ("X", "broadcast") => {
                add_calls(&mut digest, members, event, span);
                note_lost(&mut digest, span[1], event);
            }
            ("X", "wait") => digest.waits.push((span, ranks(event, members))),
            ("b", "repair" | "operation") => _ = event.id.map(|id| open.insert(id, event)),
            ("e", _) => {
                let Some(begin) = event.id.and_then(|id| open.remove(&id)) else { continue };
                match begin.name.as_str() {
                    "repair" => digest.repairs.push([seconds(begin.began()), span[0]]),
                    _ => note_lost(&mut digest, span[0], begin),
                }
            }
            ("i", "left") => {
                let number = |name: &str| event.number(name).unwrap_or_default();
                for (sum, name) in [
                    (&mut digest.operations, "operations"),
                    (&mut digest.received, "multicast_received"),
                    (&mut digest.lost, "lost"),
                ] {
                    *sum = sum.saturating_add(number(name));
                }
            }
            ("i", text) => digest.news.push((span[0], text.to_owned())),
            _ => {}
        }
    }
    digest
}

/// Adds a call, or several that were told together: what was within the calls comes first then, and at its beginning the
/// waits, one after another.
fn add_calls(digest: &mut Digest, members: &Members, event: &Event, [began, ended]: Span) {
    let nanos = |nanos: u64| nanos as f64 / 1e9;
    let within = event.number("within").map_or(ended - began, nanos);
    digest.calls.push([began, began + within]);
    let mut began = began;
    let waited = event.args.get("waited").and_then(Value::as_str).unwrap_or_default();
    for wait in waited.split_whitespace() {
        let Some((rank, time)) = wait.split_once(':') else { continue };
        let Ok(time) = time.parse().map(nanos) else { continue };
        // Of those that were for no rank in particular there is none.
        let rank = rank.parse().into_iter();
        let ranks = rank.map(|rank| members.job_rank(event.number("communicator"), rank));
        digest.waits.push(([began, began + time], ranks.collect()));
        began += time;
    }
}

/// Which ranks of the job those of a text like `[0, 3]` are.
fn ranks(event: &Event, members: &Members) -> Vec<Option<u32>> {
    let text = event.args.get("ranks").and_then(Value::as_str).unwrap_or_default();
    let ranks = text.trim_matches(['[', ']']).split(", ").filter_map(|rank| rank.parse().ok());
    ranks.map(|rank| members.job_rank(event.number("communicator"), rank)).collect()
}

/// A rank that is a number, or a text that ends with one.
pub fn rank_of(value: &Value) -> Option<u32> {
    let text = value.as_str().map(|text| text.rsplit(' ').next().unwrap_or(text));
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    number.or_else(|| text?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::super::clocks::tests::timeline;
    use super::*;

    #[test]
    fn what_a_rank_did_is_on_one_clock() {
        let mut one = timeline(1, "a", 0.0, &[]);
        let mut add = |text: &str| one.events.push(serde_json::from_str(text).unwrap());
        add(r#"{"name":"broadcast","ph":"X","ts":2000000,"dur":1000000,"pid":1}"#);
        add(
            r#"{"name":"wait","ph":"X","ts":2100000,"dur":400000,"pid":1,"args":{"communicator":1,"ranks":"[0, 3]"}}"#,
        );
        add(r#"{"name":"repair","ph":"b","ts":2200000,"id":7,"pid":1,"args":{"from":"rank 3"}}"#);
        add(r#"{"name":"repair","ph":"e","ts":2300000,"id":7,"pid":1}"#);
        for (id, at, lost) in [(8, 2_500_000, 2), (9, 2_900_000, 2)] {
            add(&format!(
                r#"{{"name":"operation","ph":"b","ts":2000000,"id":{id},"pid":1,"args":{{"communicator":1,"lost":{lost}}}}}"#
            ));
            add(&format!(r#"{{"name":"operation","ph":"e","ts":{at},"id":{id},"pid":1}}"#));
        }
        add(
            r#"{"name":"broadcast","ph":"X","ts":2950000,"dur":50000,"pid":1,"args":{"communicator":1,"calls":7,"within":30000000,"waited":"3:9000000 4:1000000 :500000","lost":5}}"#,
        );
        add(
            r#"{"name":"left","ph":"i","ts":3000000,"pid":1,"args":{"lost":2,"multicast_received":98,"operations":2}}"#,
        );
        let (digests, length) = digests(&[one], &[Offset { add: 1_000_000.0, error: None }]);
        let digest = &digests[0];
        assert_eq!((length, &digest.calls[0]), (3.0, &[2.0, 3.0]));
        assert!((digest.calls[1][1] - 2.98).abs() < 1e-9, "what was within calls comes first");
        assert!((digest.waiting() - 0.4105).abs() < 1e-9);
        let waiting_for = digest.waiting_for();
        assert_eq!(waiting_for.keys().copied().collect::<Vec<_>>(), [0, 3, 4]);
        assert!((waiting_for[&3] - 0.209).abs() < 1e-9);
        assert!((digest.repairs[0][1] - digest.repairs[0][0] - 0.1).abs() < 1e-9);
        assert_eq!(digest.losses, [(2.5, 2), (3.0, 3)]);
        assert_eq!((digest.lost, digest.received, digest.operations), (2, 98, 2));
    }

    /// The broadcast of a communicator at a time, with the fragments lost so far, and a wait in it for rank 0 there.
    fn broadcast(communicator: u64, at: u32, lost: u32) -> Event {
        let text = format!(
            r#"{{"name":"broadcast","ph":"X","ts":{at},"dur":10,"pid":1,"args":{{"communicator":{communicator},"lost":{lost},"waited":"0:4000"}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn each_communicator_counts_its_own_losses() {
        let mut one = timeline(0, "a", 0.0, &[]);
        let turns = (0..50).map(|turn| 40 * turn);
        one.events.extend(turns.flat_map(|at| [broadcast(1, at, 10), broadcast(2, at + 20, 2)]));
        let (digests, _) = digests(&[one], &[Offset { add: 0.0, error: None }]);
        assert_eq!(digests[0].losses.iter().map(|loss| loss.1).collect::<Vec<_>>(), [10, 2]);
    }

    #[test]
    fn a_wait_is_for_the_rank_of_the_job_that_a_communicators_rank_is() {
        let left = |communicator: u64, rank: u32, size: u32| -> Event {
            let text = format!(
                r#"{{"name":"left","ph":"i","ts":1,"pid":1,"args":{{"communicator":{communicator},"rank":{rank},"size":{size}}}}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let mut all = [2, 3].map(|id| timeline(id, "a", 0.0, &[]));
        for timeline in &mut all {
            timeline.events.extend([left(1, timeline.id, 4), left(2, 3 - timeline.id, 2)]);
        }
        // Of communicator 3 no rank 0 tells; that of 1, which has all ranks, is the job's.
        let broadcasts = [broadcast(1, 0, 0), broadcast(2, 20, 0), broadcast(3, 40, 0)];
        all[0].events.extend(broadcasts);
        let (digests, _) = digests(&all, &[Offset { add: 0.0, error: None }; 2]);
        let ranks: Vec<_> = digests[0].waits.iter().map(|(_, ranks)| ranks.as_slice()).collect();
        assert_eq!(ranks, [[Some(0)], [Some(3)], [None]]);
        assert_eq!(digests[0].waiting_for().keys().copied().collect::<Vec<_>>(), [0, 3]);
    }

    #[test]
    fn counters_of_any_size_have_a_sum() {
        let mut one = timeline(1, "a", 0.0, &[]);
        let left = format!(
            r#"{{"name":"left","ph":"i","ts":1,"pid":1,"args":{{"lost":{0},"multicast_received":{0}}}}}"#,
            u64::MAX
        );
        one.events.extend([&left, &left].map(|text| serde_json::from_str(text).unwrap()));
        let (digests, _) = digests(&[one], &[Offset { add: 0.0, error: None }]);
        assert_eq!((digests[0].lost, digests[0].share_lost()), (u64::MAX, 1.0));
    }
}
