//! Makes the core that a transcript names.

use super::words::Words;
use std::time::Duration;
use verbcast::protocol::Core;
use verbcast::protocol::two_stage::{self, Synchronisation, TwoStage};
use verbcast::protocol::window::{
    self, Acknowledge, Bounds, By, Repair, Repairers, Report, Seq, Window,
};
use verbcast::rank::{OpId, Rank};

/// The core of a line such as `core window rank=0 ranks=3 fragment=10`.
pub fn make(words: &Words<'_>) -> Box<dyn Core> {
    let me = Rank(words.number("rank") as u32);
    let size = words.number("ranks") as u32;
    let first = OpId(words.optional("first").unwrap_or(0) as u32);
    match words.verb() {
        "window" => Box::new(Window::new(me, size, first, window(words)).unwrap()),
        "two-stage" => Box::new(TwoStage::new(me, size, first, two_stage(words)).unwrap()),
        other => words.fail(&format!("there is no core {other:?}")),
    }
}

fn window(words: &Words<'_>) -> window::Config {
    let slots = words.optional("window").unwrap_or(4) as u32;
    let mut config = window::Config::new(words.number("fragment") as usize, slots);
    config.blocking = words.optional("blocking") == Some(1);
    config.piggyback = words.optional("piggyback") == Some(1);
    config.credits = words.optional("credits").map(|credits| credits as u32);
    config.repairers = match words.optional_text("repairers") {
        None => Repairers::Root,
        Some("predecessor") => Repairers::Predecessor,
        Some(groups) => Repairers::CoRoots(groups.parse().expect("a number of groups")),
    };
    config.acknowledge = match (words.optional("every"), words.optional("skewed")) {
        (Some(m), None) => Acknowledge::Every(m as u32),
        (None, Some(m)) => Acknowledge::Skewed(m as u32),
        _ => Acknowledge::Each,
    };
    config.by = match words.optional_text("by") {
        Some("message") => By::Message,
        _ => By::Counter,
    };
    config.repair = match words.optional_text("repair") {
        Some("push") => Repair::Push,
        _ => Repair::Pull,
    };
    config.acknowledge_after = Duration::from_micros(1000);
    let (initial, least) = (Duration::from_micros(2000), Duration::from_micros(100));
    config.patience = Bounds { initial, least, most: Duration::from_micros(64_000) };
    config
}

fn two_stage(words: &Words<'_>) -> two_stage::Config {
    two_stage::Config {
        fragment_len: words.number("fragment") as usize,
        run_ahead: words.optional("run-ahead").unwrap_or(8) as u32,
        in_flight: 4,
        absorbed: words.optional("absorbed").unwrap_or(100) as u32,
        synchronisation: match words.optional_text("sync") {
            Some("random") => Synchronisation::RandomRank { seed: 7 },
            Some(micros) => {
                Synchronisation::Delay(Duration::from_micros(micros.parse().expect("microseconds")))
            }
            None => Synchronisation::None,
        },
        multicast: words.optional("multicast") != Some(0),
    }
}

/// A report of the window family.
pub fn report(have: u32, credit: u32) -> Report {
    Report { have: Seq(have), credit: Seq(credit) }
}

/// A report of the unicast family.
pub fn consumed(count: u32) -> u64 {
    u64::from(count)
}

/// What a report of the unicast family says.
pub fn spoken(value: u64) -> u64 {
    value
}
