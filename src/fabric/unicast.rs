//! Linear forwarding tables (LFT), and the path of a packet through them.

use super::lids::{Lids, Owner};
use super::topology::{Port, Topology};
use std::fmt;

/// Stands for no port in a table, as in a switch's own.
const NO_PORT: u8 = 255;

/// The LFTs of all switches: for each switch and LID the one port to forward to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnicastTables {
    lids: Lids,
    /// Entries of one switch.
    width: usize,
    ports: Vec<u8>,
}

impl UnicastTables {
    /// Tables without an entry for `switches` switches.
    pub fn new(lids: Lids, switches: u32) -> UnicastTables {
        let width = usize::from(lids.last()) + 1;
        UnicastTables { lids, width, ports: vec![NO_PORT; width * switches as usize] }
    }

    /// The LIDs that the tables are for.
    pub fn lids(&self) -> &Lids {
        &self.lids
    }

    /// The port to which a switch, by its index among the switches, forwards packets to `lid`;
    /// 0 if the LID is its own.
    pub fn port(&self, switch: usize, lid: u16) -> Option<u8> {
        let port = *self.ports[switch * self.width..][..self.width].get(usize::from(lid))?;
        (port != NO_PORT).then_some(port)
    }

    /// Sets an entry. `lid` must be one of those the tables are for, `port` below 255.
    pub fn set(&mut self, switch: usize, lid: u16, port: u8) {
        self.ports[switch * self.width..][..self.width][usize::from(lid)] = port;
    }
}

/// One switch on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The switch, as a node.
    pub switch: u32,
    /// The port by which the packet comes.
    pub arrived: u8,
    /// The port by which it leaves; 0 if the switch itself is the destination.
    pub left: u8,
}

/// Why a packet does not come to the owner of its LID. Switches are nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stray {
    /// The LID is nobody's.
    Nobody,
    /// The source is linked to no switch.
    NoSwitch,
    /// A switch has no entry for the LID.
    NoEntry(u32),
    /// An entry names a port without a link.
    Unlinked(Port),
    /// The packet comes to a switch a second time.
    Loop(u32),
    /// The packet comes to somebody else.
    Wrong(Owner),
}

impl Stray {
    /// What has happened in words, with the names of `topology`.
    pub fn describe(&self, topology: &Topology) -> String {
        let node = |node: u32| &topology.node(node).name;
        match *self {
            Stray::Nobody | Stray::NoSwitch => self.to_string(),
            Stray::NoEntry(at) => format!("{} has no entry for the LID", node(at)),
            Stray::Unlinked(Port { node: at, port }) => {
                format!("port {port} of {} has no link", node(at))
            }
            Stray::Loop(at) => format!("the packet comes to {} a second time", node(at)),
            Stray::Wrong(Owner::Switch(at)) => format!("the packet comes to {}", node(at)),
            Stray::Wrong(Owner::Endpoint(at)) => {
                let at = topology.endpoints()[at as usize].port.node;
                format!("the packet comes to {}", node(at))
            }
        }
    }
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stray::Nobody => f.write_str("nobody has the LID"),
            Stray::NoSwitch => f.write_str("the source is linked to no switch"),
            Stray::NoEntry(node) => write!(f, "node {node} has no entry for the LID"),
            Stray::Unlinked(Port { node, port }) => write!(f, "port {port} of {node} has no link"),
            Stray::Loop(node) => write!(f, "the packet comes to node {node} a second time"),
            Stray::Wrong(owner) => write!(f, "the packet comes to {owner:?}"),
        }
    }
}

impl std::error::Error for Stray {}

/// The path of a packet from an endpoint to a LID through the tables.
///
/// # Errors
/// If the packet does not come to the owner of the LID.
pub fn walk(
    topology: &Topology,
    tables: &UnicastTables,
    source: u32,
    lid: u16,
) -> Result<Vec<Hop>, Stray> {
    let owner = tables.lids().owner(lid).ok_or(Stray::Nobody)?;
    let mut at = topology.leaf(source).ok_or(Stray::NoSwitch)?;
    let mut seen = vec![false; topology.switches() as usize];
    let mut path = Vec::new();
    loop {
        let (switch, index) = (at.node, topology.switch_index(at.node));
        if std::mem::replace(&mut seen[index], true) {
            return Err(Stray::Loop(switch));
        }
        let left = tables.port(index, lid).ok_or(Stray::NoEntry(switch))?;
        path.push(Hop { switch, arrived: at.port, left });
        let reached = if left == 0 {
            Owner::Switch(switch)
        } else {
            let out = Port { node: switch, port: left };
            let exists = left <= topology.node(switch).ports;
            at = exists.then(|| topology.peer(out)).flatten().ok_or(Stray::Unlinked(out))?;
            match topology.endpoint_at(at) {
                Some(endpoint) => Owner::Endpoint(endpoint),
                None => continue,
            }
        };
        return if reached == owner { Ok(path) } else { Err(Stray::Wrong(reached)) };
    }
}
