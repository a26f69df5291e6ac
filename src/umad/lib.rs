//! Safe RAII over libibumad: a [`Port`] sends subnet management packets and waits for the answers.
//!
//! It needs read and write access to `/dev/infiniband/umad*`, which is root's, or a fabric that is simulated:
//! with ibsim's `libumad2sim.so` preloaded, libibumad's device files are those of a simulated host.

mod error;
mod port;
mod simulated;

pub use error::Error;
pub use port::{Patience, Port};
