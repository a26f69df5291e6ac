//! From the command line to a topology.

use super::args::{FabricArgs, Spec};
use super::show::measured_path;
use crate::failure::Failure;
use verbcast_fabric::{FatTree, Layout, Mesh, Quality, Topology, read};

/// The shape that the papers' schemes need.
#[derive(Clone, Copy)]
pub enum Shape {
    FatTree(FatTree),
    Mesh(Mesh),
    Other,
}

/// A topology, and what is known of its shape.
pub struct Loaded {
    pub topology: Topology,
    pub shape: Shape,
}

impl Loaded {
    pub fn new(args: &FabricArgs) -> Result<Loaded, Failure> {
        Loaded::of(&args.fabric, Quality { mtu: args.mtu, ..Quality::default() })
    }

    pub fn of(spec: &Spec, quality: Quality) -> Result<Loaded, Failure> {
        let usage =
            |error: &dyn std::fmt::Display| Failure::usage(format!("--fabric {spec}: {error}"));
        match spec {
            Spec::FatTree(ports, levels) => {
                let tree = FatTree::new(*ports, *levels).map_err(|error| usage(&error))?;
                Ok(Loaded { topology: tree.topology(quality), shape: Shape::FatTree(tree) })
            }
            Spec::Mesh(columns, rows) => {
                let mesh = Mesh::new(*columns, *rows).map_err(|error| usage(&error))?;
                Ok(Loaded { topology: mesh.topology(quality), shape: Shape::Mesh(mesh) })
            }
            Spec::File(path) => {
                let failed = |error: &dyn std::fmt::Display| {
                    Failure::new(format!("{}: {error}", path.display()))
                };
                let text = std::fs::read(path).map_err(|error| failed(&error))?;
                let text = String::from_utf8_lossy(&text);
                let topology =
                    read::ibnetdiscover(&text, quality).map_err(|error| failed(&error))?;
                Ok(Loaded { topology, shape: Shape::Other })
            }
        }
    }

    /// Switches on the longest of the shortest paths; what is too large to be measured counts as one switch.
    pub fn longest_path(&self) -> u32 {
        match self.shape {
            Shape::FatTree(tree) => 2 * u32::from(tree.levels()) - 1,
            Shape::Mesh(mesh) => u32::from(mesh.columns()) + u32::from(mesh.rows()) - 1,
            Shape::Other => measured_path(self).unwrap_or(1),
        }
    }

    pub fn layout(&self) -> Layout {
        match self.shape {
            Shape::Mesh(mesh) => Layout::Grid(mesh),
            Shape::FatTree(_) | Shape::Other => Layout::Layers,
        }
    }

    /// The endpoint that is meant: its index, or the name of a host.
    pub fn endpoint(&self, text: &str) -> Result<u32, Failure> {
        let all = self.topology.endpoints();
        let by_name = || all.iter().position(|at| self.topology.node(at.port.node).name == text);
        let found = by_name().or_else(|| text.parse().ok().filter(|at| *at < all.len()));
        found.map(|at| at as u32).ok_or_else(|| {
            let last = all.len().saturating_sub(1);
            Failure::usage(format!(
                "there is no host {text}: give a name or a number from 0 to {last}"
            ))
        })
    }

    /// The endpoints that are meant, each once; `all` is all of them.
    pub fn endpoints(&self, texts: &[String]) -> Result<Vec<u32>, Failure> {
        if texts == ["all"] {
            return Ok((0..self.topology.endpoints().len() as u32).collect());
        }
        let mut endpoints: Vec<u32> =
            texts.iter().map(|text| self.endpoint(text)).collect::<Result<_, _>>()?;
        endpoints.sort_unstable();
        endpoints.dedup();
        Ok(endpoints)
    }

    /// The name of an endpoint's host.
    pub fn name(&self, endpoint: u32) -> &str {
        &self.topology.node(self.topology.endpoints()[endpoint as usize].port.node).name
    }
}
