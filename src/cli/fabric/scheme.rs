//! From names on the command line to tables.

use super::args::{NumberingName, RoutingName, SchemeName, UnicastArgs};
use super::source::{Loaded, Shape};
use crate::failure::Failure;
use verbcast_fabric::omnipath::{Selection, Tree, discovery, select};
use verbcast_fabric::opensm::{self, Engine, Hops};
use verbcast_fabric::{Checker, Entries, Lids, Numbering, UnicastTables, Violation, union};

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
            (Some(RoutingName::DModK), Shape::FatTree(tree)) => {
                Ok((tree.destination_tables(topology, &consecutive()?), "D-mod-K"))
            }
            (Some(RoutingName::DModK), _) => Err(Failure::usage(
                "--routing d-mod-k: only fat trees have it; try --routing minhop",
            )),
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

    /// Which of a group's tables carries a source's packets; 0 where there is one for all.
    pub fn way(self, shape: Shape, source: u32) -> u32 {
        match (self, shape) {
            (SchemeName::Cyclic, Shape::FatTree(tree)) => tree.way(source),
            (SchemeName::Xy, Shape::Mesh(mesh)) => mesh.way(source),
            (SchemeName::Literal, Shape::FatTree(_)) => source,
            _ => 0,
        }
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

/// What one MLID of a group needs in the switches.
pub struct Table {
    /// Whose packets it is for.
    pub sources: Vec<u32>,
    pub entries: Entries,
}

impl SchemeName {
    /// The members that a scheme sees. OpenSM takes whoever sends for one.
    pub fn members(self, group: &[u32], sources: &[u32]) -> Vec<u32> {
        let mut members = group.to_vec();
        if self == SchemeName::Opensm {
            members.extend(sources);
            members.sort_unstable();
            members.dedup();
        }
        members
    }

    /// The tables that a group needs for packets from `sources`, one for each MLID. All are checked.
    pub fn needed(
        self,
        loaded: &Loaded,
        group: &[u32],
        sources: &[u32],
    ) -> Result<Vec<Table>, Failure> {
        let topology = &loaded.topology;
        let members = self.members(group, sources);
        let mut failure = None;
        let numbers = Checker::new(topology).mlids(&members, sources, |source| {
            self.entries(loaded, &members, source).unwrap_or_else(|error| {
                failure = Some(error);
                Entries::none(topology)
            })
        });
        if let Some(failure) = failure {
            return Err(failure);
        }
        let numbers = numbers.map_err(|(source, error)| self.wrong(loaded, source, &error))?;
        let mut tables: Vec<Table> = Vec::new();
        for (source, number) in sources.iter().zip(numbers) {
            match tables.get_mut(number as usize) {
                Some(table) => table.sources.push(*source),
                None => tables.push(Table {
                    sources: vec![*source],
                    entries: self.entries(loaded, &members, *source)?,
                }),
            }
        }
        Ok(tables)
    }

    /// That the packets of a source do not come to whom they should.
    pub fn wrong(self, loaded: &Loaded, source: u32, error: &Violation) -> Failure {
        let (from, error) = (loaded.name(source), error.describe(&loaded.topology));
        Failure::new(format!("{} from {from}: {error}", self.name()))
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
