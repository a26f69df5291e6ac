//! From names on the command line to tables.

use super::args::{NumberingName, RoutingName, SchemeName, UnicastArgs};
use super::source::{Loaded, Shape};
use crate::failure::Failure;
use verbcast::fabric::omnipath::{Selection, Tree, discovery, select};
use verbcast::fabric::opensm::{self, Engine, Hops};
use verbcast::fabric::{Entries, Lids, Numbering, UnicastTables, union};

/// More switches than these, and it would take too long to find the best root.
const MAX_ROOTS: u32 = 600;

impl UnicastArgs {
    /// The unicast tables that are asked for, and what they are called.
    pub fn tables(&self, loaded: &Loaded) -> Result<(UnicastTables, &'static str), Failure> {
        let topology = &loaded.topology;
        let consecutive = || Lids::consecutive(topology).map_err(Failure::new);
        // With the ports of x first, dimension order is XY on a mesh.
        let port_order: &[u8] = match (self.routing, loaded.shape) {
            (Some(RoutingName::Dor), Shape::Mesh(_)) => &[1, 3, 2, 4],
            _ => &[],
        };
        let of_opensm = |engine: Engine| {
            let tables = opensm::unicast_tables(topology, &consecutive()?, engine, port_order);
            Ok((tables, engine.name()))
        };
        let numbering = match self.numbering {
            NumberingName::Aligned => Numbering::Aligned,
            NumberingName::Paper => Numbering::Paper,
        };
        match (self.routing, loaded.shape) {
            (None | Some(RoutingName::Paper), Shape::FatTree(tree)) => {
                let lids = Lids::fat_tree(&tree, topology, numbering).map_err(Failure::new)?;
                Ok((tree.unicast_tables(topology, &lids), "multiple LIDs"))
            }
            (None | Some(RoutingName::Paper), Shape::Mesh(mesh)) => {
                Ok((mesh.unicast_tables(topology, &consecutive()?), "XY"))
            }
            (Some(RoutingName::Paper), Shape::Other) => Err(Failure::usage(
                "--routing paper: only fat trees and meshes have one; try --routing minhop",
            )),
            (None | Some(RoutingName::Minhop), _) => of_opensm(Engine::MinHop),
            (Some(RoutingName::Updn), _) => of_opensm(Engine::UpDown),
            (Some(RoutingName::Ftree), _) => of_opensm(Engine::FatTree),
            (Some(RoutingName::Dor), _) => of_opensm(Engine::Dor),
        }
    }
}

impl SchemeName {
    /// The scheme that a shape has if none is asked for.
    pub fn of(shape: Shape) -> SchemeName {
        match shape {
            Shape::FatTree(_) => SchemeName::Cyclic,
            Shape::Mesh(_) => SchemeName::Xy,
            Shape::Other => SchemeName::Opensm,
        }
    }

    /// The schemes that can be used on a shape, but not the one that loops.
    pub fn all(shape: Shape) -> Vec<SchemeName> {
        let mut all = vec![SchemeName::Opensm, SchemeName::Omnipath, SchemeName::OmnipathPruned];
        if SchemeName::of(shape) != SchemeName::Opensm {
            all.insert(0, SchemeName::of(shape));
        }
        all
    }

    /// What the scheme puts into the switches for a group's packets from a source.
    pub fn entries(self, loaded: &Loaded, group: &[u32], source: u32) -> Result<Entries, Failure> {
        let topology = &loaded.topology;
        match (self, loaded.shape) {
            (SchemeName::Cyclic, Shape::FatTree(tree)) => {
                Ok(tree.cyclic(topology, group, tree.way(source)))
            }
            (SchemeName::Xy, Shape::Mesh(mesh)) => {
                Ok(mesh.xy_union(topology, group, mesh.way(source)))
            }
            (SchemeName::Literal, Shape::FatTree(tree)) => {
                let lids =
                    Lids::fat_tree(&tree, topology, Numbering::Paper).map_err(Failure::new)?;
                let offset = |to| tree.printed_offset(source, to) % u32::from(lids.per_endpoint());
                let chosen: Vec<u16> =
                    group.iter().map(|to| lids.base(*to) + offset(*to) as u16).collect();
                Ok(union::literal(topology, &tree.unicast_tables(topology, &lids), &chosen))
            }
            (SchemeName::Literal, Shape::Mesh(mesh)) => {
                let lids = Lids::consecutive(topology).map_err(Failure::new)?;
                let chosen: Vec<u16> = group.iter().map(|to| lids.base(*to)).collect();
                Ok(union::literal(topology, &mesh.unicast_tables(topology, &lids), &chosen))
            }
            (SchemeName::Opensm, _) => {
                // Whoever sends has to be a member, and OpenSM makes no difference between members.
                Ok(opensm::spanning_tree(topology, group, |target| {
                    Hops::shortest(topology, target)
                }))
            }
            (SchemeName::Omnipath, _) => Ok(tree(loaded)?.complete(topology, group)),
            (SchemeName::OmnipathPruned, _) => Ok(tree(loaded)?.pruned(topology, group, &[source])),
            (SchemeName::Cyclic | SchemeName::Literal | SchemeName::Xy, _) => {
                let name = self.name();
                Err(Failure::usage(format!(
                    "--scheme {name}: this fabric has not the shape for it"
                )))
            }
        }
    }
}

/// The root that a fabric manager at the first host chooses, as a node.
pub fn root(loaded: &Loaded) -> Option<u32> {
    let topology = &loaded.topology;
    if topology.endpoints().is_empty() || topology.switches() > MAX_ROOTS {
        return None;
    }
    let switches = discovery(topology, 0);
    let root = select(topology, &switches, Selection::LeastTotalCost, None, 50)?;
    Some(root.switch)
}

/// The common tree of that manager.
fn tree(loaded: &Loaded) -> Result<Tree, Failure> {
    let root =
        root(loaded).ok_or_else(|| Failure::new("there are no hosts, or too many switches"))?;
    let tree = Tree::largest_complete(&loaded.topology, root);
    tree.ok_or_else(|| Failure::new("the switches are not connected with one another"))
}
