//! Makes the core that a transcript names.

use super::words::Words;
use std::time::Duration;
use verbcast_core::protocol::Core;
use verbcast_core::protocol::choice::Table;
use verbcast_core::protocol::suite::{Parts, Suite};
use verbcast_core::protocol::two_stage::{self, Synchronisation, TwoStage};
use verbcast_core::protocol::unicast::{self, Algorithm, Unicast};
use verbcast_core::protocol::window::{
    self, Acknowledge, Bounds, By, Repair, Repairers, Report, Seq, Window,
};
use verbcast_core::rank::{OpId, Rank};

/// The core of a line such as `core window rank=0 ranks=3 fragment=10`.
pub fn make(words: &Words<'_>) -> Box<dyn Core> {
    let me = Rank(words.number("rank") as u32);
    let size = words.number("ranks") as u32;
    let first = OpId(words.optional("first").unwrap_or(0) as u32);
    let make_two_stage = |first| TwoStage::new(me, size, first, two_stage(words)).unwrap();
    let make_window = |first| Window::new(me, size, first, window(words)).unwrap();
    let make_unicast = |first| Unicast::new(me, size, first, unicast(words)).unwrap();
    match words.verb() {
        "two-stage" => Box::new(make_two_stage(first)),
        "window" => Box::new(make_window(first)),
        "unicast" => Box::new(make_unicast(first)),
        "suite" => {
            let parts = Parts {
                // Each protocol counts its operations from a number of its own.
                two_stage: make_two_stage(OpId(0)),
                window: make_window(OpId(0)),
                unicast: make_unicast(OpId(0)),
                table: table(words),
                history: words.optional("history").unwrap_or(0) as usize,
                fragment_len: words.number("fragment") as usize,
                in_flight: 4,
                pushes: words.optional_text("repair") == Some("push"),
            };
            Box::new(Suite::new(me, size, first, parts))
        }
        other => words.fail(&format!("there is no core {other:?}")),
    }
}

/// A table such as `table=10:window,20:two-stage,any:binomial`: the most bytes of each algorithm.
fn table(words: &Words<'_>) -> Table {
    let rows = words.text("table").split(',').map(|row| {
        let (bytes, algorithm) = row.split_once(':').expect("bytes:algorithm");
        let bound = if bytes == "any" { bytes.to_owned() } else { format!("<= {bytes}") };
        format!("ranks any bytes {bound} {algorithm}\n")
    });
    rows.collect::<String>().parse().unwrap()
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
        _ if words.optional_text("acknowledge") == Some("needed") => Acknowledge::Needed,
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
    config.absorbed = words.optional("absorbed").map_or(config.absorbed, |n| n as u32);
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
        eager: words.optional("eager").unwrap_or(100) as u32,
        synchronisation: match words.optional_text("sync") {
            Some("random") => Synchronisation::RandomRank { seed: 7 },
            Some("adaptive") => {
                Synchronisation::Adaptive { seed: 7, most: Duration::from_millis(10) }
            }
            Some(micros) => {
                Synchronisation::Delay(Duration::from_micros(micros.parse().expect("microseconds")))
            }
            None => Synchronisation::None,
        },
        multicast: words.optional("multicast") != Some(0),
    }
}

fn unicast(words: &Words<'_>) -> unicast::Config {
    unicast::Config {
        algorithm: match words.optional_text("algorithm") {
            None | Some("binomial") => Algorithm::Binomial,
            Some("chain") => Algorithm::Chain,
            Some("scatter-allgather") => Algorithm::ScatterAllgather,
            Some(other) => words.fail(&format!("there is no algorithm {other:?}")),
        },
        fragment_len: words.number("fragment") as usize,
        segment_len: words.optional("segment").unwrap_or(0) as usize,
        long_from: words.optional("long"),
        in_flight: words.optional("in-flight").unwrap_or(4) as u32,
        eager: words.optional("eager").unwrap_or(100) as u32,
    }
}

/// A report of the window family.
pub fn report(have: u32, credit: u32) -> Report {
    Report { have: Seq(have.into()), credit: Seq(credit.into()), lost: 0 }
}

/// In a report of the unicast family, what is above the count makes zero say nothing.
const SAYS_SOMETHING: u64 = 1 << 32;

/// A report of the unicast family.
pub fn consumed(count: u32) -> u64 {
    SAYS_SOMETHING | u64::from(count)
}

/// The count that a report of the unicast family says.
pub fn spoken(value: u64) -> Option<u32> {
    (value & SAYS_SOMETHING != 0).then_some(value as u32)
}
