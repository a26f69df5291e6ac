//! Raw bindings to libibverbs and librdmacm, as far as verbcast needs them.
//!
//! `bindings` is generated (see `regenerate` beside this crate's manifest); [`inline`] holds what
//! the C headers define as inline functions, which no library exports. The names are C's.

#![no_std]

#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unsafe_op_in_unsafe_fn,
    clippy::all,
    clippy::undocumented_unsafe_blocks
)]
mod bindings;
pub mod inline;

pub use bindings::*;
