//! Packets on links: what a forwarding scheme does to time.
//!
//! Virtual cut-through, as in the papers' simulations: a packet's head goes on as soon as the next buffer has
//! room for all of it. Each port and virtual lane has an input and an output buffer. A packet that comes to
//! a switch asks for room in the output buffer of each port that the tables name; outputs serve first who
//! asked first, at the same time who came by the lower port. [`Parameters::switch`] later its head is at the
//! output. It leaves when the link is free and there is a credit, which stands for room in the input
//! buffer at the other end; lanes with a packet take turns. The input buffer is free again when the last copy
//! has crossed the switch. Hosts take packets as they come, and have room for all that they send.
//!
//! So one packet of L bytes through h switches takes (h + 1) · flight + h · switch + L · per byte, and
//! nothing is faster than the bytes that the busiest receiver gets.
//!
//! Links lose nothing, as InfiniBand's, unless a head-of-queue lifetime is set. Tables by which packets
//! wait for one another in a circle come to a stop, and a [`Fault`] names the circle.

mod circle;
mod draw;
mod engine;
mod event;
mod fault;
mod packet;
mod parameters;
mod slab;
mod switching;
mod traffic;
mod wiring;

#[cfg(test)]
mod tests;

pub use draw::{Crowd, Share};
pub use engine::Links;
pub use fault::Fault;
pub use packet::{Group, Happening, Packet, To};
pub use parameters::{LaneRule, Parameters, Replication};
pub use traffic::{Load, Message, carry};
