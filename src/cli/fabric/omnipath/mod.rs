//! `verbcast fabric omnipath`: the rules of the Omni-Path fabric manager, one event after the other.

pub mod args;
mod report;
mod words;

use super::output;
use super::source::{endpoint, endpoints};
use crate::failure::Failure;
use args::{OmnipathArgs, SelectionName};
use report::{Happened, Report};
use verbcast_fabric::omnipath::{Join, Manager, Pool, Selection, Settings};
use verbcast_fabric::{Quality, ShapedTopology, Topology};
use words::Event;

pub fn run(args: &OmnipathArgs) -> Result<(), Failure> {
    let mut loaded = args.fabric.load()?;
    let host = endpoint(loaded.topology(), &args.manager)?;
    let root = args.current_root.as_deref();
    let root = root.map(|name| guid(loaded.topology(), name)).transpose()?;
    let manager = Manager::new(loaded.topology().clone(), settings(args), host, root);
    let mut manager =
        manager.map_err(|error| Failure::new(format!("--multicast-group: {error}")))?;
    let mut report = Report::new(args, &loaded, host, &manager);
    for event in &args.events {
        let happened = happen(args, &mut loaded, &mut manager, event)?;
        report.events.extend(happened);
    }
    report.finish(loaded.topology(), &manager);
    match args.json {
        true => output::json(&report)?,
        false => crate::print(&report.text())?,
    }
    match report.failures() {
        failures if failures.is_empty() => Ok(()),
        messages => Err(Failure { messages, status: 1 }),
    }
}

fn settings(args: &OmnipathArgs) -> Settings {
    let pools = match args.mlid_share.is_empty() {
        true => vec![Pool::SOLICITED_NODE],
        false => args.mlid_share.iter().filter_map(|pool| pool.0).collect(),
    };
    Settings {
        selection: match args.root_selection {
            SelectionName::LeastTotalCost => Selection::LeastTotalCost,
            SelectionName::LeastWorstCaseCost => Selection::LeastWorstCaseCost,
        },
        min_improvement: args.min_cost_improvement,
        disable_strict_check: args.disable_strict_check,
        pruning: args.pruning,
        mlid_table_cap: args.mlid_table_cap,
        pools,
        precreated: args.multicast_group.iter().flat_map(|group| group.0.clone()).collect(),
    }
}

/// The GUID of a switch, or one that may have gone.
fn guid(topology: &Topology, text: &str) -> Result<u64, Failure> {
    let by_name = topology.find(text).filter(|node| topology.is_switch(*node));
    let guid = by_name.map(|node| topology.node(node).guid);
    let digits = || u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    guid.or_else(digits).ok_or_else(|| {
        Failure::usage(format!("--current-root: there is no switch {text}; give a name or 0xGUID"))
    })
}

/// What an event does; of a join by all hosts, one after the other.
fn happen(
    args: &OmnipathArgs,
    loaded: &mut ShapedTopology,
    manager: &mut Manager,
    event: &Event,
) -> Result<Vec<Happened>, Failure> {
    let topology = loaded.topology();
    match event {
        Event::Join { host, mgid, kind, terms } => {
            let hosts = endpoints(topology, std::slice::from_ref(host))?;
            let join = |endpoint: &u32| {
                let join = Join { endpoint: *endpoint, mgid: *mgid, kind: *kind, terms: *terms };
                let name = loaded.host_name(*endpoint);
                Happened::join(name, *mgid, *kind, manager.join(join))
            };
            Ok(hosts.iter().map(join).collect())
        }
        Event::Leave { host, mgid } => {
            let hosts = endpoints(topology, std::slice::from_ref(host))?;
            let leave = |endpoint: &u32| {
                let name = loaded.host_name(*endpoint);
                Happened::leave(name, *mgid, manager.leave(*endpoint, *mgid))
            };
            Ok(hosts.iter().map(leave).collect())
        }
        Event::Fabric(spec) => {
            let next = spec.load(Quality { mtu: args.fabric.mtu, ..Quality::default() })?;
            if !is_same(topology, next.topology()) {
                return Err(Failure::usage(format!(
                    "fabric:{spec}: its hosts and switches are not those of --fabric, in the same order; only links may \
                     differ"
                )));
            }
            let blocks = manager.sweep(next.topology().clone());
            *loaded = next;
            Ok(vec![Happened::sweep(loaded.topology(), manager, blocks)])
        }
    }
}

/// Whether only links are others.
fn is_same(a: &Topology, b: &Topology) -> bool {
    let guids = |topology: &Topology| -> Vec<u64> {
        topology.nodes().iter().map(|node| node.guid).collect()
    };
    let ends = |topology: &Topology| topology.endpoints().to_vec();
    a.hosts() == b.hosts() && guids(a) == guids(b) && ends(a) == ends(b)
}
