//! Every algorithm and option with a NIC for each rank, over a wire that really loses, doubles and
//! reorders: reliable messages, reports and reads too. With `VERBCAST_TEST_ALL=1` among more numbers of
//! ranks, and with a tenth of the datagrams lost on top; that takes long where the machine is emulated.

#![cfg(feature = "verbs")]

mod ranks;
mod variants;

use variants::{LONG, SOME, try_all, try_options};

#[test]
fn every_option_works() {
    // With sixteen ranks, two share a NIC.
    match std::env::var_os("VERBCAST_TEST_ALL") {
        Some(_) => try_options(&[2, 3, 8, 16], &[None, Some("loss=0.1,seed=3")]),
        None => try_options(&[3, 8], &[None]),
    }
}

#[test]
fn long_messages_come_whole() {
    try_all(SOME, &[8], &[None], &[LONG]);
}
