//! Many drawn simulations on all CPUs.

use crate::failure::Failure;
use crate::progress::Progress;
use serde::Serialize;
use std::fmt::{self, Display, Formatter};
use std::panic;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;
use verbcast_sim::Violation;
use verbcast_sim::swarm::{self, Failed};

/// What came of a swarm.
#[derive(Serialize)]
struct Summary {
    first_seed: u64,
    /// Seeds that ran.
    seeds: u64,
    events: u64,
    wall_seconds: f64,
    seeds_per_second: f64,
    events_per_second: f64,
    /// What a swarm of one has drawn.
    drawn: Option<String>,
    failure: Option<Broken>,
}

/// The lowest seed that went wrong.
#[derive(Serialize)]
struct Broken {
    seed: u64,
    violation: String,
    drawn: String,
    repeat: String,
    #[serde(skip)]
    text: String,
}

pub fn run(first: u64, count: u64, json: bool) -> Result<(), Failure> {
    if first.checked_add(count).is_none() {
        let what = format!("--swarm {count}: there are not so many seeds from --seed {first} on");
        return Err(Failure::usage(what));
    }
    let drawn = (count == 1).then(|| swarm::draw(first).to_string());
    if let Some(drawn) = drawn.as_ref().filter(|_| !json) {
        // Before the run, so that it is there to see even if that never ends.
        crate::print(&format!("{drawn}\n"))?;
    }
    let summary = Summary { drawn, ..all(first, count) };
    if json {
        let text = serde_json::to_string_pretty(&summary).map_err(Failure::new)?;
        crate::print(&(text + "\n"))?;
    } else {
        crate::print(&summary.to_string())?;
    }
    match summary.failure {
        None => Ok(()),
        Some(broken) => Err(Failure::new(broken.text)),
    }
}

/// Runs all seeds, or those below the lowest that fails.
fn all(first: u64, count: u64) -> Summary {
    let (next, seeds, events) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let failed: Mutex<Option<Failed>> = Mutex::new(None);
    // At first, where there is no failure yet: behind the last.
    let end = AtomicU64::new(count);
    let progress = Progress::new(count, "seeds");
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= end.load(Ordering::Relaxed) {
                return;
            }
            match one(first + index) {
                Ok(happened) => _ = events.fetch_add(happened, Ordering::Relaxed),
                Err(failure) => {
                    end.fetch_min(index, Ordering::Relaxed);
                    let mut lowest = failed.lock().unwrap_or_else(|poison| poison.into_inner());
                    if lowest.as_ref().is_none_or(|other| failure.drawn.seed < other.drawn.seed) {
                        *lowest = Some(failure);
                    }
                }
            }
            seeds.fetch_add(1, Ordering::Relaxed);
            progress.advance();
        }
    };
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let wall_seconds = began.elapsed().as_secs_f64();
    let (seeds, events) = (seeds.into_inner(), events.into_inner());
    let failed = failed.into_inner().unwrap_or_else(|poison| poison.into_inner());
    Summary {
        first_seed: first,
        seeds,
        events,
        wall_seconds,
        seeds_per_second: seeds as f64 / wall_seconds.max(1e-9),
        events_per_second: events as f64 / wall_seconds.max(1e-9),
        drawn: None,
        failure: failed.map(Broken::from),
    }
}

/// One seed; a panic is a failure like others, and names its seed too.
fn one(seed: u64) -> Result<u64, Failed> {
    panic::catch_unwind(|| swarm::run(seed)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
        let violation = Violation(format!("panicked: {text}"));
        Err(Failed { drawn: Box::new(swarm::draw(seed)), violation })
    })
}

impl From<Failed> for Broken {
    fn from(failed: Failed) -> Self {
        let seed = failed.drawn.seed;
        Broken {
            seed,
            violation: failed.violation.to_string(),
            drawn: failed.drawn.to_string(),
            repeat: format!("verbcast sim --swarm 1 --seed {seed}"),
            text: failed.to_string(),
        }
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Summary { first_seed, seeds, events, wall_seconds, .. } = self;
        let (seeds_rate, events_rate) = (self.seeds_per_second, self.events_per_second);
        let verdict = match &self.failure {
            None => "all well".to_owned(),
            Some(broken) => format!("seed {} failed", broken.seed),
        };
        writeln!(f, "seeds: {seeds} from {first_seed} on in {wall_seconds:.2} s: {verdict}")?;
        writeln!(f, "{seeds_rate:.0} seeds/s, {events} events, {events_rate:.0} events/s")
    }
}
