//! The real transport: UD multicast and RC connections over verbs.
//!
//! # What is on the device
//! Per process and port, for all communicators: one UD QP, attached to the groups of the communicators, with
//! [`Depths::receive`](verbcast_core::protocol::Depths::receive) receives posted before the first message; two RC QPs for each
//! process that a protocol talks to (messages, and probes of liveness), all of which receive through one
//! shared queue; one completion queue. Of each communicator, two pieces of memory are open to its other ranks: the ring of
//! retained packets, which they may read, and a table of numbers, which they may write.
//!
//! # The fast path
//! A broadcast whose ranks are in step allocates nothing at any of them (`tests/softroce/fast_path.rs` counts),
//! takes no lock but that of an endpoint which communicators share, and makes no system call while it polls
//! (`tests/softroce/system_calls.rs` counts) but what the provider needs to ring a doorbell: a write, with rxe;
//! nothing, with an adapter.
//!
//! Work requests wait in their queue until the driver's turn ends, or until there are
//! [sixteen](verbcast_verbs::MAX_TOGETHER), and are posted together: sends of datagrams and of reliable messages, and
//! the receives that take the place of those that were used. Of sends posted together only the last is
//! signalled; its completion tells of all before it. Last words and probes do not wait. Packets
//! of up to [192 bytes](verbcast_verbs::MAX_INLINE) go inline: from a slot, into which a multicast of a retained
//! packet copies it first. Completions are taken sixteen at a time.
//!
//! Most turns of a rank that waits find nothing. Such a turn compares the time with that at which something is due, which
//! the endpoint knows until somebody changes something, and looks into the completion queue
//! once. The numbers that other ranks write are looked at while the protocol says that it
//! [hears](verbcast_core::protocol::Core::hears_reports) them.
//!
//! # Messages without a copy
//! The memory of a message of at least [`Settings::zero_copy`] bytes is [lent](lend) to the transport
//! for its operation. A packet is then sent out of two parts, the header in a slot and the payload in
//! the message; and receives are posted for the header in a slot and the payload at the place of
//! the fragment that they will probably get. What comes as expected is where it belongs; what comes
//! otherwise is moved into its slot at once, and goes the way of any other packet. Memory is given back
//! when no request uses it. Receives that are left over for it, which losses late in a message may
//! cause, are taken back by a flush of the whole receive queue.
//!
//! Borrowed memory is registered for one operation and deregistered at its end, so that a device never
//! reaches pages that were freed and mapped anew. Buffers that verbcast allocates stay registered,
//! within [`Settings::registration_cache`]. Where a fork would
//! take registered pages from the device ([`verbcast_verbs::fork_safety`]: Linux before 5.12, unless the program
//! has called `ibv_fork_init`), own memory is kept from children and borrowed memory is not registered.
//!
//! # The parts
//! Each names only those above it in this list; `tests/host/layers.rs` holds that.
//!
//! | part | what it is |
//! |---|---|
//! | `settings`, `ids`, `packet`, `outstanding`, `work` | words and numbers that the others share |
//! | `keys` | the keys of packets' authentication codes |
//! | `memory` | what ranks reach in each other (ring, reports), and what stays registered |
//! | `group` | the multicast group: its address, which one, joining it, the proof that it works |
//! | `node` | the memory that the ranks of a host share, by which one hands on to the others what it receives |
//! | `ud` | the UD QP: datagrams, and what the next receives will probably get |
//! | `rc` | the connections: handshake, reliable messages, reads |
//! | `endpoint` | what a process has on its device: takes completions and hands what came to communicators |
//! | `transport` | one communicator over its endpoint: what the driver uses; messages without a copy |
//! | `setup` | the choice of a device, and the steps by which ranks make a communicator |
//!
//! # Life of a communicator
//! [`establish`] is collective: open a device, exchange addresses, join the group, prove that it
//! carries datagrams, connect to the protocol's peers. Every step is put to a vote, so that all
//! ranks fail alike, with the rank and the thing named.

mod endpoint;
mod group;
mod ids;
mod keys;
mod memory;
mod node;
mod outstanding;
mod packet;
mod rc;
mod settings;
mod setup;
mod transport;
mod ud;
mod work;

pub use endpoint::{Incidents, Usage};
pub use group::{Partition, choose_partition, ipoib_address};
pub use node::NodeCounters;
pub use settings::{Family, Multicast, NodeSharing, Settings, SettingsError, Waiting};
pub use setup::{
    Agreed, Candidate, Description, DeviceReport, GidReport, Home, Limits, PortReport,
    SharedEndpoint, Survey, establish, establish_on, survey,
};
pub(crate) use setup::{
    Further, Made, Origin, Preparation, add_rails, complete, join, shares_memory,
};
pub use transport::{Claims, Counters, Owned, RdmaTransport, lend};
pub use verbcast_core::wire::GroupAddress;
