//! What each rank did: broadcasts, waits and for whom, losses and repairs, on one clock.

use super::clocks::Offset;
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
    /// Waits in calls, and for which ranks.
    pub waits: Vec<(Span, Vec<u32>)>,
    /// When this rank noticed that fragments had been lost, and how many.
    pub losses: Vec<(f64, u64)>,
    /// Reads of what was missing, and from which rank.
    pub repairs: Vec<(Span, u32)>,
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
            for rank in ranks {
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
    let digest = |(timeline, offset): (&Timeline, &Offset)| {
        let seconds = |micros: f64| (micros + offset.add - first) / 1e6;
        digest(timeline, seconds)
    };
    (timelines.iter().zip(offsets).map(digest).collect(), length)
}

fn digest(timeline: &Timeline, seconds: impl Fn(f64) -> f64) -> Digest {
    let Timeline { id, name, host, .. } = timeline;
    let mut digest =
        Digest { id: *id, name: name.clone(), host: host.clone(), ..Digest::default() };
    let mut open: BTreeMap<u64, &Event> = BTreeMap::new();
    let mut known_lost = 0;
    // It counts from the start of the communicator.
    let mut note_lost = |digest: &mut Digest, at: f64, lost: Option<u64>| {
        let lost = lost.unwrap_or(known_lost);
        if lost > known_lost {
            digest.losses.push((at, lost - known_lost));
        }
        known_lost = lost;
    };
    for event in &timeline.events {
        let span = [seconds(event.began()), seconds(event.ended())];
        match (event.ph.as_str(), event.name.as_str()) {
            ("X", "set_up") => digest.set_ups.push(span),
            ("X", "broadcast") => {
                add_calls(&mut digest, event, span[0], span[1] - span[0]);
                note_lost(&mut digest, span[1], event.number("lost"));
            }
            ("X", "wait") => digest.waits.push((span, ranks(event))),
            ("b", "repair" | "operation") => _ = event.id.map(|id| open.insert(id, event)),
            ("e", _) => {
                let Some(begin) = event.id.and_then(|id| open.remove(&id)) else { continue };
                let lasted = [seconds(begin.began()), span[0]];
                if begin.name == "repair" {
                    let from = begin.args.get("from").and_then(rank_of);
                    digest.repairs.push((lasted, from.unwrap_or_default()));
                    continue;
                }
                note_lost(&mut digest, span[0], begin.number("lost"));
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
fn add_calls(digest: &mut Digest, event: &Event, began: f64, time: f64) {
    let nanos = |nanos: u64| nanos as f64 / 1e9;
    let within = event.number("within").map_or(time, nanos);
    digest.calls.push([began, began + within]);
    let mut began = began;
    let waited = event.args.get("waited").and_then(Value::as_str).unwrap_or_default();
    for wait in waited.split_whitespace() {
        let Some((rank, time)) = wait.split_once(':') else { continue };
        let Ok(time) = time.parse().map(nanos) else { continue };
        // Of those that were for no rank in particular there is none.
        digest.waits.push(([began, began + time], rank.parse().into_iter().collect()));
        began += time;
    }
}

/// The ranks of a text like `[0, 3]`.
fn ranks(event: &Event) -> Vec<u32> {
    let text = event.args.get("ranks").and_then(Value::as_str).unwrap_or_default();
    text.trim_matches(['[', ']']).split(", ").filter_map(|rank| rank.parse().ok()).collect()
}

/// A rank that is a number, or a text that ends with one.
fn rank_of(value: &Value) -> Option<u32> {
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
            r#"{"name":"wait","ph":"X","ts":2100000,"dur":400000,"pid":1,"args":{"ranks":"[0, 3]"}}"#,
        );
        add(r#"{"name":"repair","ph":"b","ts":2200000,"id":7,"pid":1,"args":{"from":"rank 3"}}"#);
        add(r#"{"name":"repair","ph":"e","ts":2300000,"id":7,"pid":1}"#);
        for (id, at, lost) in [(8, 2_500_000, 2), (9, 2_900_000, 2)] {
            add(&format!(
                r#"{{"name":"operation","ph":"b","ts":2000000,"id":{id},"pid":1,"args":{{"lost":{lost}}}}}"#
            ));
            add(&format!(r#"{{"name":"operation","ph":"e","ts":{at},"id":{id},"pid":1}}"#));
        }
        add(
            r#"{"name":"broadcast","ph":"X","ts":2950000,"dur":50000,"pid":1,"args":{"calls":7,"within":30000000,"waited":"3:9000000 4:1000000 :500000","lost":5}}"#,
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
        assert_eq!((digest.repairs[0].1, digest.losses.as_slice()), (3, &[(2.5, 2), (3.0, 3)][..]));
        assert_eq!((digest.lost, digest.received, digest.operations), (2, 98, 2));
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
