//! Every algorithm and option with a NIC for each rank, over a wire that really loses, doubles and
//! reorders: reliable messages, reports and reads too.

#![cfg(feature = "verbs")]

mod ranks;
mod variants;

use variants::{ACKNOWLEDGEMENTS, CO_ROOTS, FRAGMENT, LONG, TWO_STAGE, UNICAST, WINDOW};

/// With sixteen, two share a NIC.
const SIZES: &[u32] = &[2, 3, 8, 16];

fn try_all(variants: &[variants::Variant]) {
    let lens = variants::lens(&[FRAGMENT, 33 * FRAGMENT]);
    variants::try_all(variants, SIZES, &[None], &lens);
}

#[test]
fn two_stage_works() {
    try_all(TWO_STAGE);
}

#[test]
fn window_works() {
    try_all(WINDOW);
}

#[test]
fn acknowledgements_work() {
    try_all(ACKNOWLEDGEMENTS);
}

#[test]
fn co_roots_work() {
    try_all(CO_ROOTS);
}

#[test]
fn unicast_works() {
    try_all(UNICAST);
}

#[test]
fn long_messages_come_whole() {
    for variants in [TWO_STAGE, WINDOW, CO_ROOTS, UNICAST] {
        variants::try_all(&variants[..1], &[8], &[None], &[LONG]);
    }
}
