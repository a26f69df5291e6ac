//! What a test needs of its machine, and how it says that this is missing: a line that `cargo xtask test` counts as a
//! skip. `cargo test` takes such a test for passed.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::env;
use std::fmt::Display;

/// Says that the test does not run, and why.
pub fn skip(reason: impl Display) {
    println!("SKIPPED: {reason}");
}

/// Says that the test does not run because something is missing.
///
/// # Panics
/// If the environment promised it.
pub fn missing(what: impl Display) {
    let promised = env::var_os("VERBCAST_SOFTROCE_PROMISED").is_some();
    assert!(!promised, "{what}, but VERBCAST_SOFTROCE_PROMISED is set");
    skip(what);
}

/// The devices that the environment names, or a visible skip.
///
/// # Panics
/// If the environment promised a device and names none.
pub fn devices() -> Option<Vec<String>> {
    match env::var("VERBCAST_TEST_DEVICES") {
        Ok(names) if !names.is_empty() => Some(names.split(',').map(str::to_owned).collect()),
        _ => {
            missing("no RDMA device (VERBCAST_TEST_DEVICES is not set)");
            None
        }
    }
}
