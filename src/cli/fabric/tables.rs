//! `verbcast fabric tables`.

use super::args::TablesArgs;
use super::output;
use super::source::endpoints;
use crate::failure::Failure;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use verbcast_fabric::{FIRST_MLID, Owner, ShapedTopology};

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
    let node = topology.find(name).filter(|node| topology.is_switch(*node));
    let node =
        node.ok_or_else(|| Failure::usage(format!("--switch: there is no switch {name}")))?;
    Ok(vec![node])
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
    // One source of each way, and all that go that way.
    let mut ways: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for source in 0..topology.endpoints().len() as u32 {
        ways.entry(scheme.way(loaded.shape(), source)).or_default().push(source);
    }
    let is_one = ways.len() == 1;
    let mut tables = Vec::new();
    for (mlid, sources) in (FIRST_MLID..).zip(ways.values()) {
        let entries = scheme.entries(loaded, &group, sources[0])?;
        let ports = switches.iter().map(|node| {
            let ports = entries.ports(topology.switch_index(*node)).iter().collect();
            (topology.node(*node).name.clone(), ports)
        });
        let ports = ports.filter(|(_, ports): &(String, Vec<u8>)| !ports.is_empty()).collect();
        let names = sources.iter().map(|source| loaded.host_name(*source).to_owned());
        let sources = if is_one { Vec::new() } else { names.collect() };
        tables.push(Table { mlid, sources, ports });
    }
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
