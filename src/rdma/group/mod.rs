//! A communicator's multicast group: its address, which one it is, and the proof that it works.

mod address;
mod attached;
mod choice;
mod enter;
mod gather;
mod groups;
mod ipoib;
mod join_error;
mod joiner;
mod member;
mod membership;
mod order;
mod partition;
mod prove;
mod proven;
mod rejoin;
mod renewal;
mod subnet;
#[cfg(test)]
pub(super) mod testing;
mod waves;

pub(super) use address::{AddressKind, draw, generator};
pub(super) use attached::{Group, Pace};
pub(super) use choice::shared_group;
pub(super) use gather::{Gathered, gather};
pub(super) use groups::{GroupId, Groups};
pub use ipoib::source as ipoib_address;
pub(super) use join_error::JoinError;
pub(super) use joiner::Joiner;
pub(super) use member::{Heard, Member};
pub(super) use membership::{DEFAULT_QKEY, Joined};
pub(super) use order::{JoinOrder, PortSpeed};
pub use partition::{Partition, choose as choose_partition};
pub(super) use partition::{is_limited, is_same as is_same_partition};
pub(super) use proven::{ProvenAmong, members, proven_group};
pub(super) use renewal::Renewed;
