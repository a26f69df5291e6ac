//! Multicast tables into the switches of a fabric, as a transaction: everything is written and read back, or what was
//! written is put back.
//!
//! [`reserve`] finds multicast LIDs that no switch uses, [`Reservation::tasks`] cuts tables into what one packet
//! writes, and [`commit`] writes it. Packets are sent by whatever is an [`Agent`](super::smp::Agent): a port of an
//! adapter, as `verbcast-umad` opens it, or a simulation.
//!
//! ```
//! use std::collections::HashMap;
//! use verbcast_fabric::program::{Change, Task, commit, put_back};
//! use verbcast_fabric::smp::{Agent, Data, Route, Smp};
//!
//! /// Switches that keep what is written to them, each with one block.
//! #[derive(Default)]
//! struct Switches(HashMap<Route, Data>);
//!
//! impl Agent for Switches {
//!     fn exchange(&mut self, request: &Smp, route: &Route) -> Result<Smp, String> {
//!         if request.writes() {
//!             self.0.insert(route.clone(), *request.data());
//!         }
//!         Ok(request.with_data(self.0.get(route).unwrap_or(&[0; 64])))
//!     }
//! }
//!
//! // The first multicast LID of block 31 leaves this switch by its ports 1 and 2.
//! let mut after = [0; 32];
//! after[0] = 0b110;
//! let (switch, before) = ("leaf".to_owned(), [0; 32]);
//! let change = Change { switch, guid: 7, block: 31, position: 0, before, after };
//! let tasks = [Task { change, route: Route::Lid(12) }];
//! let mut switches = Switches::default();
//! commit(&mut switches, &tasks, |_| {})?;
//! // Who wants to keep what was there before saves the changes, and puts them back one day.
//! assert_eq!(put_back(&mut switches, &tasks, false).written, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod change;
mod reservation;
mod task_error;
#[cfg(test)]
mod tests;
mod transaction;

pub use change::{Change, Task, find};
pub use reservation::{Present, Reservation, ReserveError, reserve};
pub use task_error::TaskError;
pub use transaction::{PutBack, Stopped, Undone, commit, put_back, write};
