//! Safe RAII types over the verbs: what is made is destroyed on drop, in the right order.
//!
//! A child holds its parents, so a device stays open while anything made from it lives, and a
//! [`Attachment`] keeps its QP alive until it is detached. Drops log what the library refuses;
//! `close` returns it. Memory that a device reads or writes is a [`Slot`] of a [`Pool`]: posting
//! consumes the slot and its completion gives it back, so that no reference to it exists meanwhile.
//! What devices read and write at any time is [`Shared`], to which there are no references at all.
//! Memory of messages is used under a [`Lease`].

mod address_handle;
mod async_event;
mod batch;
mod block;
mod cm;
mod completion;
mod context;
mod descriptors;
mod device;
mod error;
mod fork;
mod gids;
mod group_path;
mod interfaces;
mod ipoib;
mod lease;
mod memory;
mod mr;
mod multicast;
mod natural;
mod partition;
mod pd;
mod pool;
mod post;
mod qp;
#[cfg(feature = "rdma-sys")]
mod rdma_sys;
mod shared;
mod socket_address;
mod srq;
mod subnet;

pub use address_handle::{AddressHandle, PathTo, Service};
pub use async_event::{AsyncEvent, AsyncKind, PortChange};
pub use batch::MAX_TOGETHER;
pub use block::{Anchor, Block};
pub use cm::{Membership, MulticastGroup};
pub use completion::{Completion, CompletionQueue, MAX_POLLED, Origin, Outcome, Polled, Told};
pub use context::{Context, DeviceAttributes, LinkLayer, Port, Protocol};
pub use descriptors::Descriptors;
pub use device::{Device, devices};
pub use error::{Error, Result};
pub use fork::{ForkSafety, fork_safety, while_forked};
pub use gids::{GidEntry, GidKind};
pub use group_path::{GroupPath, GroupRecord};
pub use interfaces::{InterfaceAddress, interface_addresses};
pub use ipoib::{IpoibInterface, ipoib_interfaces};
pub use lease::Lease;
pub use memory::page_size;
pub use multicast::Attachment;
pub use partition::PortPartition;
pub use pd::ProtectionDomain;
pub use pool::{Pool, Slot};
pub use qp::{End, MAX_INLINE, Patience, QueuePair};
pub use shared::{Access, Remote, Shared, Span};
pub use srq::SharedReceiveQueue;
pub use subnet::SubnetManager;

/// Logs what a drop cannot return.
fn log_failure(result: Result<()>) {
    if let Err(error) = result {
        tracing::warn!("while dropping: {error}");
    }
}
