//! Why packets do not come to their end.

use crate::topology::{Port, Topology};
use std::fmt::Write;

/// Why packets do not come to their end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A switch, as a node, forwards a packet to no link.
    Stray(u32),
    /// Copies of one packet have crossed more links than there are: the tables forward in circles.
    Circle,
    /// Packets wait for one another, and nothing moves any more.
    Deadlock {
        /// Packets that are on their way.
        packets: usize,
        /// Ports whose output buffers are full, each waiting for the next, the last for the first.
        cycle: Vec<Port>,
    },
}

impl Fault {
    /// The fault in words, with the names of nodes.
    pub fn describe(&self, topology: &Topology) -> String {
        match self {
            Fault::Stray(node) => {
                format!("{} forwards a packet to no link", topology.node(*node).name)
            }
            Fault::Circle => "copies of a packet go round in circles".to_owned(),
            Fault::Deadlock { packets, cycle } => {
                let mut text = format!("deadlock: {packets} packets wait for one another");
                for (at, Port { node, port }) in cycle.iter().enumerate() {
                    let join = if at == 0 { ", at" } else { "," };
                    // Writing to a String does not fail.
                    let _ = write!(text, "{join} {} port {port}", topology.node(*node).name);
                }
                text
            }
        }
    }
}
