//! `verbcast fabric program`: computed multicast tables in switches.

mod apply;
pub mod args;
mod change;
mod live;
mod plan;
mod report;
mod restore;
mod watchdog;

use super::output;
use crate::failure::Failure;
use apply::{Task, take_back};
use args::ProgramArgs;
use change::Change;
use live::Live;
use plan::{Group, Present};
use report::{Report, Scene};
use std::path::Path;
use verbcast_fabric::smp::{Discovered, MftBlock, Place, places};
use verbcast_fabric::{Entries, MulticastTables, Quality, ShapedTopology, locate};

pub fn run(args: &ProgramArgs) -> Result<(), Failure> {
    if let Some(path) = &args.restore {
        return restore::run(args, path);
    }
    // What is wrong with the command line is said before anything is sent.
    let asked = args.fabric.as_ref().map(|spec| spec.load(Quality::default())).transpose()?;
    let mut live = Live::open(args)?;
    let there = live.discover()?;
    let loaded = match asked {
        Some(loaded) => loaded,
        None => ShapedTopology::from(there.topology.clone()),
    };
    let nodes = locate(loaded.topology(), &there.topology).map_err(|error| {
        Failure::new(format!("what is found is not the fabric that was given: {error}"))
    })?;
    let scheme = args.scheme.choose(loaded.shape());
    let groups = plan::groups(args, scheme, &loaded)?;
    let count = groups.iter().map(|group| group.tables.len()).sum();
    let (mlids, present) = plan::mlids(&mut live, &there, args.mlid, count)?;
    let tables = tables(&loaded, &there, &nodes, &groups, &mlids);
    let tasks = tasks(&live, &there, &present, &tables);
    let fabric = args.fabric.as_ref().map_or("as it was found".to_owned(), ToString::to_string);
    let port = live.name().to_owned();
    let scene = Scene { fabric, port: &port, simulated: live.is_simulated() };
    let mut report = Report::new(&scene, &loaded, scheme.name(), &groups, &mlids, &tasks);
    if let (true, Some(path)) = (args.write, &args.save) {
        write(&mut live, &tasks, path)?;
        report.written = true;
        report.saved = Some(path.display().to_string());
    }
    report.packets = live.packets;
    match args.json {
        true => output::json(&report),
        false => crate::print(&report.text(&scene)),
    }
}

/// The tables by MLID, on the switches that are there.
fn tables(
    loaded: &ShapedTopology,
    there: &Discovered,
    nodes: &[u32],
    groups: &[Group],
    mlids: &[u16],
) -> MulticastTables {
    let mut tables = MulticastTables::new();
    for (table, mlid) in groups.iter().flat_map(|group| &group.tables).zip(mlids) {
        let mut entries = Entries::none(&there.topology);
        for node in loaded.topology().switch_nodes() {
            let at = there.topology.switch_index(nodes[node as usize]);
            *entries.ports_mut(at) = table.entries.ports(loaded.topology().switch_index(node));
        }
        tables.set(*mlid, entries);
    }
    tables
}

/// What has to be written so that the tables are in the switches.
fn tasks(
    live: &Live<'_>,
    there: &Discovered,
    present: &Present,
    tables: &MulticastTables,
) -> Vec<Task> {
    let task = |(place, block): (Place, MftBlock)| {
        let node = plan::node(there, &place);
        let known = there.topology.node(node);
        let change = Change {
            switch: known.name.clone(),
            guid: known.guid,
            block: place.block,
            position: place.position,
            before: present.get(&place).copied().unwrap_or_default().0,
            after: block.0,
        };
        Task { change, route: live.route(there, node) }
    };
    places(&there.topology, tables).into_iter().map(task).collect()
}

/// Saves what is there and writes; if that fails, puts back what was written.
fn write(live: &mut Live<'_>, tasks: &[Task], path: &Path) -> Result<(), Failure> {
    change::save(path, tasks.iter().map(|task| task.change.clone()).collect())?;
    let Err(broken) = apply::write(live, tasks) else { return Ok(()) };
    live.insist();
    let taken = take_back(live, &tasks[..broken.touched], false);
    let mut messages = vec![broken.why];
    messages.push(format!(
        "{} of {} blocks may have been written; {} of them are as before again",
        broken.touched,
        tasks.len(),
        broken.touched - taken.failed.len()
    ));
    if !taken.failed.is_empty() {
        messages.extend(taken.failed);
        messages.push(format!("{0} has what was there: --restore {0}", path.display()));
    }
    Err(Failure { messages, status: 1 })
}
