//! Which call is refused next, how often each was made, and what is there that was made.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is to be refused.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub call: &'static str,
    /// From 1.
    pub at: u64,
    /// All later ones too.
    pub lasts: bool,
}

struct Ledger {
    order: Option<Order>,
    made: BTreeMap<&'static str, u64>,
    refused: u64,
    live: BTreeMap<&'static str, i64>,
}

static LEDGER: Mutex<Ledger> =
    Mutex::new(Ledger { order: None, made: BTreeMap::new(), refused: 0, live: BTreeMap::new() });

fn ledger() -> MutexGuard<'static, Ledger> {
    LEDGER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The static name of a call.
pub fn known(call: &str) -> &'static str {
    Box::leak(call.to_owned().into_boxed_str())
}

/// Begins a trial.
pub fn begin(order: Option<Order>) {
    *ledger() = Ledger { order, made: BTreeMap::new(), refused: 0, live: BTreeMap::new() };
}

/// Counts a call of the program's, and says whether it is refused.
pub fn refuses(call: &'static str) -> bool {
    let mut ledger = ledger();
    let made = ledger.made.entry(call).or_default();
    *made += 1;
    let made = *made;
    let is_refused = ledger.order.is_some_and(|order| {
        order.call == call && (made == order.at || order.lasts && made > order.at)
    });
    ledger.refused += u64::from(is_refused);
    is_refused
}

/// Something was made, or is gone.
pub fn count(kind: &'static str, change: i64) {
    *ledger().live.entry(kind).or_default() += change;
}

/// How many calls were refused since the beginning.
pub fn refused() -> u64 {
    ledger().refused
}

/// What is there, by kind.
pub fn live() -> BTreeMap<&'static str, i64> {
    ledger()
        .live
        .iter()
        .filter(|(_, count)| **count != 0)
        .map(|(kind, count)| (*kind, *count))
        .collect()
}
