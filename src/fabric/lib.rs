//! The fabric under a broadcast: its links, and the tables by which switches forward.
//!
//! A [`Topology`] is made by a shape ([`FatTree`], [`Mesh`]) or read from what `ibnetdiscover` prints
//! ([`read`]). [`Lids`] are the addresses on it, [`UnicastTables`] the switches' linear forwarding tables,
//! and [`Entries`] what all switches do with one multicast LID. Schemes make these:
//!
//! - [`FatTree::unicast_tables`] and [`FatTree::cyclic`]: Zhou, Lin and Chung 2007, *Hardware supported
//!   multicast in fat-tree-based InfiniBand networks*;
//! - [`Mesh::unicast_tables`] and [`Mesh::xy_union`]: Zhou, Liu and Chung, *Hardware Supported Multicast in
//!   2-D Mesh InfiniBand Networks*;
//! - [`union`]: the rule as both papers print it, which loops;
//! - [`opensm`]: what OpenSM does, for comparison with the real one;
//! - [`omnipath`]: the multicast of the Omni-Path fabric manager.
//!
//! [`Scheme`] and [`Routing`] choose between them by name, for a [`ShapedTopology`].
//!
//! [`smp`] is how tables are read from switches and written into them; [`locate`] finds a computed fabric in the
//! one that is there, and [`program`] writes tables as a transaction.
//! [`links`] simulates packets on a fabric: what its tables do to time.
//!
//! The [`checker`] stands apart from them all. Nodes, endpoints and ports are plain indices throughout.
//!
//! ```
//! use verbcast_fabric::{Checker, FatTree, Quality};
//!
//! let tree = FatTree::new(4, 3)?;
//! let topology = tree.topology(Quality::default());
//! let group = [8, 9, 10, 11];
//! let entries = tree.cyclic(&topology, &group, tree.way(0));
//! let delivery = Checker::new(&topology).check(&entries, &group, 0)?;
//! assert_eq!((delivery.copies, delivery.switches), (4, 5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod checker;
mod fat_tree;
mod fat_tree_tables;
mod lids;
pub mod links;
mod located;
pub mod mesh;
mod mesh_tables;
mod multicast;
mod nearest;
pub mod omnipath;
pub mod opensm;
mod plan;
pub mod program;
pub mod read;
mod routing;
mod scheme;
mod shape;
pub mod smp;
mod topology;
mod unicast;
pub mod union;
mod write;

#[cfg(test)]
mod tests;

pub use checker::{Checker, Delivery, Violation};
pub use fat_tree::FatTree;
pub use lids::{LAST_UNICAST, Lids, MAX_LMC, Numbering, Owner};
pub use located::{locate, relocate};
pub use mesh::Mesh;
pub use multicast::{BLOCK, Entries, FIRST_MLID, MulticastTables, PortSet};
pub use routing::{Routing, RoutingError};
pub use scheme::{Scheme, SchemeError, Table, UnknownScheme};
pub use shape::{Shape, ShapedTopology};
pub use topology::{Endpoint, Invalid, Kind, Link, Node, Port, Quality, Topology};
pub use unicast::{Hop, Stray, UnicastTables, walk};
pub use write::{Layout, dot, identifier, netlist, svg};
