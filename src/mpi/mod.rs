//! Broadcasts among the ranks of an MPI communicator.
//!
//! A [`MulticastCommunicator`] wraps one of the crate `mpi` (rsmpi); its [processes](Process) broadcast as rsmpi's
//! do.
//!
//! A [`Link`] is a communicator of verbcast's own with the same ranks: the ranks find one another over
//! it, and it lets MPI make progress while a broadcast waits. A [`Layout`] says where the bytes
//! of an MPI buffer are. A [`Way`] is what the ranks of a communicator have decided: to broadcast by multicast, each as a
//! [`Member`], or by MPI where they have found that they cannot. A [`Library`] is MPI itself, for programs that compare its own broadcast
//! with others.

mod communicator;
mod constructor;
mod error;
mod gpu;
mod layout;
mod library;
mod link;
mod long_element;
mod member;
mod process;
mod progress;
mod request;
mod shared;
#[cfg(test)]
mod testing;

pub use communicator::MulticastCommunicator;
pub use error::{Error, MpiError};
pub use layout::Layout;
pub use library::{Library, OwnBroadcast};
pub use link::Link;
pub use member::{Member, Question, Way};
pub use process::Process;
pub use progress::Progress;
pub use request::Request;
pub use shared::endpoint as shared_endpoint;
