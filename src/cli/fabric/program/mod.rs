//! `verbcast fabric program`: computed multicast tables in switches.

pub mod args;
mod groups;
mod live;
mod report;
mod restore;
mod saved;
mod watchdog;

use super::output;
use crate::failure::Failure;
use args::ProgramArgs;
use groups::groups;
use live::Live;
use report::{Report, Scene};
use std::path::Path;
use verbcast_fabric::program::{ReserveError, Task, Undone, commit, reserve};
use verbcast_fabric::{MulticastTables, Quality, ShapedTopology, locate, relocate};

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
    let groups = groups(args, scheme, &loaded)?;
    let count = groups.iter().map(|group| group.tables.len()).sum();
    let addressing = args.addressing();
    let reservation = reserve(&mut live, &there, addressing, args.mlid, count)?;
    let mut tables = MulticastTables::new();
    let needed = groups.iter().flat_map(|group| &group.tables);
    for (table, mlid) in needed.zip(&reservation.mlids) {
        let entries = relocate(&table.entries, loaded.topology(), &there.topology, &nodes);
        tables.set(*mlid, entries);
    }
    let tasks = reservation.tasks(&there, addressing, &tables);
    let fabric = args.fabric.as_ref().map_or("as it was found".to_owned(), ToString::to_string);
    let port = live.name().to_owned();
    let scene = Scene { fabric, port: &port, simulated: live.is_simulated() };
    let mut report =
        Report::new(&scene, &loaded, scheme.name(), &groups, &reservation.mlids, &tasks);
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

/// Saves what is there and writes; if that fails, puts back what was written.
fn write(live: &mut Live<'_>, tasks: &[Task], path: &Path) -> Result<(), Failure> {
    saved::save(path, tasks.iter().map(|task| task.change.clone()).collect())?;
    let Err(undone) = commit(live, tasks, Live::insist) else { return Ok(()) };
    let as_before = undone.as_before();
    let Undone { stopped, put_back } = undone;
    let mut messages = vec![stopped.error.to_string()];
    messages.push(format!(
        "{} of {} blocks may have been written; {as_before} of them are as before again",
        stopped.touched,
        tasks.len(),
    ));
    if !put_back.failed.is_empty() {
        messages.extend(put_back.failed.iter().map(ToString::to_string));
        messages.push(format!("{0} has what was there: --restore {0}", path.display()));
    }
    Err(Failure { messages, status: 1 })
}

impl From<ReserveError> for Failure {
    fn from(error: ReserveError) -> Failure {
        match error {
            ReserveError::BeyondTables { .. }
            | ReserveError::ManagersBlock { .. }
            | ReserveError::InUse { .. } => Failure::new(format!("--mlid {error}")),
            error => Failure::new(error),
        }
    }
}
