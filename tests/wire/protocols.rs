//! Every algorithm and option with a NIC for each rank, over a wire that really loses, doubles and
//! reorders: reliable messages, reports and reads too.

use crate::variants::{LONG, LOSSY, MORE, SIZES, SOME, try_all, try_options, try_some};

#[test]
fn every_option_works() {
    try_options(&[4], &[None]);
    try_some(&[8], &[None]);
}

/// With sixteen ranks, two share a NIC. A tenth of the datagrams is lost on top of what the wire loses.
#[test]
#[ignore = "takes half an hour where the machine is emulated"]
fn every_option_works_among_more_ranks_and_with_more_loss() {
    try_options(SIZES, &[None, LOSSY]);
    try_options(MORE, &[None, LOSSY]);
}

#[test]
fn long_messages_come_whole() {
    // Where the wire reorders, rxe sends the rest of what is under way again: it is slow.
    try_all(SOME, &[8], &[None], &[LONG / 8]);
}
