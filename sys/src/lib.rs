//! Raw bindings to libibverbs and librdmacm.
//!
//! Structures, constants and the libraries' symbols are generated from
//! rdma-core's headers and committed. The calls that the C headers define as
//! `static inline` functions or macros have no symbol to bind; they are
//! written here in Rust, with the headers' names and arguments.
//!
//! Names, arguments and results are those of the C manual pages
//! (`man ibv_post_send`, `man rdma_join_multicast`, ...). Numbers that C calls
//! `__be16`, `__be32` and `__be64` are in network byte order.

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
mod cm_addr;
mod completion;
mod extended;
mod gid;
mod memory;
mod port;
mod post;

pub use bindings::*;
pub use cm_addr::{rdma_get_local_addr, rdma_get_peer_addr};
pub use completion::{ibv_poll_cq, ibv_req_notify_cq};
pub use extended::{ibv_create_qp_ex, ibv_query_device_ex, verbs_get_ctx};
pub use gid::{ibv_query_gid_ex, ibv_query_gid_table};
pub use memory::ibv_reg_mr;
pub use port::ibv_query_port;
pub use post::{ibv_post_recv, ibv_post_send, ibv_post_srq_recv};
