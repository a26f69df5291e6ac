//! Every algorithm and option over real verbs and real multicast. Long messages take minutes where
//! the machine is emulated: with `VERBCAST_TEST_ALL=1` every option carries them, otherwise one of each kind.

#![cfg(feature = "verbs")]

mod ranks;
mod variants;

use variants::{LONG, SOME, try_all, try_options};

const SIZES: &[u32] = &[2, 3, 8, 16];
const FAULTS: &[Option<&str>] = &[None, Some("loss=0.1,seed=3")];

#[test]
fn every_option_works() {
    try_options(SIZES, FAULTS);
}

#[test]
fn long_messages_come_whole_by_every_algorithm() {
    if std::env::var_os("VERBCAST_TEST_ALL").is_some() {
        variants::ALL.iter().for_each(|variants| try_all(variants, SIZES, FAULTS, &[LONG]));
    } else {
        try_all(SOME, &[8], &FAULTS[1..], &[LONG]);
    }
}
