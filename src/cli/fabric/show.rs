//! `verbcast fabric show`.

use super::args::ShowArgs;
use super::output;
use crate::failure::Failure;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use verbcast_fabric::omnipath::default_root;
use verbcast_fabric::{LAST_UNICAST, Lids, Numbering, Shape, ShapedTopology};

#[derive(Serialize)]
struct Summary {
    fabric: String,
    hosts: u32,
    switches: u32,
    links: usize,
    /// Switches by the number of links to the nearest host.
    switches_by_height: BTreeMap<u32, usize>,
    /// Links by MTU and rate in Mbit/s.
    qualities: Vec<Quality>,
    /// Switches on the longest of the shortest paths between hosts; none where that was not looked for
    /// or not all hosts can reach one another.
    longest_path: Option<u32>,
    /// LIDs for the papers' or OpenSM's tables, and the LMC; none if there are not enough.
    lids: Option<u16>,
    lmc: Option<u8>,
    root: Option<String>,
}

#[derive(Serialize)]
struct Quality {
    mtu: u16,
    rate_mbps: u32,
    lanes: u8,
    links: usize,
}

pub fn run(args: &ShowArgs) -> Result<(), Failure> {
    let loaded = args.fabric.load()?;
    let summary = Summary::new(args, &loaded);
    if args.json {
        return output::json(&summary);
    }
    crate::print(&summary.text())
}

impl Summary {
    fn new(args: &ShowArgs, loaded: &ShapedTopology) -> Summary {
        let topology = loaded.topology();
        let mut switches_by_height = BTreeMap::new();
        for height in topology.heights() {
            *switches_by_height.entry(height).or_default() += 1;
        }
        let mut qualities = BTreeMap::new();
        for link in topology.links() {
            let of = (link.quality.mtu, link.quality.rate_mbps(), link.quality.lanes);
            *qualities.entry(of).or_insert(0) += 1;
        }
        let quality = |((mtu, rate_mbps, lanes), links)| Quality { mtu, rate_mbps, lanes, links };
        let lids = match loaded.shape() {
            Shape::FatTree(tree) => Lids::fat_tree(&tree, topology, Numbering::Aligned),
            Shape::Mesh(_) | Shape::Other => Lids::consecutive(topology),
        }
        .ok();
        let root = default_root(topology).map(|root| topology.node(root).name.clone());
        Summary {
            fabric: args.fabric.fabric.to_string(),
            hosts: topology.hosts(),
            switches: topology.switches(),
            links: topology.links().len(),
            switches_by_height,
            qualities: qualities.into_iter().map(quality).collect(),
            longest_path: loaded.measured_path(),
            lmc: lids.as_ref().map(Lids::lmc),
            lids: lids.map(|lids| lids.last()),
            root,
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "{name:<14}{value}");
        };
        line("fabric", self.fabric.clone());
        line("hosts", self.hosts.to_string());
        line("switches", self.switches.to_string());
        for (height, switches) in &self.switches_by_height {
            match height {
                &u32::MAX => line("", format!("{switches} without a way to any host")),
                1 => line("", format!("{switches} with hosts")),
                height => line("", format!("{switches} with the nearest host {height} links away")),
            }
        }
        line("links", self.links.to_string());
        for Quality { mtu, rate_mbps, lanes, links } in &self.qualities {
            let rate = f64::from(*rate_mbps) / 1000.0;
            let plural = if *lanes == 1 { "" } else { "s" };
            line("", format!("{links} of {rate} Gbit/s in {lanes} lane{plural}, MTU {mtu}"));
        }
        if let Some(longest) = self.longest_path {
            line("longest path", format!("{longest} switches"));
        }
        line(
            "LIDs",
            match (self.lids, self.lmc) {
                (Some(lids), Some(lmc)) => format!("1 to {lids}, LMC {lmc}"),
                _ => format!("not enough for this scheme: there are {LAST_UNICAST}"),
            },
        );
        if let Some(root) = &self.root {
            line("centre", format!("{root} (the Omni-Path manager's root, by least total cost)"));
        }
        text
    }
}
