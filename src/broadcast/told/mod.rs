//! What whoever traces hears of calls and waits: of each, as long as they are few, and of several together where many
//! follow one another, so that telling takes a small share of the time, however short they are and however long it takes.

mod budget;
mod gathered;

use crate::clock::Clock;
use budget::Budget;
use gathered::Gathered;
use sha2::{Digest, Sha256};
use smallvec::SmallVec;
use std::time::Duration;
use tracing::level_filters::LevelFilter;
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::time::Instant;
use verbcast_core::wire::Key;

/// The number of a communicator in all that is told, the same at each of its ranks: of a hash of its key, which those who read
/// this need not know, 48 bits, which are a whole number to every reader of JSON.
pub(super) fn number_of(Key(key): Key) -> u64 {
    let mut hash = Sha256::new();
    hash.update(b"verbcast told");
    hash.update(key.to_be_bytes());
    hash.finalize().iter().take(6).fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

/// A broadcast that has ended.
#[derive(Debug)]
pub(super) struct Broadcast {
    pub op: OpId,
    pub root: Rank,
    pub len: usize,
    pub began: Instant,
    pub ended: Instant,
    /// Fragments that had been lost in all when it ended.
    pub lost: u64,
}

/// What has been told lately, and what is still to be.
#[derive(Debug)]
pub(super) struct Told<C = Clock> {
    clock: C,
    /// [What it is called](number_of).
    communicator: u64,
    budget: Budget,
    gathered: Option<Gathered>,
}

/// Tells the time.
pub(super) trait Watch {
    fn now(&self) -> Instant;
}

impl Watch for Clock {
    fn now(&self) -> Instant {
        Clock::now(self)
    }
}

impl<C: Watch> Told<C> {
    /// Nothing has been told so far of the communicator with this key.
    pub fn new(clock: C, key: Key) -> Told<C> {
        let communicator = number_of(key);
        Told { clock, communicator, budget: Budget::of_process(), gathered: None }
    }

    /// A wait has ended, and was for these ranks in equal parts.
    #[inline]
    pub fn wait(&mut self, time: Duration, ranks: &[Rank]) {
        if is_heard() {
            self.tell_wait(time, ranks);
        }
    }

    /// A call that waited for a broadcast has ended.
    #[inline]
    pub fn call(&mut self, call: impl FnOnce() -> Broadcast) {
        if is_heard() {
            self.tell_call(&call());
        }
    }

    /// A broadcast is complete that went on between calls, and so may overlap others.
    #[inline]
    pub fn operation(&mut self, operation: impl FnOnce() -> Broadcast) {
        if is_heard() {
            self.tell_operation(&operation());
        }
    }

    /// What the communicator is called in all that is told of it.
    pub fn communicator(&self) -> u64 {
        self.communicator
    }

    /// Nothing more follows.
    pub fn end(&mut self) {
        self.tell_gathered();
    }

    #[cold]
    fn tell_wait(&mut self, time: Duration, ranks: &[Rank]) {
        if let Some(gathered) = &mut self.gathered {
            return gathered.add_wait(time, ranks);
        }
        let ranks: SmallVec<[u32; 8]> = ranks.iter().map(|rank| rank.0).collect();
        let communicator = self.communicator;
        self.spend(|_| tracing::debug!(nanos = nanos(time), communicator, ?ranks, "wait"));
    }

    #[cold]
    fn tell_call(&mut self, call: &Broadcast) {
        let communicator = self.communicator;
        let Some(gathered) = &mut self.gathered else {
            let mut alone = Gathered::default();
            alone.add_call(call);
            return self.spend(|now| alone.tell(communicator, now));
        };
        if gathered.is_far_from(call.began) && self.budget.allows(call.ended) {
            self.tell_gathered();
        }
        if let Some(gathered) = &mut self.gathered {
            gathered.add_call(call);
        }
        self.settle(call.ended);
    }

    #[cold]
    fn tell_operation(&mut self, operation: &Broadcast) {
        if let Some(gathered) = &mut self.gathered {
            gathered.add_operation(operation);
            return self.settle(operation.ended);
        }
        let communicator = self.communicator;
        self.spend(|_| {
            tracing::debug!(
                nanos = nanos(operation.ended - operation.began),
                overlaps = true,
                communicator,
                op = operation.op.0,
                root = operation.root.0,
                len = operation.len as u64,
                lost = operation.lost,
                "operation"
            );
        });
    }

    /// Tells something by itself.
    fn spend(&mut self, tell: impl FnOnce(Instant)) {
        if !self.pay(tell) {
            self.gathered = Some(Gathered::default());
        }
    }

    /// Something was added to what is gathered.
    fn settle(&mut self, now: Instant) {
        let is_due = self.gathered.as_ref().is_some_and(|gathered| gathered.is_due(now));
        if is_due && self.budget.allows(now) {
            self.tell_gathered();
            if self.budget.is_ample() {
                self.gathered = None;
            }
        }
    }

    fn tell_gathered(&mut self) {
        let communicator = self.communicator;
        if let Some(mut gathered) = self.gathered.take() {
            self.pay(|now| gathered.tell(communicator, now));
            self.gathered = Some(gathered);
        }
    }

    /// Whether there is something left.
    fn pay(&mut self, tell: impl FnOnce(Instant)) -> bool {
        let began = self.clock.now();
        tell(began);
        self.budget.pay(began, self.clock.now())
    }
}

/// Whether anybody may listen.
#[inline]
fn is_heard() -> bool {
    LevelFilter::current() >= LevelFilter::DEBUG
}

fn nanos(time: Duration) -> u64 {
    time.as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::budget::{SAVED, SHARE};
    use super::gathered::TOGETHER;
    use super::*;
    use std::cell::Cell;
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    /// The fields of an event: numbers, and texts.
    #[derive(Clone, Debug, Default)]
    struct Heard(BTreeMap<&'static str, u64>, BTreeMap<&'static str, String>);

    impl Visit for Heard {
        fn record_u64(&mut self, field: &Field, value: u64) {
            self.0.insert(field.name(), value);
        }

        fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
            self.1.insert(field.name(), format!("{value:?}").trim_matches('"').to_owned());
        }
    }

    #[derive(Clone, Default)]
    struct Listener(Arc<Mutex<Vec<Heard>>>);

    impl Subscriber for Listener {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            let mut heard = Heard::default();
            event.record(&mut heard);
            self.0.lock().unwrap().push(heard);
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    /// What it takes to tell something here.
    const COST: Duration = Duration::from_micros(3);

    /// A clock that stands but for what telling takes, which is one look at it of two.
    #[derive(Default)]
    struct Stood(Cell<(Instant, bool)>);

    impl Watch for &Stood {
        fn now(&self) -> Instant {
            let (now, is_second) = self.0.get();
            let now = if is_second { now + COST } else { now };
            self.0.set((now, !is_second));
            now
        }
    }

    /// What is heard of so many broadcasts of 8 bytes, one every `every`, each of which takes `time`, with a wait for ranks
    /// 1 and 2 of half of that.
    fn heard_of(number: u32, every: Duration, time: Duration, overlaps: bool) -> Vec<Heard> {
        let listener = Listener::default();
        tracing::subscriber::with_default(listener.clone(), || {
            let clock = Stood::default();
            let budget = Budget::new(SAVED);
            let mut told = Told { clock: &clock, communicator: 7, budget, gathered: None };
            for op in 0..number {
                let began = Instant::ZERO + every * op;
                let (op, root, ended) = (OpId(op), Rank(0), began + time);
                let broadcast = || Broadcast { op, root, len: 8, began, ended, lost: op.0.into() };
                clock.0.set((ended, false));
                told.wait(time / 2, &[Rank(1), Rank(2)]);
                match overlaps {
                    true => told.operation(broadcast),
                    false => told.call(broadcast),
                }
            }
            told.end();
        });
        listener.0.lock().unwrap().clone()
    }

    /// How many things may be told in so many broadcasts.
    fn most(number: u32, every: Duration) -> i64 {
        (SAVED + nanos(every * number) as i64 / SHARE) / nanos(COST) as i64 + 2
    }

    fn named<'a>(heard: &'a [Heard], name: &'a str) -> impl Iterator<Item = &'a Heard> {
        heard.iter().filter(move |heard| heard.1["message"] == name)
    }

    #[test]
    fn a_communicators_number_is_its_own_and_does_not_show_its_key() {
        let numbers = [1, 2, u64::MAX].map(|key| number_of(Key(key)));
        assert!(numbers[0] != numbers[1] && numbers[1] != numbers[2], "{numbers:?}");
        assert!(numbers.iter().all(|number| *number < 1 << 48 && *number > 2), "{numbers:?}");
    }

    #[test]
    fn few_calls_are_told_one_by_one() {
        let heard = heard_of(2000, Duration::from_millis(10), Duration::from_micros(100), false);
        assert_eq!((heard.len(), named(&heard, "wait").count()), (4000, 2000));
        assert!(named(&heard, "broadcast").all(|call| !call.0.contains_key("calls")));
        assert!(heard.iter().all(|heard| heard.0["communicator"] == 7));
    }

    #[test]
    fn many_calls_are_told_together_and_none_is_forgotten() {
        let (number, every) = (100_000, Duration::from_micros(20));
        let heard = heard_of(number, every, Duration::from_micros(16), false);
        assert!((heard.len() as i64) <= most(number, every), "{} of {number}", heard.len());
        let (mut calls, mut within, mut bytes) = (0, 0, 0);
        let mut waited: u64 = named(&heard, "wait").map(|wait| wait.0["nanos"]).sum();
        for call in named(&heard, "broadcast") {
            calls += call.0.get("calls").copied().unwrap_or(1);
            within += call.0.get("within").unwrap_or(&call.0["nanos"]);
            bytes += call.0["len"];
            let waits = call.1.get("waited").map(String::as_str).unwrap_or_default();
            let waits = waits.split_whitespace().map(|wait| wait.split_once(':').unwrap().1);
            waited += waits.map(|nanos| nanos.parse::<u64>().unwrap()).sum::<u64>();
            assert!(call.0["nanos"] < 2 * nanos(TOGETHER));
        }
        assert_eq!((calls, bytes), (u64::from(number), 8 * u64::from(number)));
        assert_eq!((within, waited), (calls * 16_000, calls * 8_000));
        let last = named(&heard, "broadcast").last().unwrap();
        assert_eq!(last.0["lost"], u64::from(number) - 1);
    }

    #[test]
    fn what_is_told_together_has_no_long_gap() {
        let listener = Listener::default();
        tracing::subscriber::with_default(listener.clone(), || {
            let clock = Stood::default();
            let budget = Budget::new(0);
            let mut told = Told { clock: &clock, communicator: 7, budget, gathered: None };
            for micros in [0, 100, 200, 900_000] {
                let began = Instant::ZERO + Duration::from_micros(micros);
                let (op, root, ended) = (OpId(0), Rank(0), began + Duration::from_micros(10));
                clock.0.set((ended, false));
                told.call(|| Broadcast { op, root, len: 8, began, ended, lost: 0 });
            }
        });
        let heard = listener.0.lock().unwrap();
        let [_, second] = &heard[..] else { panic!("{heard:?}") };
        assert_eq!((second.0["calls"], second.0["within"]), (2, 20_000));
        assert_eq!((second.0["nanos"], second.0["ago"]), (110_000, 899_800_000));
    }

    #[test]
    fn many_operations_are_told_together_and_none_is_forgotten() {
        let (number, every) = (50_000, Duration::from_micros(20));
        let heard = heard_of(number, every, Duration::from_micros(100), true);
        assert!((heard.len() as i64) <= most(number, every), "{} of {number}", heard.len());
        let together = named(&heard, "broadcast").map(|heard| heard.0.get("operations"));
        let together: u64 = together.map(|number| number.copied().unwrap_or(1)).sum();
        assert_eq!(together + named(&heard, "operation").count() as u64, u64::from(number));
    }

    #[test]
    fn communicators_have_one_budget() {
        let (all, ms) = (Budget::new(0), |ms| Instant::ZERO + Duration::from_millis(ms));
        let other = all.clone();
        assert!(
            all.allows(ms(0)) && !all.pay(ms(0), ms(1)),
            "half a millisecond is the most that it costs"
        );
        assert!(!other.allows(ms(99)) && other.allows(ms(101)), "that takes 200 times as long");
    }
}
