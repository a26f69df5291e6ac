//! Topologies as text: for ibsim, Graphviz and browsers.

mod dot;
mod netlist;
mod place;
mod svg;

pub use dot::dot;
pub use netlist::{identifier, netlist};
pub use place::Layout;
pub use svg::svg;
