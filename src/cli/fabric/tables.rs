//! `verbcast fabric tables`.

use super::args::TablesArgs;
use super::output;
use super::source::endpoints;
use crate::failure::Failure;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use verbcast_fabric::{FIRST_MLID, Owner, Scheme, ShapedTopology};

pub fn run(args: &TablesArgs) -> Result<(), Failure> {
    let loaded = args.fabric.load()?;
    let switches = switches(args, &loaded)?;
    match args.group.is_empty() {
        true => unicast(args, &loaded, &switches),
        false => multicast(args, &loaded, &switches),
    }
}

/// The switches whose tables are asked for, as nodes.
fn switches(args: &TablesArgs, loaded: &ShapedTopology) -> Result<Vec<u32>, Failure> {
    let topology = loaded.topology();
    let Some(name) = &args.switch else { return Ok(topology.switch_nodes().collect()) };
    super::source::switches(topology, "--switch", std::slice::from_ref(name))
}

#[derive(Serialize)]
struct Unicast {
    fabric: String,
    routing: &'static str,
    lmc: u8,
    /// By switch and LID.
    ports: BTreeMap<String, BTreeMap<u16, u8>>,
    /// Whose the LIDs are.
    owners: BTreeMap<u16, String>,
}

fn unicast(args: &TablesArgs, loaded: &ShapedTopology, switches: &[u32]) -> Result<(), Failure> {
    let topology = loaded.topology();
    let (tables, routing) = args.unicast.tables(loaded)?;
    let lids = tables.lids();
    let name = |owner| match owner {
        Owner::Endpoint(endpoint) => loaded.host_name(endpoint).to_owned(),
        Owner::Switch(node) => topology.node(node).name.clone(),
    };
    let owners = (1..=lids.last()).filter_map(|lid| Some((lid, name(lids.owner(lid)?))));
    let owners: BTreeMap<u16, String> = owners.collect();
    let ports = switches.iter().map(|node| {
        let of = |lid: u16| Some((lid, tables.port(topology.switch_index(*node), lid)?));
        (topology.node(*node).name.clone(), owners.keys().filter_map(|lid| of(*lid)).collect())
    });
    let unicast = Unicast {
        fabric: args.fabric.fabric.to_string(),
        routing,
        lmc: lids.lmc(),
        ports: ports.collect(),
        owners,
    };
    if args.json {
        return output::json(&unicast);
    }
    let mut text = format!("{} on {}, LMC {}\n", unicast.routing, unicast.fabric, unicast.lmc);
    for (switch, ports) in &unicast.ports {
        // Writing to a String does not fail.
        let _ = writeln!(text, "\n{switch}\n   LID  port  destination");
        for (lid, port) in ports {
            let _ = writeln!(text, "{lid:>6} {port:>5}  {}", unicast.owners[lid]);
        }
    }
    crate::print(&text)
}

#[derive(Serialize)]
struct Multicast {
    fabric: String,
    scheme: &'static str,
    members: Vec<String>,
    tables: Vec<Table>,
}

#[derive(Serialize)]
struct Table {
    mlid: u16,
    /// Whose packets it is for; everybody's if there are none.
    sources: Vec<String>,
    /// By switch.
    ports: BTreeMap<String, Vec<u8>>,
}

fn multicast(args: &TablesArgs, loaded: &ShapedTopology, switches: &[u32]) -> Result<(), Failure> {
    let topology = loaded.topology();
    let scheme = args.scheme.choose(loaded.shape());
    let group = endpoints(topology, &args.group)?;
    let senders = match args.sources.is_empty() {
        false => endpoints(topology, &args.sources)?,
        true if scheme.is_for_members() => group.clone(),
        true => (0..topology.endpoints().len() as u32).collect(),
    };
    let made = match scheme.is_for_members() {
        true => scheme.tables(loaded, &group, &senders)?,
        false => by_way(loaded, scheme, &group, &senders)?,
    };
    let is_everybody = |sources: &[u32]| sources.len() == topology.endpoints().len();
    let tables = (FIRST_MLID..).zip(&made).map(|(mlid, made)| {
        let ports = switches.iter().map(|node| {
            let ports = made.entries.ports(topology.switch_index(*node)).iter().collect();
            (topology.node(*node).name.clone(), ports)
        });
        let ports = ports.filter(|(_, ports): &(String, Vec<u8>)| !ports.is_empty()).collect();
        let names = made.sources.iter().map(|source| loaded.host_name(*source).to_owned());
        let is_for_all = !scheme.is_for_members() && is_everybody(&made.sources);
        let sources = if is_for_all { Vec::new() } else { names.collect() };
        Table { mlid, sources, ports }
    });
    let tables = tables.collect();
    let multicast = Multicast {
        fabric: args.fabric.fabric.to_string(),
        scheme: scheme.name(),
        members: group.iter().map(|member| loaded.host_name(*member).to_owned()).collect(),
        tables,
    };
    if args.json {
        return output::json(&multicast);
    }
    let Multicast { scheme, fabric, members, tables } = &multicast;
    let mut text = format!("{scheme} on {fabric}, to {}\n", members.join(" "));
    for Table { mlid, sources, ports } in tables {
        let from = if sources.is_empty() { "everybody".to_owned() } else { sources.join(" ") };
        // Writing to a String does not fail.
        let _ = writeln!(text, "\nMLID 0x{mlid:x}, from {from}");
        for (switch, ports) in ports {
            let ports: Vec<String> = ports.iter().map(u8::to_string).collect();
            let _ = writeln!(text, "  {switch:<12} {}", ports.join(" "));
        }
    }
    crate::print(&text)
}

/// One table for each way, and the sources that go that way.
fn by_way(
    loaded: &ShapedTopology,
    scheme: Scheme,
    group: &[u32],
    senders: &[u32],
) -> Result<Vec<verbcast_fabric::Table>, Failure> {
    let mut ways: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for source in senders {
        ways.entry(scheme.way(loaded.shape(), *source)).or_default().push(*source);
    }
    let table = |sources: Vec<u32>| {
        let entries = scheme.entries(loaded, group, sources[0])?;
        Ok(verbcast_fabric::Table { sources, entries })
    };
    ways.into_values().map(table).collect()
}
