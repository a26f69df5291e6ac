//! Every algorithm and option over real verbs and real multicast.

use crate::variants::{LONG, LOSSY, MORE, SIZES, SOME, try_all, try_options, try_short};

#[test]
fn every_option_works() {
    try_options(SIZES, &[LOSSY]);
    try_short(SOME, MORE, &[LOSSY]);
}

#[test]
#[ignore = "takes minutes where the machine is emulated"]
fn every_option_works_among_more_ranks_and_without_loss() {
    try_options(MORE, &[None, LOSSY]);
    try_options(SIZES, &[None]);
}

#[test]
fn long_messages_come_whole() {
    try_all(SOME, &[8], &[LOSSY], &[LONG / 4]);
}
