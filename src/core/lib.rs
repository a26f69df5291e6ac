//! What a rank of a broadcast does, without anything that it does it with: no sockets, no verbs, no clock, no unsafe
//! code, no C library.
//!
//! # Reading order
//! 1. [`rank`] and [`time`]: the words everything else uses; [`numbers`]: maps that cost little; [`order`]: how ranks are
//!    counted; [`topology`]: the switches above hosts.
//! 2. [`wire`]: the header of every packet.
//! 3. [`protocol`]: the sans-IO contract, and the families of protocols behind it.
//! 4. [`transport`]: the seam to whatever carries packets, and the fault injector.
//! 5. [`driver`]: one turn: receive, timers, transmit, events.
//! 6. [`node`]: ranks that share memory.
//! 7. [`model`]: the papers' models.
//!
//! Dependencies point one way: `rank, time <- wire <- protocol <- transport <- driver`; `rank <- order <- protocol`;
//! `model <- protocol`; `numbers <- transport`; `topology <- wire <- node`.
//!
//! # Features
//! - `serde`: [`driver::Statistics`] and [`transport::Faults`] can be serialised.

#![forbid(unsafe_code)]

pub mod cause;
pub mod driver;
pub mod model;
pub mod node;
pub mod numbers;
pub mod order;
pub mod protocol;
pub mod rank;
pub mod time;
pub mod topology;
pub mod transport;
pub mod wire;
