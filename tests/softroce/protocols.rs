//! Every algorithm and option over real verbs and real multicast.

use crate::variants::{LONG, LOSSY, SIZES, SOME, try_all, try_options};

#[test]
fn every_option_works() {
    try_options(SIZES, &[None, LOSSY]);
}

#[test]
fn long_messages_come_whole() {
    try_all(SOME, &[8], &[LOSSY], &[LONG]);
}
