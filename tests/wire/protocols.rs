//! Every algorithm and option with a NIC for each rank, over a wire that really loses, doubles and
//! reorders: reliable messages, reports and reads too.
//!
//! Ranks spend most of the time waiting for what the wire lost, so that several tests run at a time.

use crate::variants::{ACKNOWLEDGEMENTS, CO_ROOTS, TWO_STAGE, UNICAST, Variant, WINDOW};
use crate::variants::{LONG, LOSSY, MORE, SIZES, SOME, try_all, try_options, try_short};

fn works_among_four(variants: &[Variant]) {
    try_short(variants, &[4], &[None]);
}

#[test]
fn two_stage() {
    works_among_four(TWO_STAGE);
}

#[test]
fn window() {
    works_among_four(WINDOW);
}

#[test]
fn acknowledgements() {
    works_among_four(ACKNOWLEDGEMENTS);
}

#[test]
fn co_roots() {
    works_among_four(CO_ROOTS);
}

#[test]
fn unicast() {
    works_among_four(UNICAST);
}

#[test]
fn some_of_each_kind_among_eight() {
    try_short(SOME, &[8], &[None]);
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
