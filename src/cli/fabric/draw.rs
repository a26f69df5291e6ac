//! `verbcast fabric netlist`, `dot` and `svg`.

use super::args::{DrawArgs, OutputArgs};
use super::output;
use super::source::{endpoint, endpoints};
use crate::failure::Failure;
use verbcast_fabric::{Checker, Layout, Topology, netlist};

pub fn write_netlist(args: &OutputArgs) -> Result<(), Failure> {
    let loaded = args.fabric.load()?;
    output::put(args.output.as_deref(), &netlist(loaded.topology()))
}

/// Draws by `draw`, which gets the topology, its layout and the links to be marked.
pub fn run(
    args: &DrawArgs,
    draw: impl Fn(&Topology, Layout, &[u32]) -> String,
) -> Result<(), Failure> {
    let loaded = args.output.fabric.load()?;
    let topology = loaded.topology();
    let mut marked = Vec::new();
    if let Some(from) = &args.from {
        let (source, group) = (endpoint(topology, from)?, endpoints(topology, &args.group)?);
        let scheme = args.scheme.choose(loaded.shape());
        // Whoever sends has to be a member for OpenSM.
        let group = scheme.members(&group, &[source]);
        let entries = scheme.entries(&loaded, &group, source)?;
        let mut checker = Checker::new(topology);
        // Where packets get lost or come twice can be seen in the drawing.
        let _ = checker.check(&entries, &group, source);
        let first = topology.endpoints()[source as usize].port;
        let ports = std::iter::once(&first).chain(checker.crossed());
        marked.extend(ports.filter_map(|port| topology.link_index(*port)));
    }
    output::put(args.output.output.as_deref(), &draw(topology, loaded.layout(), &marked))
}
