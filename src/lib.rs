//! Reliable broadcast over InfiniBand hardware multicast.
//!
//! A message is sent once, to a multicast group, and made reliable by a protocol. Start with
//! [`broadcast`], the public interface.
//!
//! # Reading order
//! 1. [`rank`] and [`time`]: the words everything else uses.
//! 2. [`wire`]: the header of every packet.
//! 3. [`protocol`]: the sans-IO contract, and the families of protocols behind it.
//! 4. [`transport`]: the seam to whatever carries packets, and the fault injector.
//! 5. [`driver`]: one turn: receive, timers, transmit, events.
//! 6. [`model`] and [`sim`]: the papers' models, and the same drivers on simulated ranks.
//! 7. [`fabric`]: the network below: topologies, and the tables by which switches forward a multicast; `umad`
//!    carries them to the switches, with the feature of that name.
//! 8. [`bootstrap`]: how the ranks find one another.
//! 9. [`verbs`] and [`rdma`]: RAII over libibverbs, and the real transport.
//! 10. [`broadcast`]: what programs use.
//! 11. `mpi`, with the feature of that name: the same for programs with MPI.
//!
//! Dependencies point one way: `rank, time <- wire <- protocol <- transport <- driver <- broadcast`;
//! `verbs <- rdma <- broadcast <- mpi`; `bootstrap <- rdma`; `driver, fabric <- sim`; `fabric <- umad`. Without
//! the feature `verbs` the crate is portable Rust: cores, driver, simulator, fabric and bootstrap.
//!
//! # Features
//! - `verbs` (default): [`verbs`], [`rdma`] and [`broadcast`], which need libibverbs and librdmacm.
//! - `cli` (default): the command `verbcast`.
//! - `umad`: RAII over libibumad, for management datagrams; `cli` turns it on.
//! - `serde`: [`driver::Statistics`] and [`transport::Faults`] can be serialised; `cli` turns it on.
//! - `mpi`: `verbcast::mpi`, for programs with the crate `mpi` (rsmpi).
//! - `pmpi`: `MPI_Bcast` itself, for a library that is preloaded under programs nobody recompiles.
//! - `rdma-sys`: takes contexts that a program opened through the crate `rdma-sys`.

#![warn(missing_docs)]
// The modules named above are not all there without the feature.
#![cfg_attr(not(feature = "verbs"), allow(rustdoc::broken_intra_doc_links))]

#[forbid(unsafe_code)]
pub mod bootstrap;
#[cfg(feature = "verbs")]
#[forbid(unsafe_code)]
pub mod broadcast;
#[forbid(unsafe_code)]
pub mod driver;
#[forbid(unsafe_code)]
pub mod fabric;
#[forbid(unsafe_code)]
pub mod model;
#[cfg(feature = "mpi")]
pub mod mpi;
#[forbid(unsafe_code)]
pub mod protocol;
#[forbid(unsafe_code)]
pub mod rank;
#[cfg(feature = "verbs")]
pub mod rdma;
#[forbid(unsafe_code)]
pub mod sim;
#[forbid(unsafe_code)]
pub mod time;
#[forbid(unsafe_code)]
pub mod transport;
#[cfg(feature = "umad")]
pub mod umad;
#[cfg(feature = "verbs")]
pub mod verbs;
#[forbid(unsafe_code)]
pub mod wire;
