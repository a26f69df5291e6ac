//! Puts back what was saved.

use super::args::ProgramArgs;
use super::live::Live;
use super::report::{Block, Scene};
use super::saved;
use crate::fabric::output;
use crate::failure::Failure;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use verbcast_fabric::program::{PutBack, find, put_back};

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
    let changes = saved::load(path)?;
    let mut live = Live::open(args)?;
    let there = live.discover()?;
    let (tasks, gone) = find(changes, &there, args.addressing());
    let gone = gone.iter().map(|change| format!("{change}: the switch is not there"));
    let PutBack { written, unchanged, failed } = put_back(&mut live, &tasks, !args.write);
    let failed = gone.chain(failed.iter().map(ToString::to_string)).collect();
    let restored = Restored {
        port: live.name().to_owned(),
        simulated: live.is_simulated(),
        written: args.write,
        restored: written,
        unchanged,
        failed,
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
