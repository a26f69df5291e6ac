//! Every algorithm and option over real verbs and real multicast. Long messages take minutes where
//! the machine is emulated: with `VERBCAST_TEST_ALL=1` every option carries them, otherwise one of each kind.

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
    let all = std::env::var_os("VERBCAST_TEST_ALL").is_some();
    for (variants, some) in [(TWO_STAGE, 0..1), (WINDOW, 1..3), (CO_ROOTS, 2..3), (UNICAST, 0..3)] {
        let (variants, faults) =
            if all { (variants, FAULTS) } else { (&variants[some], &FAULTS[1..]) };
        variants::try_all(variants, if all { SIZES } else { &[8] }, faults, &[LONG]);
    }
}
