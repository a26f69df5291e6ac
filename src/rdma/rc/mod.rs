//! Reliable connections: made when a process is first sent to, and what goes over them.

mod connection;
mod fetches;
mod group_turns;
mod handshake;
mod look;
mod pool;
mod reads;
mod send_slots;
mod tails;

pub(super) use connection::{Pending, Request};
pub(super) use handshake::MAX_PAUSE;
pub(super) use look::{Look, Place, Stage, Wanted};
pub(super) use pool::{ConnectionPool, Local, Room};
pub(super) use send_slots::{Sender, is_last};
