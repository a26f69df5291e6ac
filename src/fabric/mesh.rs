//! The m×n mesh of Zhou, Liu and Chung (section 3.1): a switch with one host at each place.

use super::fat_tree::{host_guid, switch_guid};
use super::topology::{Invalid, Kind, Link, Node, Port, Quality, Topology};
use std::collections::HashMap;

/// Towards larger x (figure 4).
pub const EAST: u8 = 1;
/// Towards larger y.
pub const NORTH: u8 = 2;
/// Towards smaller x. The paper's text calls it the east port a second time.
pub const WEST: u8 = 3;
/// Towards smaller y.
pub const SOUTH: u8 = 4;
/// To the host of the place.
pub const LOCAL: u8 = 5;

/// A mesh of `columns` by `rows` places N(x, y).
///
/// The host of N(x, y) has the index x·n + y, where n is the number of rows, and its switch the same
/// index among the switches. The paper prints x·m + y + 1 as its LID, which gives the same LID to two
/// places unless the mesh is square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mesh {
    columns: u16,
    rows: u16,
}

impl Mesh {
    /// A mesh of `columns` (m) by `rows` (n) places.
    ///
    /// # Errors
    /// If one is 0, or there are more than a million places.
    pub fn new(columns: u16, rows: u16) -> Result<Mesh, Invalid> {
        match u32::from(columns) * u32::from(rows) {
            1..=1_000_000 => Ok(Mesh { columns, rows }),
            _ => Err(Invalid(format!("a mesh has 1 to 1000000 places, not {columns} by {rows}"))),
        }
    }

    /// m: the number of values of x.
    pub fn columns(&self) -> u16 {
        self.columns
    }

    /// n: the number of values of y.
    pub fn rows(&self) -> u16 {
        self.rows
    }

    /// Number of hosts, and of switches.
    pub fn hosts(&self) -> u32 {
        u32::from(self.columns) * u32::from(self.rows)
    }

    /// The host at a place; it must be one of the mesh.
    pub fn host(&self, x: u16, y: u16) -> u32 {
        u32::from(x) * u32::from(self.rows) + u32::from(y)
    }

    /// The switch at a place, as a node.
    pub fn switch(&self, x: u16, y: u16) -> u32 {
        self.hosts() + self.host(x, y)
    }

    /// The place (x, y) of a host or a switch.
    pub fn place(&self, node: u32) -> (u16, u16) {
        let index = node % self.hosts();
        ((index / u32::from(self.rows)) as u16, (index % u32::from(self.rows)) as u16)
    }

    /// The topology, with all links of one quality.
    pub fn topology(&self, quality: Quality) -> Topology {
        let hosts = self.hosts();
        let node = |node| {
            let (x, y) = self.place(node);
            match node < hosts {
                true => Node {
                    kind: Kind::Host,
                    name: format!("N{x}.{y}"),
                    guid: host_guid(node),
                    ports: 1,
                },
                false => Node {
                    kind: Kind::Switch,
                    name: format!("SW{x}.{y}"),
                    guid: switch_guid(hosts, node - hosts),
                    ports: LOCAL,
                },
            }
        };
        let mut links = Vec::new();
        let mut link = |a, port_a, b, port_b| {
            let ends = [Port { node: a, port: port_a }, Port { node: b, port: port_b }];
            links.push(Link { ends, quality });
        };
        for x in 0..self.columns {
            for y in 0..self.rows {
                let switch = self.switch(x, y);
                link(self.host(x, y), 1, switch, LOCAL);
                if x + 1 < self.columns {
                    link(switch, EAST, self.switch(x + 1, y), WEST);
                }
                if y + 1 < self.rows {
                    link(switch, NORTH, self.switch(x, y + 1), SOUTH);
                }
            }
        }
        Topology::new((0..2 * hosts).map(node).collect(), links, &HashMap::new())
            .expect("a mesh is a topology")
    }
}
