//! Puts back what was saved.

use super::apply::{TakenBack, Task, take_back};
use super::args::ProgramArgs;
use super::change;
use super::live::Live;
use super::report::{Block, Scene};
use crate::fabric::output;
use crate::failure::Failure;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

#[derive(Serialize)]
struct Restored {
    port: String,
    simulated: bool,
    /// Whether blocks were written, and not just looked at.
    written: bool,
    /// Blocks that were, or would be, written.
    restored: usize,
    /// Blocks that were as before.
    unchanged: usize,
    failed: Vec<String>,
    /// As they are to be.
    blocks: Vec<Block>,
}

pub fn run(args: &ProgramArgs, path: &Path) -> Result<(), Failure> {
    let changes = change::load(path)?;
    let mut live = Live::open(args)?;
    let there = live.discover()?;
    let by_guid: HashMap<u64, u32> =
        there.topology.switch_nodes().map(|node| (there.topology.node(node).guid, node)).collect();
    let mut tasks = Vec::new();
    let mut gone = Vec::new();
    for change in changes {
        match by_guid.get(&change.guid) {
            Some(node) => tasks.push(Task { route: live.route(&there, *node), change }),
            None => gone.push(format!("{change}: the switch is not there")),
        }
    }
    let TakenBack { written, unchanged, failed } = take_back(&mut live, &tasks, !args.write);
    gone.extend(failed);
    let restored = Restored {
        port: live.name().to_owned(),
        simulated: live.is_simulated(),
        written: args.write,
        restored: written,
        unchanged,
        failed: gone,
        blocks: tasks.iter().map(|task| Block::new(task, true)).collect(),
    };
    let fabric = format!("as saved to {}", path.display());
    let scene = Scene { fabric, port: live.name(), simulated: restored.simulated };
    match args.json {
        true => output::json(&restored)?,
        false => crate::print(&restored.text(&scene))?,
    }
    match restored.failed.is_empty() {
        true => Ok(()),
        false => Err(Failure { messages: restored.failed, status: 1 }),
    }
}

impl Restored {
    fn text(&self, scene: &Scene<'_>) -> String {
        let mut text = scene.text();
        let Restored { restored, unchanged, failed, .. } = self;
        let would = if self.written { "" } else { " would be" };
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "{:<12}{restored} blocks{would} put back, {unchanged} were as before, {} failed\n",
            "restored",
            failed.len()
        );
        self.blocks.iter().for_each(|block| block.text(&mut text));
        text
    }
}
