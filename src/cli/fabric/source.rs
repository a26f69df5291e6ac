//! From the command line to a topology and its hosts.

use super::args::{FabricArgs, Spec};
use crate::failure::Failure;
use verbcast_fabric::{FatTree, Mesh, Quality, ShapedTopology, Topology, read};

impl FabricArgs {
    /// The fabric that is asked for.
    pub fn load(&self) -> Result<ShapedTopology, Failure> {
        self.fabric.load(Quality { mtu: self.mtu, ..Quality::default() })
    }
}

impl Spec {
    /// The fabric that is named, with links of this quality where nothing else is known of them.
    pub fn load(&self, quality: Quality) -> Result<ShapedTopology, Failure> {
        let usage =
            |error: &dyn std::fmt::Display| Failure::usage(format!("--fabric {self}: {error}"));
        match self {
            Spec::FatTree(ports, levels) => {
                let tree = FatTree::new(*ports, *levels).map_err(|error| usage(&error))?;
                Ok(ShapedTopology::fat_tree(tree, quality))
            }
            Spec::Mesh(columns, rows) => {
                let mesh = Mesh::new(*columns, *rows).map_err(|error| usage(&error))?;
                Ok(ShapedTopology::mesh(mesh, quality))
            }
            Spec::File(path) => {
                let failed = |error: &dyn std::fmt::Display| {
                    Failure::new(format!("{}: {error}", path.display()))
                };
                let text = std::fs::read(path).map_err(|error| failed(&error))?;
                let text = String::from_utf8_lossy(&text);
                let topology =
                    read::ibnetdiscover(&text, quality).map_err(|error| failed(&error))?;
                Ok(ShapedTopology::from(topology))
            }
        }
    }
}

/// The endpoint that is meant: its index, or the name of a host.
pub fn endpoint(topology: &Topology, text: &str) -> Result<u32, Failure> {
    let all = topology.endpoints();
    let by_name = || all.iter().position(|at| topology.node(at.port.node).name == text);
    let found = by_name().or_else(|| text.parse().ok().filter(|at| *at < all.len()));
    found.map(|at| at as u32).ok_or_else(|| {
        Failure::usage(match all.len().checked_sub(1) {
            Some(last) => {
                format!("there is no host {text}: give a name or a number from 0 to {last}")
            }
            None => format!("there is no host {text}: the fabric has no host with a link"),
        })
    })
}

/// The switches that an option names, as nodes.
pub fn switches(topology: &Topology, option: &str, names: &[String]) -> Result<Vec<u32>, Failure> {
    let switch = |name: &String| {
        let node = topology.find(name).filter(|node| topology.is_switch(*node));
        node.ok_or_else(|| Failure::usage(format!("{option}: there is no switch {name}")))
    };
    names.iter().map(switch).collect()
}

/// The endpoints that are meant, each once; `all` is all of them.
pub fn endpoints(topology: &Topology, texts: &[String]) -> Result<Vec<u32>, Failure> {
    if texts == ["all"] {
        return Ok((0..topology.endpoints().len() as u32).collect());
    }
    let mut endpoints: Vec<u32> =
        texts.iter().map(|text| endpoint(topology, text)).collect::<Result<_, _>>()?;
    endpoints.sort_unstable();
    endpoints.dedup();
    Ok(endpoints)
}
