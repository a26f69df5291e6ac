//! A communicator's multicast group: its address, which one it is, and the proof that it works.

mod address;
mod choice;
mod gather;
mod groups;
mod ipoib;
mod join_error;
mod joiner;
mod member;
mod membership;
mod partition;
mod prove;
mod subnet;

pub(super) use address::{draw, generator};
pub(super) use choice::shared_group;
pub(super) use gather::gather;
pub(super) use groups::Groups;
pub use ipoib::source as ipoib_address;
pub(super) use joiner::Joiner;
pub(super) use member::{Heard, Member};
pub(super) use membership::{DEFAULT_QKEY, Group, Joined};
pub use partition::{Partition, choose as choose_partition};
