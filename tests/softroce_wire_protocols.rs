//! Every algorithm and option with a NIC for each rank, over a wire that really loses, doubles and
//! reorders: reliable messages, reports and reads too. With `VERBCAST_TEST_ALL=1` among more numbers of
//! ranks, and with a tenth of the datagrams lost on top; that takes long where the machine is emulated.

#![cfg(feature = "verbs")]

mod ranks;
mod variants;

use variants::{ACKNOWLEDGEMENTS, CO_ROOTS, FRAGMENT, LONG, TWO_STAGE, UNICAST, WINDOW};

fn try_all(variants: &[variants::Variant]) {
    // With sixteen, two share a NIC.
    let all = std::env::var_os("VERBCAST_TEST_ALL").is_some();
    let sizes: &[u32] = if all { &[2, 3, 8, 16] } else { &[3, 8] };
    let faults = if all { &[None, Some("loss=0.1,seed=3")][..] } else { &[None] };
    let lens = variants::lens(&[FRAGMENT, 33 * FRAGMENT]);
    variants::try_all(variants, sizes, faults, &lens);
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
