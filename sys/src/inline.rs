//! The calls that the C headers define as `static inline` functions or macros.
//!
//! No library exports them. Most go through the operations table of the
//! device's context straight into the provider.

mod address;
mod completion;
mod extended;
mod gid;
mod memory;
mod port;
mod post;

pub use address::{rdma_get_local_addr, rdma_get_peer_addr};
pub use completion::{ibv_poll_cq, ibv_req_notify_cq};
pub use extended::{ibv_create_qp_ex, ibv_query_device_ex, verbs_get_ctx};
pub use gid::{ibv_query_gid_ex, ibv_query_gid_table};
pub use memory::ibv_reg_mr;
pub use port::ibv_query_port;
pub use post::{ibv_post_recv, ibv_post_send, ibv_post_srq_recv};
