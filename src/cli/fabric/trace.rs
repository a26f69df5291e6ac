//! `verbcast fabric trace`.

use super::args::TraceArgs;
use super::output;
use super::scheme::check_sender;
use super::source::{endpoint, endpoints};
use crate::failure::Failure;
use serde::Serialize;
use std::fmt::Write;
use verbcast_fabric::{Checker, Port, ShapedTopology, Topology, walk};

pub fn run(args: &TraceArgs) -> Result<(), Failure> {
    let loaded = args.fabric.load()?;
    let source = endpoint(loaded.topology(), &args.from)?;
    match &args.to {
        Some(to) => unicast(args, &loaded, source, endpoint(loaded.topology(), to)?),
        None => multicast(args, &loaded, source),
    }
}

#[derive(Serialize)]
struct Hop {
    switch: String,
    arrived: u8,
    left: u8,
}

#[derive(Serialize)]
struct Unicast {
    from: String,
    to: String,
    lid: u16,
    hops: Vec<Hop>,
}

fn unicast(args: &TraceArgs, loaded: &ShapedTopology, source: u32, to: u32) -> Result<(), Failure> {
    let topology = loaded.topology();
    let (tables, _) = args.unicast.tables(loaded)?;
    let lid = loaded.lid(tables.lids(), source, to);
    let path = walk(topology, &tables, source, lid)
        .map_err(|stray| Failure::new(format!("LID {lid}: {}", stray.describe(topology))))?;
    let hops = path.iter().map(|hop| Hop {
        switch: topology.node(hop.switch).name.clone(),
        arrived: hop.arrived,
        left: hop.left,
    });
    let (from, to) = (loaded.host_name(source).to_owned(), loaded.host_name(to).to_owned());
    let traced = Unicast { from, to, lid, hops: hops.collect() };
    if args.json {
        return output::json(&traced);
    }
    let mut text = format!("{} to {}, LID {lid}\n", traced.from, traced.to);
    for Hop { switch, arrived, left } in &traced.hops {
        // Writing to a String does not fail.
        let _ = writeln!(text, "  {switch:<12} in by port {arrived}, out by port {left}");
    }
    crate::print(&text)
}

#[derive(Serialize)]
struct Multicast {
    scheme: &'static str,
    from: String,
    members: Vec<String>,
    /// Copies in the order in which they are made, up to the first error.
    copies: Vec<Copy>,
    links: Option<u32>,
    longest_path: Option<u32>,
    violation: Option<String>,
}

#[derive(Serialize)]
struct Copy {
    switch: String,
    port: u8,
    to: String,
}

fn multicast(args: &TraceArgs, loaded: &ShapedTopology, source: u32) -> Result<(), Failure> {
    let topology = loaded.topology();
    let group = endpoints(topology, &args.group)?;
    let scheme = args.scheme.choose(loaded.shape());
    check_sender(loaded, scheme, &group, source)?;
    let entries = scheme.entries(loaded, &group, source)?;
    let mut checker = Checker::new(topology);
    let outcome = checker.check(&entries, &group, source);
    let traced = Multicast {
        scheme: scheme.name(),
        from: loaded.host_name(source).to_owned(),
        members: group.iter().map(|member| loaded.host_name(*member).to_owned()).collect(),
        copies: checker.crossed().iter().map(|port| copy(topology, *port)).collect(),
        links: outcome.ok().map(|delivery| delivery.links),
        longest_path: outcome.ok().map(|delivery| delivery.switches),
        violation: outcome.err().map(|violation| violation.describe(topology)),
    };
    if args.json {
        output::json(&traced)?;
    } else {
        let mut text =
            format!("{}, {} to {}\n", traced.scheme, traced.from, traced.members.join(" "));
        for Copy { switch, port, to } in &traced.copies {
            // Writing to a String does not fail.
            let _ = writeln!(text, "  {switch:<12} port {port:<4} {to}");
        }
        if let (Some(links), Some(longest)) = (traced.links, traced.longest_path) {
            let _ = writeln!(
                text,
                "each member gets one copy and nobody else any: {links} links, at most {longest} switches"
            );
        }
        crate::print(&text)?;
    }
    match traced.violation {
        None => Ok(()),
        Some(violation) => Err(Failure::new(violation)),
    }
}

fn copy(topology: &Topology, port: Port) -> Copy {
    let name = |node: u32| topology.node(node).name.clone();
    let to = topology.peer(port).map_or(String::new(), |peer| name(peer.node));
    Copy { switch: name(port.node), port: port.port, to }
}
