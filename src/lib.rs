//! Reliable broadcast over InfiniBand hardware multicast.
//!
//! A message is sent once, to a multicast group, and made reliable by a protocol. Start with
//! [`broadcast`], the public interface.
//!
//! # Reading order
//! 1. [`verbcast_core`]: protocols, driver and wire formats, without input or output; [`rank`], [`driver`],
//!    [`protocol`] and [`transport`] of it are here too, as the public interface names their types.
//! 2. [`bootstrap`]: how the ranks find one another.
//! 3. [`verbcast_verbs`] and [`rdma`]: RAII over libibverbs, and the real transport.
//! 4. [`broadcast`]: what programs use.
//! 5. `mpi`, with the feature of that name: the same for programs with MPI.
//!
//! Dependencies point one way: `verbcast_core, bootstrap <- rdma <- broadcast <- mpi`. Without the feature `verbs`
//! there is portable Rust alone.
//!
//! # Features
//! - `verbs` (default): [`rdma`] and [`broadcast`], which need libibverbs and librdmacm.
//! - `serde`: [`driver::Statistics`] and [`transport::Faults`] can be serialised.
//! - `mpi`: `verbcast::mpi`, for programs with the crate `mpi` (rsmpi).
//! - `umad`: `verbcast::umad`, RAII over libibumad, for management datagrams.
//! - `trace`: `verbcast::trace` writes what happens inside to standard error.
//! - `rdma-sys`: takes contexts that a program opened through the crate `rdma-sys`.

#![warn(missing_docs)]
// The modules named above are not all there without the feature.
#![cfg_attr(not(feature = "verbs"), allow(rustdoc::broken_intra_doc_links))]

#[forbid(unsafe_code)]
#[cfg(doctest)]
mod book;
pub mod bootstrap;
#[cfg(feature = "verbs")]
#[forbid(unsafe_code)]
pub mod broadcast;
#[cfg(feature = "mpi")]
pub mod mpi;
#[cfg(feature = "verbs")]
pub mod rdma;

#[cfg(feature = "trace")]
#[forbid(unsafe_code)]
pub mod trace;

pub use verbcast_core::{driver, protocol, rank, transport};
#[cfg(feature = "umad")]
pub use verbcast_umad as umad;
#[cfg(feature = "verbs")]
pub use verbcast_verbs as verbs;
