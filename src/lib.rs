//! Reliable broadcast over InfiniBand hardware multicast.
//!
//! A message is sent once, to a multicast group, and made reliable by a protocol. The ranks of a job meet, each
//! makes a [`Broadcaster`], and then they broadcast:
//!
//! ```no_run
//! use verbcast::{Broadcaster, Config, Environment, Rank, Star};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config::from_env()?;
//! let environment = Environment::from_env()?.ok_or("not started as a rank of a job")?;
//! let mut bootstrap = Star::join(&environment, config.device.timeout)?;
//! let mut broadcaster = Broadcaster::new(&mut bootstrap, &config)?;
//! let mut parameters = [0.0_f64; 1000];
//! broadcaster.broadcast_into(Rank(0), &mut parameters)?;
//! broadcaster.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! # Where to go on
//! - [`Broadcaster`] has the calls, blocking and not; [`Broadcaster::arm`] says how to wait in an event loop or an
//!   asynchronous runtime. [`Buffer`] is memory that the device knows already.
//! - [`Config`] says how broadcasts are done; programs make it in code, users by `VERBCAST_*` variables.
//! - [`Bootstrap`] is how ranks find one another: [`Star`] over sockets, or what a program brings along.
//! - [`Endpoint`] has many communicators share what a process has on its device.
//! - `mpi`, with the feature of that name, is the same for programs with the crate `mpi` (rsmpi).
//!
//! # Features
//! - `verbs` (default): everything that needs libibverbs and librdmacm. Without it there is portable Rust alone: how
//!   the ranks find one another.
//! - `serde`: [`Statistics`] and [`Faults`] can be serialised.
//! - `mpi`: `verbcast::mpi`, for programs with the crate `mpi` (rsmpi).
//! - `umad`: `verbcast::umad`, RAII over libibumad, for management datagrams.
//! - `trace`: `verbcast::trace` writes what happens inside to standard error, and as a timeline to a file.
//! - `rdma-sys`: takes contexts that a program opened through the crate `rdma-sys`.
//!
//! # How it is built
//! Dependencies point one way: `verbcast_core, bootstrap <- rdma <- broadcast <- mpi`. The crate [`verbcast_core`] has
//! the protocols, the driver and the wire formats, without input or output; `rdma` is the transport over real verbs.
//! The modules that are not listed here are for verbcast's own command and tests, and may change at any time.

#![warn(missing_docs)]
// What is named above is not all there without the feature.
#![cfg_attr(not(feature = "verbs"), allow(rustdoc::broken_intra_doc_links))]

#[cfg(doctest)]
mod book;

#[forbid(unsafe_code)]
pub mod bootstrap;
#[cfg(feature = "verbs")]
#[doc(hidden)]
#[forbid(unsafe_code)]
pub mod broadcast;
#[cfg(feature = "verbs")]
#[doc(hidden)]
#[forbid(unsafe_code)]
pub mod clock;
#[cfg(feature = "mpi")]
pub mod mpi;
#[cfg(feature = "verbs")]
#[doc(hidden)]
pub mod rdma;
#[cfg(feature = "trace")]
#[forbid(unsafe_code)]
pub mod trace;

#[doc(no_inline)]
pub use bootstrap::{Bootstrap, BootstrapError, Environment, EnvironmentError, Star, VoteError};
#[cfg(feature = "verbs")]
pub use broadcast::{
    Broadcaster, Buffer, Config, ConfigBuilder, ConfigError, Endpoint, Error, Message, Pending,
    TopologyFileError, Usage, Variable,
};
#[cfg(feature = "verbs")]
pub use rdma::{Description, Family, Multicast, NodeSharing, Settings, SettingsError, Waiting};
#[doc(inline)]
pub use verbcast_core::driver::{Failure, FailureKind, Statistics};
#[doc(inline)]
pub use verbcast_core::protocol::choice::{Algorithm, Table, TableError};
#[doc(inline)]
pub use verbcast_core::protocol::options::{Options, OptionsError};
#[doc(inline)]
pub use verbcast_core::protocol::{Depths, DepthsError, StartError};
#[doc(inline)]
pub use verbcast_core::rank::{OpId, Rank};
#[doc(inline)]
pub use verbcast_core::topology::{SwitchPath, SwitchPathError, TopologyError, TopologyMistake};
#[doc(inline)]
pub use verbcast_core::transport::{FaultError, Faults};
#[cfg(feature = "verbs")]
#[doc(inline)]
pub use verbcast_verbs::Context;

#[cfg(feature = "umad")]
pub use verbcast_umad as umad;
#[cfg(feature = "verbs")]
pub use verbcast_verbs as verbs;
