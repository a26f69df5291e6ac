//! Every algorithm and option over real verbs and real multicast.

#![cfg(feature = "verbs")]

mod ranks;
mod variants;

use variants::{ACKNOWLEDGEMENTS, CO_ROOTS, FRAGMENT, LONG, TWO_STAGE, UNICAST, WINDOW};

const SIZES: &[u32] = &[2, 3, 8, 16];
const FAULTS: &[Option<&str>] = &[None, Some("loss=0.1,seed=3")];

fn try_all(variants: &[variants::Variant]) {
    let lens = variants::lens(&[FRAGMENT, 33 * FRAGMENT]);
    variants::try_all(variants, SIZES, FAULTS, &lens);
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
fn long_messages_come_whole_by_every_algorithm() {
    for variants in [TWO_STAGE, WINDOW, CO_ROOTS, UNICAST] {
        variants::try_all(variants, &[8], FAULTS, &[LONG]);
    }
}
