//! How unicast tables are made: one name for each routing.

use super::lids::{Lids, Numbering};
use super::opensm::{self, Engine, Options, Unforeseeable};
use super::shape::{Shape, ShapedTopology};
use super::topology::Invalid;
use super::unicast::UnicastTables;

/// The order of a mesh's ports with which OpenSM's dimension order is XY: those of x first.
const XY_PORTS: &[u8] = &[1, 3, 2, 4];

/// How unicast tables are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// That of the papers: several LIDs for each host of a fat tree, XY on a mesh.
    Paper,
    /// One LID for each host, and ways up that depend on the destination; for fat trees.
    DModK,
    /// That of an engine of OpenSM's. On a mesh, [`Engine::Dor`] takes the ports of x first.
    OpenSm(Engine),
}

impl Routing {
    /// The routing for a shape: that of its paper, or OpenSM's shortest paths.
    pub fn of(shape: Shape) -> Routing {
        match shape {
            Shape::FatTree(_) | Shape::Mesh(_) => Routing::Paper,
            Shape::Other => Routing::OpenSm(Engine::MinHop),
        }
    }

    /// As [`of`](Self::of), for fat trees too that have too many hosts for several LIDs each.
    pub fn that_fits(fabric: &ShapedTopology) -> Routing {
        match fabric.shape() {
            Shape::FatTree(tree)
                if Lids::fat_tree(&tree, fabric.topology(), Numbering::Aligned).is_err() =>
            {
                Routing::DModK
            }
            shape => Routing::of(shape),
        }
    }

    /// What its tables on a shape are called.
    pub fn name(self, shape: Shape) -> &'static str {
        match (self, shape) {
            (Routing::Paper, Shape::Mesh(_)) => "XY",
            (Routing::Paper, _) => "multiple LIDs",
            (Routing::DModK, _) => "D-mod-K",
            (Routing::OpenSm(engine), _) => engine.name(),
        }
    }

    /// The LIDs that its tables are for, which say how large these are.
    ///
    /// # Errors
    /// If there are not enough.
    pub fn lids(self, fabric: &ShapedTopology, numbering: Numbering) -> Result<Lids, Invalid> {
        match (self, fabric.shape()) {
            (Routing::Paper, Shape::FatTree(tree)) => {
                Lids::fat_tree(&tree, fabric.topology(), numbering)
            }
            _ => Lids::consecutive(fabric.topology()),
        }
    }

    /// The tables. Where hosts of a fat tree have several LIDs, these begin by `numbering`.
    ///
    /// # Errors
    /// If the routing is not for the fabric's shape, or there are not enough LIDs.
    pub fn tables(
        self,
        fabric: &ShapedTopology,
        numbering: Numbering,
    ) -> Result<UnicastTables, RoutingError> {
        let topology = fabric.topology();
        let lids = self.lids(fabric, numbering)?;
        match (self, fabric.shape()) {
            (Routing::Paper, Shape::FatTree(tree)) => Ok(tree.unicast_tables(topology, &lids)),
            (Routing::Paper, Shape::Mesh(mesh)) => Ok(mesh.unicast_tables(topology, &lids)),
            (Routing::DModK, Shape::FatTree(tree)) => Ok(tree.destination_tables(topology, &lids)),
            (Routing::Paper | Routing::DModK, _) => Err(RoutingError::Shape(self)),
            (Routing::OpenSm(engine), shape) => {
                let port_order = match (engine, shape) {
                    (Engine::Dor, Shape::Mesh(_)) => XY_PORTS,
                    _ => &[],
                };
                let options = Options { port_order, ..Options::default() };
                Ok(opensm::unicast_tables(topology, &lids, engine, options)?)
            }
        }
    }
}

/// Why a routing makes no tables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RoutingError {
    /// The fabric does not have the shape that the routing is for.
    #[error("this fabric does not have the shape for {}", .0.name(Shape::Other))]
    Shape(Routing),
    /// There are not enough LIDs for it.
    #[error("{0}")]
    Lids(#[from] Invalid),
    /// What OpenSM does there cannot be told beforehand.
    #[error(transparent)]
    Unforeseeable(#[from] Unforeseeable),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FatTree, Mesh, Quality, walk};

    #[test]
    fn every_routing_reaches_every_host() {
        let tree = ShapedTopology::fat_tree(FatTree::new(4, 2).unwrap(), Quality::default());
        let mesh = ShapedTopology::mesh(Mesh::new(3, 2).unwrap(), Quality::default());
        let minhop = Routing::OpenSm(Engine::MinHop);
        for (fabric, routings) in [
            (&tree, vec![Routing::Paper, Routing::DModK, minhop]),
            (&mesh, vec![Routing::Paper, Routing::OpenSm(Engine::Dor), minhop]),
            (&ShapedTopology::from(tree.topology().clone()), vec![minhop]),
        ] {
            let hosts = fabric.topology().endpoints().len() as u32;
            for routing in routings {
                let tables = routing.tables(fabric, Numbering::Aligned).unwrap();
                for (from, to) in (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))) {
                    let lid = fabric.lid(tables.lids(), from, to);
                    walk(fabric.topology(), &tables, from, lid).unwrap();
                }
            }
            assert!(Routing::of(fabric.shape()).tables(fabric, Numbering::Aligned).is_ok());
        }
        assert_eq!(
            Routing::DModK.tables(&mesh, Numbering::Aligned).unwrap_err(),
            RoutingError::Shape(Routing::DModK)
        );
    }

    #[test]
    fn a_tree_of_too_many_hosts_has_one_lid_for_each() {
        let fits = |ports, levels| {
            let tree = FatTree::new(ports, levels).unwrap();
            Routing::that_fits(&ShapedTopology::fat_tree(tree, Quality::default()))
        };
        assert_eq!(fits(4, 3), Routing::Paper);
        assert_eq!(fits(16, 3), Routing::DModK);
    }
}
