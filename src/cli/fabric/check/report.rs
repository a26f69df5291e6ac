//! What a check has found.

use super::sm::Observed;
use crate::fabric::args::CheckArgs;
use crate::failure::Failure;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use verbcast_fabric::{Entries, Topology, UnicastTables};

/// Differences of one kind that are named; the others are counted.
const NAMED: usize = 10;

#[derive(Serialize)]
pub struct Report {
    pub fabric: String,
    pub engine: &'static str,
    pub seed: u64,
    pub shuffled: bool,
    pub hosts: u32,
    pub switches: u32,
    pub unicast: Compared,
    pub multicast: Compared,
    pub groups: usize,
}

/// How many entries were compared, and which differ.
#[derive(Serialize)]
pub struct Compared {
    pub entries: usize,
    pub different: usize,
    /// The first of them.
    pub named: Vec<String>,
}

impl Compared {
    fn add(&mut self, what: String) {
        self.different += 1;
        if self.named.len() < NAMED {
            self.named.push(what);
        }
    }
}

/// Compares linear forwarding tables, LID by LID at each switch.
pub fn difference(topology: &Topology, expected: &UnicastTables, real: &UnicastTables) -> Compared {
    let mut compared = Compared { entries: 0, different: 0, named: Vec::new() };
    for switch in topology.switch_nodes() {
        let index = topology.switch_index(switch);
        for lid in 1..=real.lids().last() {
            compared.entries += 1;
            let (ours, theirs) = (expected.port(index, lid), real.port(index, lid));
            if ours != theirs {
                let show =
                    |port: Option<u8>| port.map_or("none".to_owned(), |port| port.to_string());
                let name = &topology.node(switch).name;
                let ports = format!("port {}, OpenSM has {}", show(ours), show(theirs));
                compared.add(format!("{name}, LID {lid}: {ports}"));
            }
        }
    }
    compared
}

impl Report {
    pub fn new(
        args: &CheckArgs,
        topology: &Topology,
        unicast: Compared,
        observed: &Observed,
        expected: &[Entries],
    ) -> Report {
        let mut multicast = Compared { entries: 0, different: 0, named: Vec::new() };
        for (group, expected) in observed.groups.iter().zip(expected) {
            for switch in topology.switch_nodes() {
                multicast.entries += 1;
                let index = topology.switch_index(switch);
                let (ours, theirs) = (expected.ports(index), group.entries.ports(index));
                if ours != theirs {
                    let name = &topology.node(switch).name;
                    let mlid = group.mlid;
                    let ports = format!("ports {ours:?}, OpenSM has {theirs:?}");
                    multicast.add(format!("{name}, MLID 0x{mlid:x}: {ports}"));
                }
            }
        }
        Report {
            fabric: args.fabric.fabric.to_string(),
            engine: args.engine.name(),
            seed: args.seed,
            shuffled: args.shuffle,
            hosts: topology.hosts(),
            switches: topology.switches(),
            unicast,
            multicast,
            groups: observed.groups.len(),
        }
    }

    pub fn agrees(&self) -> bool {
        self.unicast.different == 0 && self.multicast.different == 0
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        let shuffled = if self.shuffled { ", switch GUIDs drawn" } else { "" };
        // Writing to a String does not fail.
        let _ = writeln!(text, "{:<12}{}", "fabric", self.fabric);
        let size = format!("{} hosts, {} switches", self.hosts, self.switches);
        let _ = writeln!(text, "{:<12}{size}", "");
        let _ = writeln!(text, "{:<12}{}", "engine", self.engine);
        let _ = writeln!(text, "{:<12}{}{shuffled}", "seed", self.seed);
        compared(&mut text, "unicast", &self.unicast);
        let _ = writeln!(text, "{:<12}{}", "groups", self.groups);
        compared(&mut text, "multicast", &self.multicast);
        text
    }
}

fn compared(text: &mut String, name: &str, compared: &Compared) {
    let Compared { entries, different, named } = compared;
    let verdict =
        if *different == 0 { "all equal".to_owned() } else { format!("{different} differ") };
    let _ = writeln!(text, "{name:<12}{entries} entries, {verdict}");
    for what in named {
        let _ = writeln!(text, "{:<12}{what}", "");
    }
    if *different > named.len() {
        let _ = writeln!(text, "{:<12}and {} more", "", different - named.len());
    }
}

/// What OpenSM did, so that it can be compared without it.
#[derive(Serialize)]
struct Recording {
    fabric: String,
    engine: &'static str,
    port_order: Vec<u8>,
    switch_guids: Vec<u64>,
    endpoint_lids: Vec<u16>,
    switch_lids: Vec<u16>,
    /// For each switch two digits for each LID from 0.
    lfts: Vec<String>,
    groups: Vec<RecordedGroup>,
}

#[derive(Serialize)]
struct RecordedGroup {
    members: Vec<u32>,
    mlid: u16,
    /// For each switch its ports.
    ports: Vec<Vec<u8>>,
}

/// Writes a recording, under a temporary name first.
pub fn record(
    path: &Path,
    args: &CheckArgs,
    topology: &Topology,
    observed: &Observed,
) -> Result<(), Failure> {
    let lids = observed.tables.lids();
    let row = |switch| {
        let port = |lid| observed.tables.port(switch, lid).unwrap_or(255);
        (0..=lids.last()).map(|lid| format!("{:02x}", port(lid))).collect()
    };
    let switches = 0..topology.switches() as usize;
    let recording = Recording {
        fabric: args.fabric.fabric.to_string(),
        engine: args.engine.name(),
        port_order: args.port_order.clone(),
        switch_guids: topology.switch_nodes().map(|node| topology.node(node).guid).collect(),
        endpoint_lids: (0..topology.endpoints().len() as u32).map(|at| lids.base(at)).collect(),
        switch_lids: switches.clone().map(|switch| lids.switch(switch)).collect(),
        lfts: switches.map(row).collect(),
        groups: (observed.groups.iter())
            .map(|group| RecordedGroup {
                members: group.members.clone(),
                mlid: group.mlid,
                ports: group.entries.iter().map(|ports| ports.iter().collect()).collect(),
            })
            .collect(),
    };
    let text = serde_json::to_string(&recording).map_err(Failure::new)? + "\n";
    crate::files::write_whole(path, &text)
}
