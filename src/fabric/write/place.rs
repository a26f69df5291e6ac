//! Where nodes are drawn.

use crate::mesh::Mesh;
use crate::topology::Topology;
use std::collections::BTreeMap;
use std::f64::consts::TAU;

/// How a topology is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Hosts at the bottom, each switch as many rows above as it is links away from one.
    Layers,
    /// Places of a mesh, x to the right and y upwards. The topology must be that of the mesh.
    Grid(Mesh),
    /// Switches around a circle in their order, hosts outside: for fabrics without levels.
    Circle,
}

/// Distance between rows, and of neighbours in a grid.
const ROW: f64 = 110.0;
/// Distance of the hosts of a row.
const COLUMN: f64 = 54.0;
/// Room around everything.
const MARGIN: f64 = 50.0;

/// Centres of all nodes, and the size of the drawing, in pixels.
pub(super) struct Places {
    pub at: Vec<(f64, f64)>,
    pub width: f64,
    pub height: f64,
}

pub(super) fn places(topology: &Topology, layout: Layout) -> Places {
    match layout {
        Layout::Layers => layers(topology),
        Layout::Grid(mesh) => grid(topology, &mesh),
        Layout::Circle => circle(topology),
    }
}

/// The nodes of each row, from the bottom. Hosts stand in the order of their switches' ports.
pub(super) fn rows(topology: &Topology) -> Vec<Vec<u32>> {
    let mut hosts: Vec<u32> = (0..topology.hosts()).collect();
    hosts.sort_by_key(|host| topology.neighbours(*host).next().map(|(_, peer)| peer));
    let mut above: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (node, height) in topology.switch_nodes().zip(topology.heights()) {
        above.entry(height).or_default().push(node);
    }
    std::iter::once(hosts).chain(above.into_values()).filter(|row| !row.is_empty()).collect()
}

fn layers(topology: &Topology) -> Places {
    let rows = rows(topology);
    let widest = rows.iter().map(Vec::len).max().unwrap_or(0) as f64;
    let (width, height) = (widest * COLUMN, rows.len().saturating_sub(1) as f64 * ROW);
    let mut at = vec![(0.0, 0.0); topology.nodes().len()];
    for (row, nodes) in rows.iter().enumerate() {
        for (column, node) in nodes.iter().enumerate() {
            let x = (column as f64 + 0.5) / nodes.len() as f64 * width;
            at[*node as usize] = (MARGIN + x, MARGIN + height - row as f64 * ROW);
        }
    }
    Places { at, width: width + 2.0 * MARGIN, height: height + 2.0 * MARGIN }
}

fn grid(topology: &Topology, mesh: &Mesh) -> Places {
    let at = (0..topology.nodes().len() as u32).map(|node| {
        let (x, y) = mesh.place(node);
        let up = f64::from(mesh.rows() - 1 - y);
        let (x, y) = (MARGIN + f64::from(x) * ROW, MARGIN + up * ROW);
        if topology.is_switch(node) { (x, y) } else { (x + ROW * 0.35, y - ROW * 0.35) }
    });
    Places {
        at: at.collect(),
        width: f64::from(mesh.columns() - 1) * ROW + 2.0 * MARGIN,
        height: f64::from(mesh.rows() - 1) * ROW + 2.0 * MARGIN,
    }
}

fn circle(topology: &Topology) -> Places {
    let switches = f64::from(topology.switches().max(1));
    // Hosts are beside one another outside their switch, also where all switches have many.
    let hosts = f64::from(topology.hosts().max(1));
    let inner = (switches * ROW * 0.6).max(hosts * COLUMN * 0.6) / TAU + ROW / 2.0;
    let outer = inner + ROW * 0.7;
    let centre = outer + MARGIN;
    let at = |turn: f64, radius: f64| {
        let (up, right) = (turn * TAU).sin_cos();
        (centre + radius * up, centre - radius * right)
    };
    let mut places = vec![at(0.0, outer); topology.nodes().len()];
    for node in topology.switch_nodes() {
        let turn = topology.switch_index(node) as f64 / switches;
        places[node as usize] = at(turn, inner);
        let peers = topology.neighbours(node).map(|(_, peer)| peer.node);
        let own: Vec<u32> = peers.filter(|peer| !topology.is_switch(*peer)).collect();
        for (number, host) in own.iter().enumerate() {
            let share = (number as f64 + 0.5) / own.len() as f64 - 0.5;
            places[*host as usize] = at(turn + share * 0.8 / switches, outer);
        }
    }
    Places { at: places, width: 2.0 * centre, height: 2.0 * centre }
}
