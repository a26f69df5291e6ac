//! A group's tables under a scheme: what is the same for all its sources is computed once.

use super::fat_tree::FatTree;
use super::lids::{Lids, Numbering};
use super::mesh::Mesh;
use super::multicast::Entries;
use super::omnipath::{self, Tree};
use super::opensm::{self, Hops};
use super::scheme::{Scheme, SchemeError};
use super::shape::{Shape, ShapedTopology};
use super::unicast::UnicastTables;
use super::union;

/// What a scheme puts into the switches for one group.
pub(super) struct Plan<'a> {
    fabric: &'a ShapedTopology,
    members: &'a [u32],
    kind: Kind,
}

enum Kind {
    Cyclic(FatTree),
    Xy(Mesh),
    /// The union as printed, of these unicast tables; on a fat tree the LIDs depend on the source.
    Literal(UnicastTables, Option<FatTree>),
    /// One tree for all sources.
    One(Entries),
}

impl<'a> Plan<'a> {
    /// The plan for packets of these sources to these members.
    pub fn new(
        scheme: Scheme,
        fabric: &'a ShapedTopology,
        members: &'a [u32],
        sources: &[u32],
    ) -> Result<Plan<'a>, SchemeError> {
        let topology = fabric.topology();
        let kind = match (scheme, fabric.shape()) {
            (Scheme::Cyclic, Shape::FatTree(tree)) => Kind::Cyclic(tree),
            (Scheme::Xy, Shape::Mesh(mesh)) => Kind::Xy(mesh),
            (Scheme::Literal, Shape::FatTree(tree)) => {
                let lids = Lids::fat_tree(&tree, topology, Numbering::Paper)?;
                Kind::Literal(tree.unicast_tables(topology, &lids), Some(tree))
            }
            (Scheme::Literal, Shape::Mesh(mesh)) => {
                let lids = Lids::consecutive(topology)?;
                Kind::Literal(mesh.unicast_tables(topology, &lids), None)
            }
            (Scheme::OpenSm, _) => {
                // Whoever sends has to be a member, and OpenSM makes no difference between members.
                let hops = |target| Hops::shortest(topology, target);
                Kind::One(opensm::spanning_tree(topology, members, hops))
            }
            (Scheme::OmniPath, _) => Kind::One(common_tree(fabric)?.complete(topology, members)),
            (Scheme::OmniPathPruned, _) => {
                Kind::One(common_tree(fabric)?.pruned(topology, members, sources))
            }
            (Scheme::Cyclic | Scheme::Literal | Scheme::Xy, _) => {
                return Err(SchemeError::Shape(scheme));
            }
        };
        Ok(Plan { fabric, members, kind })
    }

    /// The entries for packets of a source, unchecked.
    pub fn entries(&self, source: u32) -> Entries {
        let topology = self.fabric.topology();
        match &self.kind {
            Kind::Cyclic(tree) => tree.cyclic(topology, self.members, tree.way(source)),
            Kind::Xy(mesh) => mesh.xy_union(topology, self.members, mesh.way(source)),
            Kind::Literal(tables, tree) => {
                let lids = tables.lids();
                let offset = |to| match tree {
                    Some(tree) => tree.printed_offset(source, to) % u32::from(lids.per_endpoint()),
                    None => 0,
                };
                let lid = |to: &u32| lids.base(*to) + offset(*to) as u16;
                let chosen: Vec<u16> = self.members.iter().map(lid).collect();
                union::literal(topology, tables, &chosen)
            }
            Kind::One(entries) => entries.clone(),
        }
    }
}

/// The tree of an Omni-Path fabric manager at the first host.
fn common_tree(fabric: &ShapedTopology) -> Result<Tree, SchemeError> {
    let topology = fabric.topology();
    let root = omnipath::default_root(topology).ok_or(SchemeError::NoRoot)?;
    Tree::largest_complete(topology, root).ok_or(SchemeError::Unconnected)
}
