//! Long messages by every algorithm with every option.

use crate::variants::{ACKNOWLEDGEMENTS, CO_ROOTS, TWO_STAGE, UNICAST, WINDOW};
use crate::variants::{LONG, LOSSY, MORE, SIZES, Variant, try_all};

fn try_long(variants: &[Variant]) {
    try_all(variants, &[SIZES, MORE].concat(), &[None, LOSSY], &[LONG]);
}

#[test]
#[ignore = "takes long where the machine is emulated"]
fn two_stage() {
    try_long(TWO_STAGE);
}

#[test]
#[ignore = "takes long where the machine is emulated"]
fn window() {
    try_long(WINDOW);
}

#[test]
#[ignore = "takes long where the machine is emulated"]
fn acknowledgements() {
    try_long(ACKNOWLEDGEMENTS);
}

#[test]
#[ignore = "takes long where the machine is emulated"]
fn co_roots() {
    try_long(CO_ROOTS);
}

#[test]
#[ignore = "takes long where the machine is emulated"]
fn unicast() {
    try_long(UNICAST);
}
