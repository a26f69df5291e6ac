//! Broadcasts while a call is refused, and what must hold afterwards.

use crate::ledger::{self, Order};
use crate::ranks;
use std::error::Error as _;
use std::time::Duration;
use verbcast::Waiting;
use verbcast::broadcast::{Broadcaster, Config, Error};
use verbcast_core::rank::Rank;

const SIZE: u32 = 3;
/// Short, long enough to be sent and received where it is, and of many fragments.
const LENS: [usize; 3] = [100, 70_000, 300_000];
/// What a broadcast's ranks may be silent for.
const TIMEOUT: Duration = Duration::from_secs(4);
/// Calls that only end what they are given: an object that could not be ended is there until its device is closed, so that
/// others are refused, too.
const ENDS: [&str; 5] = ["ibv_destroy_", "ibv_de", "ibv_close_", "rdma_destroy_", "rdma_leave_"];

/// How often a call is tried.
#[derive(Clone, Copy)]
pub enum Trials {
    /// The first time, and then at distances that grow quickly; and from the last of these times on.
    Few,
    /// The first time, the second, and then at distances that grow; and from the first and the last of these times on.
    Many,
}

/// Refuses a call that often, as long as it is made.
pub fn of(call: &'static str, trials: Trials, devices: &[String]) {
    let (second, growth) = match trials {
        Trials::Few => (12, 36),
        Trials::Many => (2, 6),
    };
    let (mut at, mut last) = (1, 0);
    while refused(Order { call, at, lasts: false }, devices) {
        last = at;
        at = if at == 1 { second } else { at * growth };
    }
    assert!(last > 0, "{call} is never made");
    if let Trials::Many = trials {
        refused(Order { call, at: 1, lasts: true }, devices);
    }
    refused(Order { call, at: last, lasts: true }, devices);
}

/// Whether it was made so often; then everything that must hold was checked.
fn refused(order: Order, devices: &[String]) -> bool {
    ledger::begin(Some(order));
    let outcomes = ranks::run(SIZE, |bootstrap| {
        let config = config(devices);
        broadcast(Broadcaster::new(bootstrap, &config))
    });
    let refused = ledger::refused();
    let Order { call, at, lasts } = order;
    let errors: Vec<String> =
        outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).map(in_full).collect();
    println!(
        "{call} {at}{}: refused {refused} times: {errors:?}",
        if lasts { " and later" } else { "" }
    );
    if refused == 0 {
        assert!(errors.is_empty(), "nothing was refused: {errors:?}");
        return false;
    }
    let ends = ENDS.iter().any(|begin| call.starts_with(begin));
    assert!(
        errors.is_empty() || errors.iter().any(|error| error.contains(call)),
        "nobody names {call}: {errors:?}"
    );
    if !ends {
        let live = ledger::live();
        assert!(live.is_empty(), "{call} {at}: left behind: {live:?}");
    }
    true
}

fn config(devices: &[String]) -> Config {
    let mut config = ranks::flat();
    config.device.devices = devices.to_vec();
    config.device.timeout = TIMEOUT;
    // So that completion channels are used.
    config.device.waiting = Waiting::Block;
    config.device.zero_copy = Some(16 << 10);
    config
}

/// Broadcasts of each length from each rank; what went wrong. Without an error everything has come.
fn broadcast(made: Result<Broadcaster, Error>) -> Result<(), Error> {
    let mut broadcaster = made?;
    for (round, len) in LENS.into_iter().enumerate() {
        for root in 0..SIZE {
            let sent = ranks::message(round * SIZE as usize + root as usize, len);
            let mut buffer =
                if broadcaster.rank() == Rank(root) { sent.clone() } else { vec![0; len] };
            broadcaster.broadcast_into(Rank(root), &mut buffer)?;
            assert!(buffer == sent, "wrong bytes from {root}");
        }
    }
    broadcaster.close()
}

/// An error with its causes.
fn in_full(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text += ": ";
        text += &next.to_string();
        cause = next.source();
    }
    text
}
