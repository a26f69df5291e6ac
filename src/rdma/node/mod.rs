//! The memory that the ranks of a node share: a ring of datagrams, the word of who receives, who sleeps, and
//! what they report to one another.
//!
//! What is decided about both is in [`verbcast_core::node`]. Here is the memory: a file without a name, which one of the
//! ranks makes and the others open through `/proc`. It has no name anywhere, so that nothing of it is left when its
//! processes are gone, however they went. Its size is sealed, so that nobody can take pages away under another.

mod bell;
mod cells;
mod counters;
mod mapping;
mod memory;
mod reports;
mod ring;
mod seat;

pub use bell::Bell;
pub use counters::NodeCounters;
pub use memory::Memory;
pub use ring::Ring;
pub use seat::{Membership, NodeSeat};
