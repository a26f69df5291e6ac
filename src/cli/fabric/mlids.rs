//! `verbcast fabric mlids`.

use super::args::MlidsArgs;
use super::output;
use super::source::endpoints;
use crate::failure::Failure;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use verbcast_fabric::{Checker, Port, Scheme, ShapedTopology};

#[derive(Serialize)]
struct Needed {
    scheme: &'static str,
    mlids: usize,
    /// Links that one packet crosses, on average over the sources.
    mean_links: f64,
    /// How often packets of all sources, one each, cross the busiest link between switches, one way.
    busiest_link: u32,
}

#[derive(Serialize)]
struct Report {
    fabric: String,
    members: usize,
    sources: usize,
    schemes: Vec<Needed>,
}

pub fn run(args: &MlidsArgs) -> Result<(), Failure> {
    let loaded = args.fabric.load()?;
    let group = endpoints(loaded.topology(), &args.group)?;
    let sources = match args.sources.is_empty() {
        true => group.clone(),
        false => endpoints(loaded.topology(), &args.sources)?,
    };
    let mut schemes = Vec::new();
    for scheme in Scheme::all_for(loaded.shape()) {
        schemes.push(needed(&loaded, scheme, &group, &sources)?);
    }
    let fabric = args.fabric.fabric.to_string();
    let report = Report { fabric, members: group.len(), sources: sources.len(), schemes };
    if args.json {
        return output::json(&report);
    }
    let Report { fabric, members, sources, schemes } = &report;
    let mut text = format!("{fabric}: {members} members, {sources} sources\n\n");
    // Writing to a String does not fail.
    let _ = writeln!(
        text,
        "{:<18}{:>8}{:>16}{:>16}",
        "scheme", "MLIDs", "links/packet", "busiest link"
    );
    for Needed { scheme, mlids, mean_links, busiest_link } in schemes {
        let _ = writeln!(text, "{scheme:<18}{mlids:>8}{mean_links:>16.1}{busiest_link:>16}");
    }
    crate::print(&text)
}

fn needed(
    loaded: &ShapedTopology,
    scheme: Scheme,
    group: &[u32],
    sources: &[u32],
) -> Result<Needed, Failure> {
    let topology = loaded.topology();
    let mlids = scheme.tables(loaded, group, sources)?.len();
    let members = scheme.members(group, sources);
    let mut checker = Checker::new(topology);
    let mut crossed: BTreeMap<(u32, u8), u32> = BTreeMap::new();
    let mut links = 0;
    for source in sources {
        links += scheme.deliver(loaded, &mut checker, &members, *source)?.links;
        let is_between =
            |port: &&Port| topology.peer(**port).is_some_and(|peer| topology.is_switch(peer.node));
        for port in checker.crossed().iter().filter(is_between) {
            *crossed.entry((port.node, port.port)).or_default() += 1;
        }
    }
    Ok(Needed {
        scheme: scheme.name(),
        mlids,
        mean_links: f64::from(links) / sources.len().max(1) as f64,
        busiest_link: crossed.values().copied().max().unwrap_or(0),
    })
}
