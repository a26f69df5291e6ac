//! Raw bindings to libibverbs and librdmacm, and with the feature `umad` to
//! libibumad, as far as verbcast needs them.
//!
//! Structures, constants and the libraries' symbols are generated from
//! rdma-core's headers and committed. The calls that the headers define as
//! inline functions or macros have no symbol to bind; [`inline`] has them, and
//! they are also at the top.
//!
//! Names, arguments and results are those of the C manual pages
//! (`man ibv_post_send`, `man rdma_join_multicast`, ...). Numbers that C calls
//! `__be16`, `__be32` and `__be64` are in network byte order.

#![no_std]

#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unsafe_op_in_unsafe_fn,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "generated"
)]
mod bindings;
pub mod inline;
#[cfg(feature = "umad")]
#[allow(
    missing_docs,
    non_camel_case_types,
    non_upper_case_globals,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "generated"
)]
mod umad;

pub use bindings::*;
pub use inline::*;
#[cfg(feature = "umad")]
pub use umad::*;
