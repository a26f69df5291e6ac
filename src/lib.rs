//! Reliable broadcast over InfiniBand hardware multicast.
//!
//! # Reading order
//! 1. [`rank`] and [`time`]: the words everything else uses.
//! 2. [`wire`]: the header of every packet.
//! 3. [`protocol`]: the sans-IO contract, and the two-stage protocol behind it.
//! 4. [`transport`]: the seam to whatever carries packets, and the fault injector.
//! 5. [`driver`]: one turn: receive, timers, transmit, events.
//!
//! Dependencies point one way: `time, rank <- wire <- protocol <- transport <- driver <- broadcast`.

#![warn(missing_docs)]

pub mod bootstrap;
#[cfg(feature = "verbs")]
pub mod broadcast;
pub mod driver;
pub mod protocol;
pub mod rank;
#[cfg(feature = "verbs")]
pub mod rdma;
pub mod time;
pub mod transport;
#[cfg(feature = "verbs")]
pub mod verbs;
pub mod wire;
