//! A communicator's multicast group: its address, which one it is, and the proof that it works.

pub(in crate::rdma) mod address;
pub(in crate::rdma) mod choice;
mod membership;
mod prove;

pub use address::GroupAddress;
pub(super) use choice::{MOST_TOLD, Offer};
pub(super) use membership::{Group, Joiner};
pub(super) use prove::{Heard, Proof, prove};
