//! `verbcast fabric mlids`.

use super::args::MlidsArgs;
use super::output;
use super::source::endpoints;
use crate::failure::Failure;
use indicatif::ProgressBar;
use serde::Serialize;
use std::fmt::Write;
use verbcast_fabric::{Port, Scheme, ShapedTopology};

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
    let all = Scheme::all_for(loaded.shape());
    // Drawn on a terminal only.
    let bar = ProgressBar::new((all.len() * sources.len()) as u64);
    let needed = all.into_iter().map(|scheme| needed(&loaded, scheme, &group, &sources, &bar));
    let schemes: Vec<Needed> = needed.collect::<Result<_, _>>()?;
    bar.finish_and_clear();
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
    bar: &ProgressBar,
) -> Result<Needed, Failure> {
    let topology = loaded.topology();
    // Each link is crossed in both directions.
    let mut crossed = vec![[0_u32; 2]; topology.links().len()];
    let mut links = 0_u64;
    let tables = scheme.surveyed_tables(loaded, group, sources, |delivery, ports| {
        bar.inc(1);
        links += u64::from(delivery.links);
        let is_between =
            |port: &&Port| topology.peer(**port).is_some_and(|peer| topology.is_switch(peer.node));
        for port in ports.iter().filter(is_between) {
            let Some(at) = topology.link_index(*port) else { continue };
            let is_second = topology.links()[at as usize].ends[1] == *port;
            crossed[at as usize][usize::from(is_second)] += 1;
        }
    })?;
    Ok(Needed {
        scheme: scheme.name(),
        mlids: tables.len(),
        mean_links: links as f64 / sources.len().max(1) as f64,
        busiest_link: crossed.into_iter().flatten().max().unwrap_or(0),
    })
}
