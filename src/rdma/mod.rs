//! The real transport: UD multicast and RC connections over verbs.
//!
//! # What is on the device
//! Per communicator and process: one UD QP, attached to the communicator's group, with
//! [`Settings::receive_depth`] receives posted before the first message; two RC QPs for each
//! rank that the protocol talks to (messages, and probes of liveness), all of which receive through one
//! shared queue; one completion queue. Two pieces of memory are open to the other ranks: the ring of
//! retained packets, which they may read, and a table of numbers, which they may write.
//!
//! # Life of a communicator
//! [`establish`] is collective: open a device, exchange addresses, join the group, prove that it
//! carries datagrams, connect to the protocol's peers. Every step is put to a vote, so that all
//! ranks fail alike, with the rank and the thing named.

mod address;
mod complete;
mod connection;
mod connections;
mod datagrams;
mod establish;
mod fetches;
mod group;
mod handshake;
mod memory;
mod one_sided;
mod prove;
mod reports;
mod ring;
mod settings;
mod survey;
mod transport;
mod wait;
mod work;

pub use address::GroupAddress;
pub use establish::{Agreed, Description, establish};
pub use settings::{Family, Multicast, Settings, SettingsError, Waiting};
pub use survey::{Candidate, DeviceReport, GidReport, PortReport, Survey, survey};
pub use transport::RdmaTransport;
