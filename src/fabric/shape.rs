//! Topologies whose shape is known, as the papers' schemes need it.

use super::fat_tree::FatTree;
use super::lids::Lids;
use super::mesh::Mesh;
use super::opensm::Hops;
use super::topology::{Quality, Topology};
use super::write::Layout;

/// Where there are more switches than these, the longest path of an unknown shape is not measured.
const MAX_MEASURED: u32 = 600;

/// A shape that a topology was made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An m-port n-tree.
    FatTree(FatTree),
    /// A 2-D mesh.
    Mesh(Mesh),
    /// Unknown, or another one.
    Other,
}

/// A topology, and its shape.
#[derive(Clone, Debug)]
pub struct ShapedTopology {
    topology: Topology,
    shape: Shape,
}

impl ShapedTopology {
    /// A fat tree whose links are all of this quality.
    pub fn fat_tree(tree: FatTree, quality: Quality) -> ShapedTopology {
        ShapedTopology { topology: tree.topology(quality), shape: Shape::FatTree(tree) }
    }

    /// A mesh whose links are all of this quality.
    pub fn mesh(mesh: Mesh, quality: Quality) -> ShapedTopology {
        ShapedTopology { topology: mesh.topology(quality), shape: Shape::Mesh(mesh) }
    }

    /// The nodes and links.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The nodes and links, without the shape.
    pub fn into_topology(self) -> Topology {
        self.topology
    }

    /// The name of an endpoint's host.
    ///
    /// # Panics
    /// If there is no such endpoint.
    pub fn host_name(&self, endpoint: u32) -> &str {
        let port = self.topology.endpoints()[endpoint as usize].port;
        &self.topology.node(port.node).name
    }

    /// The LID by which one endpoint sends to another.
    ///
    /// # Panics
    /// If there is no such endpoint.
    pub fn lid(&self, lids: &Lids, from: u32, to: u32) -> u16 {
        match self.shape {
            Shape::FatTree(tree) => tree.select(lids, from, to),
            Shape::Mesh(_) | Shape::Other => lids.base(to),
        }
    }

    /// Switches on the longest of the shortest paths between endpoints. None where the shape is unknown and there are
    /// too many switches to measure it, or endpoints that cannot reach one another.
    pub fn longest_path(&self) -> Option<u32> {
        match self.shape {
            Shape::FatTree(tree) => Some(2 * u32::from(tree.levels()) - 1),
            Shape::Mesh(mesh) => Some(u32::from(mesh.columns()) + u32::from(mesh.rows()) - 1),
            Shape::Other => self.measured_path(),
        }
    }

    /// As [`longest_path`](Self::longest_path), by looking at all paths, whatever the shape.
    pub fn measured_path(&self) -> Option<u32> {
        let topology = &self.topology;
        if topology.switches() > MAX_MEASURED {
            return None;
        }
        let mut leaves: Vec<u32> = (0..topology.endpoints().len() as u32)
            .map(|endpoint| topology.leaf(endpoint).map(|leaf| leaf.node))
            .collect::<Option<_>>()?;
        leaves.sort_unstable();
        leaves.dedup();
        let mut longest = 0;
        for target in &leaves {
            let hops = Hops::shortest(topology, *target).least;
            let farthest = leaves.iter().map(|leaf| hops[topology.switch_index(*leaf)]).max()?;
            longest = longest.max(farthest.checked_add(1)?);
        }
        Some(longest)
    }

    /// Whether all of several switches have hosts, as in a ring or a dragonfly.
    fn has_one_level(&self) -> bool {
        self.topology.switches() > 2 && self.topology.heights().iter().all(|height| *height == 1)
    }

    /// How it is drawn best.
    pub fn layout(&self) -> Layout {
        match self.shape {
            Shape::Mesh(mesh) => Layout::Grid(mesh),
            Shape::Other if self.has_one_level() => Layout::Circle,
            Shape::FatTree(_) | Shape::Other => Layout::Layers,
        }
    }
}

/// A topology of unknown shape.
impl From<Topology> for ShapedTopology {
    fn from(topology: Topology) -> ShapedTopology {
        ShapedTopology { topology, shape: Shape::Other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_path_of_a_shape_is_the_one_that_is_measured() {
        let quality = Quality::default();
        for shaped in [
            ShapedTopology::fat_tree(FatTree::new(4, 2).unwrap(), quality),
            ShapedTopology::fat_tree(FatTree::new(4, 3).unwrap(), quality),
            ShapedTopology::mesh(Mesh::new(3, 5).unwrap(), quality),
        ] {
            assert_eq!(shaped.longest_path(), shaped.measured_path(), "{:?}", shaped.shape());
            let other = ShapedTopology::from(shaped.topology().clone());
            assert_eq!(other.longest_path(), shaped.longest_path());
        }
    }
}
