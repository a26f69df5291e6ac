//! `verbcast fabric netlist`, `dot` and `svg`.

use super::args::{DrawArgs, OutputArgs};
use super::output;
use super::source::{endpoint, endpoints};
use crate::failure::Failure;
use verbcast_fabric::{Checker, Layout, ShapedTopology, Topology, netlist};

pub fn write_netlist(args: &OutputArgs) -> Result<(), Failure> {
    let loaded = args.fabric.load()?;
    output::put(args.output.as_deref(), &netlist(loaded.topology()))
}

/// Members whose names are in a title; of more it says the number.
const MAX_NAMED: usize = 8;

/// Draws by `draw`, which gets the topology, its layout, the links to be marked, and a title.
pub fn run(
    args: &DrawArgs,
    draw: impl Fn(&Topology, Layout, &[u32], &str) -> String,
) -> Result<(), Failure> {
    let loaded = args.output.fabric.load()?;
    let topology = loaded.topology();
    let mut marked = Vec::new();
    let mut title = args.output.fabric.fabric.to_string();
    if let Some(from) = &args.from {
        let (source, group) = (endpoint(topology, from)?, endpoints(topology, &args.group)?);
        let scheme = args.scheme.choose(loaded.shape());
        // Whoever sends has to be a member for OpenSM.
        let group = scheme.members(&group, &[source]);
        let entries = scheme.entries(&loaded, &group, source)?;
        let mut checker = Checker::new(topology);
        let outcome = checker.check(&entries, &group, source);
        let first = topology.endpoints()[source as usize].port;
        let ports = std::iter::once(&first).chain(checker.crossed());
        marked.extend(ports.filter_map(|port| topology.link_index(*port)));
        title += &format!(", {}, {}", scheme.name(), way(&loaded, source, &group));
        if let Err(violation) = outcome {
            title += &format!(": {}", violation.describe(topology));
        }
    }
    let drawing = draw(topology, loaded.layout(), &marked, &title);
    output::put(args.output.output.as_deref(), &drawing)
}

/// From whom to whom.
fn way(loaded: &ShapedTopology, source: u32, group: &[u32]) -> String {
    let from = loaded.host_name(source);
    if group.len() > MAX_NAMED {
        return format!("{from} to {} hosts", group.len());
    }
    let names: Vec<_> = group.iter().map(|member| loaded.host_name(*member)).collect();
    format!("{from} to {}", names.join(" "))
}
